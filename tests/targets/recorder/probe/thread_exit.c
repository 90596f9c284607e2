// pthread_exit with cleanup handlers and keys whose destructors lock, set each other again, and end after the routine.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t keys[3];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int order;

static void Destroy(void* value) {
  pthread_mutex_lock(&mutex);
  ++order;
  printf("destructor of %ld\n", (long)value);
  pthread_mutex_unlock(&mutex);
  if ((long)value < 3) pthread_setspecific(keys[1], (void*)((long)value + 1));
}
static void Clean(void* name) { printf("cleanup %s\n", (char*)name); }

__attribute__((noinline)) static void Leave(int depth) {
  if (depth == 0) pthread_exit("left early");
}

static void Deep(int depth) {
  pthread_cleanup_push(Clean, depth % 2 ? "odd" : "even");
  Leave(depth);
  if (depth > 0) Deep(depth - 1);
  pthread_cleanup_pop(1);
}

static void* Run(void* unused) {
  pthread_setspecific(keys[0], (void*)1);
  Deep(3);
  return unused;
}

int main() {
  for (int i = 0; i < 3; ++i) pthread_key_create(&keys[i], Destroy);
  pthread_t t;
  void* result;
  pthread_create(&t, NULL, Run, NULL);
  pthread_join(t, &result);
  printf("%s, %d destructors\n", (char*)result, order);
  return 0;
}
