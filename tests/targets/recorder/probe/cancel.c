// Cancellation at every listed point that is one: cleanup handlers run, the mutex of a wait is held in them.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t never, started, cancelled;
static pthread_t sleeper;

static void Unlock(void* name) {
  printf("%s: cleanup, unlock %s\n", (char*)name, strerror(pthread_mutex_unlock(&mutex)));
}
static void Say(void* name) { printf("%s: cleanup\n", (char*)name); }

static void* InCond(void* timed) {
  struct timespec late;
  clock_gettime(CLOCK_REALTIME, &late);
  late.tv_sec += 1000;
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(Unlock, timed ? "timed wait" : "wait");
  sem_post(&started);
  while (1)
    if (timed) pthread_cond_timedwait(&condition, &mutex, &late);
    else pthread_cond_wait(&condition, &mutex);
  pthread_cleanup_pop(0);
  return NULL;
}
static void* InSem(void* unused) {
  pthread_cleanup_push(Say, "semaphore");
  sem_post(&started);
  sem_wait(&never);
  pthread_cleanup_pop(0);
  return unused;
}
static void* InSleep(void* unused) {
  sem_post(&started);
  while (1) pause();
  return unused;
}
static void* InJoin(void* unused) {
  pthread_cleanup_push(Say, "join");
  sem_post(&started);
  pthread_join(sleeper, NULL);
  pthread_cleanup_pop(0);
  return unused;
}
static void* Pending(void* unused) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  sem_post(&started);
  sem_wait(&cancelled);
  sem_t open;
  sem_init(&open, 0, 1);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  pthread_cleanup_push(Say, "pending");
  sem_wait(&open);  // a cancellation point although it need not block
  printf("not reached\n");
  pthread_cleanup_pop(0);
  return unused;
}
static void* Asynchronous(void* unused) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  sem_post(&started);
  while (1) {
  }
  return unused;
}

static void Cancel(const char* name, void* (*routine)(void*), void* argument) {
  pthread_t t;
  void* result = NULL;
  pthread_create(&t, NULL, routine, argument);
  sem_wait(&started);
  pthread_cancel(t);
  if (routine == Pending) sem_post(&cancelled);
  pthread_join(t, &result);
  printf("%s: %s\n", name, result == PTHREAD_CANCELED ? "cancelled" : "returned");
}

int main() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &attributes);
  sem_init(&never, 0, 0);
  sem_init(&started, 0, 0);
  sem_init(&cancelled, 0, 0);
  for (int i = 0; i < 3; ++i) {
    Cancel("wait", InCond, NULL);
    Cancel("timed wait", InCond, "timed");
    Cancel("semaphore", InSem, NULL);
    Cancel("pending", Pending, NULL);
    Cancel("asynchronous", Asynchronous, NULL);
  }
  pthread_create(&sleeper, NULL, InSleep, NULL);
  sem_wait(&started);
  Cancel("join", InJoin, NULL);
  pthread_cancel(sleeper);
  pthread_join(sleeper, NULL);
  printf("mutex is free: %s\n", strerror(pthread_mutex_trylock(&mutex)));
  return 0;
}
