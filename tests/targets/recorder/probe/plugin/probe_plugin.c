#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ready;

static void* Tell(void* unused) {
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return unused;
}

__attribute__((constructor)) static void Load() {
  pthread_t t;
  pthread_create(&t, NULL, Tell, NULL);
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  pthread_join(t, NULL);
}

static void* Double(void* n) { return (void*)((long)n * 2); }

int Work(int n) {
  pthread_t t;
  void* result;
  pthread_create(&t, NULL, Double, (void*)(long)n);
  pthread_join(t, &result);
  return (int)(long)result + ready;
}
