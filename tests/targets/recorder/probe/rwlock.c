// Readers together, writers alone, every form of both, and what the lock refuses.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long value, copies[2];

static struct timespec Soon(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += 2000000;
  if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, ++t.tv_sec;
  return t;
}

static void* Try(void* unused) {
  struct timespec r = Soon(CLOCK_REALTIME), m = Soon(CLOCK_MONOTONIC), bad = {0, -1};
  printf(" tryrd %s", strerror(pthread_rwlock_tryrdlock(&lock)));
  printf(", trywr %s", strerror(pthread_rwlock_trywrlock(&lock)));
  printf(", timedrd %s", strerror(pthread_rwlock_timedrdlock(&lock, &r)));
  printf(", timedwr %s", strerror(pthread_rwlock_timedwrlock(&lock, &r)));
  printf(", clockrd %s", strerror(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &m)));
  printf(", clockwr %s", strerror(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &m)));
  printf(", no time %s\n", strerror(pthread_rwlock_timedwrlock(&lock, &bad)));
  return unused;
}

static void* Write(void* unused) {
  for (int i = 0; i < 2000; ++i) {
    pthread_rwlock_wrlock(&lock);
    copies[0] = ++value;
    copies[1] = value;
    pthread_rwlock_unlock(&lock);
  }
  return unused;
}

static void* Read(void* torn) {
  for (int i = 0; i < 2000; ++i) {
    pthread_rwlock_rdlock(&lock);
    if (copies[0] != copies[1]) ++*(long*)torn;
    pthread_rwlock_unlock(&lock);
  }
  return NULL;
}

int main() {
  pthread_t other, threads[6];
  pthread_rwlock_wrlock(&lock);
  printf("again %s, as reader %s, held for writing:", strerror(pthread_rwlock_wrlock(&lock)),
         strerror(pthread_rwlock_rdlock(&lock)));
  fflush(stdout);
  pthread_create(&other, NULL, Try, NULL);
  pthread_join(other, NULL);
  printf("unlock %s\n", strerror(pthread_rwlock_unlock(&lock)));
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_rdlock(&lock);
  printf("held for reading: trywr %s\n", strerror(pthread_rwlock_trywrlock(&lock)));
  pthread_rwlock_unlock(&lock);
  pthread_rwlock_unlock(&lock);
  long torn[4] = {0};
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, Write, NULL);
  for (int i = 0; i < 4; ++i) pthread_create(&threads[2 + i], NULL, Read, &torn[i]);
  for (int i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
  printf("value %ld, torn %ld\n", value, torn[0] + torn[1] + torn[2] + torn[3]);
  printf("destroy %s\n", strerror(pthread_rwlock_destroy(&lock)));
  return 0;
}
