// Semaphores: unnamed and named, every form of wait, overflow, interruption by a signal.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sem_t items, space;
static int slot, sum;

static const char* Say(int rc) { return rc == 0 ? "ok" : strerror(errno); }

static struct timespec Soon(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += 2000000;
  if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, ++t.tv_sec;
  return t;
}

static void* Produce(void* unused) {
  for (int i = 0; i < 2000; ++i) {
    sem_wait(&space);
    slot = i;
    sem_post(&items);
  }
  return unused;
}

static void OnAlarm(int signal) { (void)signal; }

int main() {
  struct timespec r = Soon(CLOCK_REALTIME), m = Soon(CLOCK_MONOTONIC), bad = {0, 1000000000};
  sem_init(&items, 0, 0);
  sem_init(&space, 0, 1);
  printf("try %s", Say(sem_trywait(&items)));
  printf(", timed %s", Say(sem_timedwait(&items, &r)));
  printf(", clock %s", Say(sem_clockwait(&items, CLOCK_MONOTONIC, &m)));
  printf(", no time %s", Say(sem_timedwait(&space, &bad)));
  printf(", no clock %s\n", Say(sem_clockwait(&space, 99, &m)));
  pthread_t producer;
  pthread_create(&producer, NULL, Produce, NULL);
  for (int i = 0; i < 2000; ++i) {
    sem_wait(&items);
    sum += slot;
    sem_post(&space);
  }
  pthread_join(producer, NULL);
  printf("sum %d\n", sum);
  struct sigaction action = {.sa_handler = OnAlarm};
  sigaction(SIGALRM, &action, NULL);
  ualarm(5000, 5000);
  printf("interrupted: %s\n", Say(sem_wait(&items)));
  ualarm(0, 0);
  sem_t full;
  sem_init(&full, 0, SEM_VALUE_MAX);
  printf("overflow: %s\n", Say(sem_post(&full)));
  char name[64];
  snprintf(name, sizeof(name), "/wherefore-probe-%d", (int)getpid());
  sem_t* named = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
  sem_unlink(name);
  int value;
  sem_wait(named);
  sem_getvalue(named, &value);
  printf("named %d, close %s, destroy %s\n", value, Say(sem_close(named)), Say(sem_destroy(&items)));
  return 0;
}
