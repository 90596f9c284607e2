// Mutex, condition variable, semaphore and barrier shared by two processes.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct Shared {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  pthread_barrier_t barrier;
  sem_t semaphore;
  int turn, sum;
};

int main() {
  struct Shared* s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t ma;
  pthread_condattr_t ca;
  pthread_barrierattr_t ba;
  pthread_mutexattr_init(&ma);
  pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
  pthread_condattr_init(&ca);
  pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
  pthread_barrierattr_init(&ba);
  pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&s->mutex, &ma);
  pthread_cond_init(&s->condition, &ca);
  pthread_barrier_init(&s->barrier, &ba, 2);
  sem_init(&s->semaphore, 1, 0);
  const int me = fork() == 0;
  for (int round = 0; round < 200; ++round) {
    pthread_mutex_lock(&s->mutex);
    while (s->turn != me) pthread_cond_wait(&s->condition, &s->mutex);
    s->sum += me + 1;
    s->turn = !me;
    pthread_cond_signal(&s->condition);
    pthread_mutex_unlock(&s->mutex);
  }
  int serial = 0;
  for (int round = 0; round < 50; ++round)
    serial += pthread_barrier_wait(&s->barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  __atomic_add_fetch(&s->sum, serial * 10, __ATOMIC_SEQ_CST);
  if (me) {
    sem_post(&s->semaphore);
    _exit(3);
  }
  sem_wait(&s->semaphore);
  int status;
  wait(&status);
  printf("sum %d, child left with %d\n", s->sum, WEXITSTATUS(status));
  return 0;
}
