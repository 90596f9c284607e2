// All joins, their results and refusals; detached threads.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static sem_t go, gone;

static void* Wait(void* value) {
  sem_wait(&go);
  return value;
}
static void* Detached(void* unused) {
  sem_post(&gone);
  return unused;
}
static void* JoinSelf(void* unused) {
  printf("itself: %s\n", strerror(pthread_join(pthread_self(), NULL)));
  return unused;
}
static pthread_t main_thread;
static void* JoinMain(void* unused) {
  void* result = unused;
  printf("main: %s", strerror(pthread_join(main_thread, &result)));
  printf(", %s\n", (const char*)result);
  return NULL;
}

int main() {
  pthread_t t;
  void* result = NULL;
  struct timespec soon;
  sem_init(&go, 0, 0);
  sem_init(&gone, 0, 0);
  pthread_create(&t, NULL, Wait, "a value");
  printf("try: %s", strerror(pthread_tryjoin_np(t, &result)));
  clock_gettime(CLOCK_REALTIME, &soon);
  printf(", timed: %s", strerror(pthread_timedjoin_np(t, &result, &soon)));
  clock_gettime(CLOCK_MONOTONIC, &soon);
  printf(", clock: %s\n", strerror(pthread_clockjoin_np(t, &result, CLOCK_MONOTONIC, &soon)));
  sem_post(&go);
  printf("join: %s, %s\n", strerror(pthread_join(t, &result)), (char*)result);
  pthread_create(&t, NULL, Wait, "another");
  sem_post(&go);
  int rc;
  while ((rc = pthread_tryjoin_np(t, &result)) == EBUSY) {
  }
  printf("try at last: %s, %s\n", strerror(rc), (char*)result);
  for (int i = 0; i < 20; ++i) {
    pthread_create(&t, NULL, Detached, NULL);
    pthread_detach(t);
  }
  for (int i = 0; i < 20; ++i) sem_wait(&gone);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_create(&t, &attributes, Detached, NULL);
  sem_wait(&gone);
  pthread_create(&t, NULL, JoinSelf, NULL);
  pthread_join(t, NULL);
  main_thread = pthread_self();
  pthread_create(&t, NULL, JoinMain, NULL);
  pthread_exit("main has left");
}
