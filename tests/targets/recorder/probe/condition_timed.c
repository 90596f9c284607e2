// Waits that time out, on each clock, and one that does not.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static int ready;

static struct timespec In(clockid_t clock, long ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_sec += ms / 1000;
  t.tv_nsec += ms % 1000 * 1000000;
  if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, ++t.tv_sec;
  return t;
}

static void* Signal(void* unused) {
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main() {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&condition, &attributes);
  pthread_mutex_lock(&mutex);
  struct timespec t = In(CLOCK_MONOTONIC, 5);
  printf("timed: %s\n", strerror(pthread_cond_timedwait(&condition, &mutex, &t)));
  t = In(CLOCK_REALTIME, 5);
  printf("clock: %s\n", strerror(pthread_cond_clockwait(&condition, &mutex, CLOCK_REALTIME, &t)));
  t.tv_nsec = -1;
  printf("no time: %s\n", strerror(pthread_cond_timedwait(&condition, &mutex, &t)));
  t = In(CLOCK_MONOTONIC, 0);
  printf("no clock: %s\n", strerror(pthread_cond_clockwait(&condition, &mutex, 99, &t)));
  pthread_t thread;
  pthread_create(&thread, NULL, Signal, NULL);
  int rc = 0;
  t = In(CLOCK_MONOTONIC, 20000);
  while (!ready && rc == 0) rc = pthread_cond_timedwait(&condition, &mutex, &t);
  printf("signalled: %s\n", strerror(rc));
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
  printf("mutex is free: %s\n", strerror(pthread_mutex_trylock(&mutex)));
  return 0;
}
