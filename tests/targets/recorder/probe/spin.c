// Spin locks.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_spinlock_t lock;
static long counter;

static void* Count(void* unused) {
  for (int i = 0; i < 5000; ++i) {
    if (i % 3 != 0 || pthread_spin_trylock(&lock) != 0) pthread_spin_lock(&lock);
    ++counter;
    pthread_spin_unlock(&lock);
  }
  return unused;
}

static void* Try(void* unused) {
  printf("held: %s\n", strerror(pthread_spin_trylock(&lock)));
  return unused;
}

int main() {
  pthread_t threads[3];
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_lock(&lock);
  pthread_create(&threads[0], NULL, Try, NULL);
  pthread_join(threads[0], NULL);
  pthread_spin_unlock(&lock);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, Count, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("%ld\n", counter);
  return pthread_spin_destroy(&lock);
}
