// Rounds of a barrier: one serial thread each; also more threads than it holds; destroyed and made again.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_barrier_t barrier;
static int serial, value[4], wrong;

static void* Rounds(void* id) {
  for (int round = 1; round <= 100; ++round) {
    value[(long)id] = round;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
      __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; ++i)
      if (value[i] < round) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

// Four threads at a barrier for two: whoever passes takes from a common store of rounds, so none is left alone.
static int store = 200;
static void* Pairs(void* unused) {
  while (__atomic_fetch_sub(&store, 1, __ATOMIC_RELAXED) > 0)
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
      __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
  return unused;
}

int main() {
  pthread_t threads[4];
  printf("of none: %s\n", strerror(pthread_barrier_init(&barrier, NULL, 0)));
  pthread_barrier_init(&barrier, NULL, 4);
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, Rounds, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("serial %d, wrong %d, destroy %s\n", serial, wrong, strerror(pthread_barrier_destroy(&barrier)));
  serial = 0;
  pthread_barrier_init(&barrier, NULL, 1);
  for (int i = 0; i < 5; ++i) serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  printf("alone %d\n", serial);
  pthread_barrier_destroy(&barrier);
  serial = 0;
  pthread_barrier_init(&barrier, NULL, 2);
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, Pairs, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("pairs %d\n", serial);
  return 0;
}
