// record_snapshots SECONDS CREATED [PAUSE_US]: two threads hand work to each other and share locks, a pause of PAUSE_US between
// two rounds; meanwhile CREATED threads come and go, each with a mutex of its own, most joined and some detached. Every
// second the program asks for a snapshot of itself, if it is recorded, and prints its number.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static sem_t full, empty;
static volatile int stop;
static long counter, received;
static unsigned pause_us;
static sem_t detached_ended;

static double Now() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void Work() {
  pthread_mutex_lock(&shared);
  ++counter;
  pthread_mutex_unlock(&shared);
  pthread_rwlock_rdlock(&table);
  pthread_rwlock_unlock(&table);
}

static void* Producer(void* unused) {
  (void)unused;
  pthread_setname_np(pthread_self(), "producer");
  while (!stop) {
    Work();
    sem_wait(&empty);
    sem_post(&full);
    if (pause_us != 0) usleep(pause_us);
  }
  return NULL;
}

static void* Consumer(void* unused) {
  (void)unused;
  pthread_setname_np(pthread_self(), "consumer");
  while (!stop) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (sem_timedwait(&full, &until) == 0) {
      ++received;
      sem_post(&empty);
    }
    Work();
  }
  return NULL;
}

static void* Short(void* detached) {
  pthread_mutex_t* own = malloc(sizeof *own);
  pthread_mutex_init(own, NULL);
  pthread_mutex_lock(own);
  Work();
  pthread_mutex_unlock(own);
  pthread_mutex_destroy(own);
  free(own);
  if (detached != NULL) sem_post(&detached_ended);
  return NULL;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const long created = argc > 2 ? atol(argv[2]) : 100;
  pause_us = argc > 3 ? (unsigned)atoi(argv[3]) : 1000;
  setvbuf(stdout, NULL, _IOLBF, 0);
  sem_init(&full, 0, 0);
  sem_init(&empty, 0, 4);
  sem_init(&detached_ended, 0, 0);
  int (*snapshot)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "wherefore_snapshot");
  pthread_t producer, consumer;
  pthread_create(&producer, NULL, Producer, NULL);
  pthread_create(&consumer, NULL, Consumer, NULL);
  const double began = Now();
  double next_snapshot = 1;
  long done = 0, left_alone = 0;
  while (Now() - began < seconds || done < created) {
    const long due = (long)((double)created * (Now() - began) / seconds);
    for (; done < created && done < due; ++done) {
      pthread_t thread;
      const int detached = done % 10 == 9;
      if (pthread_create(&thread, NULL, Short, detached ? &detached_ended : NULL) != 0) return 1;
      if (detached) {
        pthread_detach(thread);
        ++left_alone;
      } else {
        pthread_join(thread, NULL);
      }
    }
    if (snapshot != NULL && Now() - began >= next_snapshot) {
      printf("snapshot %d\n", snapshot());
      next_snapshot += 1;
    }
    usleep(1000);
  }
  for (; left_alone > 0; --left_alone) sem_wait(&detached_ended);
  stop = 1;
  sem_post(&empty);  // the consumer may be gone already
  pthread_join(producer, NULL);
  pthread_join(consumer, NULL);
  printf("counted %ld created %ld\n", counter, done);
  return 0;
}
