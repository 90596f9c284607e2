// A program with an allocator of its own that locks a mutex: the recorder must not allocate, nor call it too early.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char arena[64 << 20] __attribute__((aligned(64)));
static size_t used;
static long calls;

void* malloc(size_t size) {
  pthread_mutex_lock(&mutex);
  ++calls;
  void* at = arena + used + 16;
  *(size_t*)(arena + used) = size;
  used += (size + 16 + 63) / 64 * 64;
  if (used > sizeof(arena)) at = NULL;
  pthread_mutex_unlock(&mutex);
  return at;
}
void free(void* at) { (void)at; }
void* calloc(size_t n, size_t size) { return malloc(n * size); }
void* realloc(void* at, size_t size) {
  void* fresh = malloc(size);
  if (at != NULL && fresh != NULL) {
    const size_t old = *(size_t*)((char*)at - 16);
    memcpy(fresh, at, old < size ? old : size);
  }
  return fresh;
}

static void* Use(void* unused) {
  long sum = 0;
  for (int i = 1; i < 500; ++i) {
    char* at = malloc((size_t)i);
    memset(at, i, (size_t)i);
    sum += at[i - 1];
  }
  return (void*)sum;
}

int main() {
  pthread_t threads[3];
  long sum = 0;
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, Use, NULL);
  for (int i = 0; i < 3; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    sum += (long)result;
  }
  printf("%ld, at least 1497 calls: %d\n", sum, calls >= 1497);
  return 0;
}
