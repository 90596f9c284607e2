// Every type of mutex through every form of lock: results as the standard has them.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t held;
static long counter;
static pthread_mutex_t counted = PTHREAD_MUTEX_INITIALIZER;

static struct timespec Soon(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += 2000000;
  if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, ++t.tv_sec;
  return t;
}

static void* Contend(void* kind) {
  struct timespec real = Soon(CLOCK_REALTIME), mono = Soon(CLOCK_MONOTONIC);
  printf("  other: try %s", strerror(pthread_mutex_trylock(&held)));
  printf(", timed %s", strerror(pthread_mutex_timedlock(&held, &real)));
  printf(", clock %s", strerror(pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &mono)));
  printf(", bad clock %s\n", strerror(pthread_mutex_clocklock(&held, 77, &mono)));
  return kind;
}

static void* Count(void* unused) {
  for (int i = 0; i < 5000; ++i) {
    pthread_mutex_lock(&counted);
    ++counter;
    pthread_mutex_unlock(&counted);
  }
  return unused;
}

int main() {
  const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                       PTHREAD_MUTEX_ADAPTIVE_NP};
  for (int k = 0; k < 4; ++k) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kinds[k]);
    pthread_mutex_init(&held, &attributes);
    printf("kind %d: lock %s", k, strerror(pthread_mutex_lock(&held)));
    printf(", again by try %s", strerror(pthread_mutex_trylock(&held)));
    if (kinds[k] == PTHREAD_MUTEX_ERRORCHECK || kinds[k] == PTHREAD_MUTEX_RECURSIVE)
      printf(", again %s", strerror(pthread_mutex_lock(&held)));
    printf("\n");
    pthread_t other;
    pthread_create(&other, NULL, Contend, NULL);
    pthread_join(other, NULL);
    printf("  unlock %s", strerror(pthread_mutex_unlock(&held)));
    if (kinds[k] == PTHREAD_MUTEX_RECURSIVE) {
      printf(", %s", strerror(pthread_mutex_unlock(&held)));
      printf(", %s", strerror(pthread_mutex_unlock(&held)));
      printf(", once too often %s", strerror(pthread_mutex_unlock(&held)));
    }
    if (kinds[k] == PTHREAD_MUTEX_ERRORCHECK)
      printf(", once too often %s", strerror(pthread_mutex_unlock(&held)));
    printf(", destroy %s\n", strerror(pthread_mutex_destroy(&held)));
  }
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, Count, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("counted %ld\n", counter);
  return 0;
}
