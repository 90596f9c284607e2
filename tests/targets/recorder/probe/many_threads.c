// 500 short threads, one after another and many at once.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void* Add(void* n) {
  pthread_mutex_lock(&mutex);
  sum += (long)n;
  pthread_mutex_unlock(&mutex);
  return n;
}

int main() {
  long returned = 0;
  for (long i = 0; i < 250; ++i) {
    pthread_t t;
    void* result;
    pthread_create(&t, NULL, Add, (void*)i);
    pthread_join(t, &result);
    returned += (long)result;
  }
  pthread_t threads[250];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 * 1024);
  for (long i = 0; i < 250; ++i) pthread_create(&threads[i], &small, Add, (void*)(250 + i));
  for (int i = 0; i < 250; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    returned += (long)result;
  }
  printf("%ld %ld\n", sum, returned);
  return 0;
}
