// Signals: to threads, handled on another stack, waited for, and handlers that post semaphores while calls are made.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static sem_t posted;
static volatile sig_atomic_t handled;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t target;
static volatile int stop;

static void OnSignal(int signal) {
  (void)signal;
  ++handled;
  sem_post(&posted);
}
static void OnAlarm(int signal) {
  (void)signal;
  sem_post(&posted);
}

static void* Lock(void* unused) {
  long n = 0;
  while (!stop) {
    pthread_mutex_lock(&mutex);
    ++n;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

int main() {
  sem_init(&posted, 0, 0);
  stack_t stack = {.ss_sp = malloc(SIGSTKSZ * 4), .ss_size = SIGSTKSZ * 4};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = OnSignal, .sa_flags = SA_ONSTACK | SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  action.sa_handler = OnAlarm;
  sigaction(SIGALRM, &action, NULL);
  pthread_create(&target, NULL, Lock, NULL);
  for (int i = 0; i < 80; ++i) {
    pthread_kill(target, SIGUSR1);
    while (sem_wait(&posted) != 0) {
    }
  }
  stop = 1;
  pthread_join(target, NULL);
  // A timer that interrupts whatever is going on, the recorder included.
  stop = 0;
  pthread_create(&target, NULL, Lock, NULL);
  struct itimerval often = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 40; ++i) {
    while (sem_wait(&posted) != 0) {
    }
    for (int n = 0; n < 200; ++n) {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    }
  }
  setitimer(ITIMER_REAL, &off, NULL);
  stop = 1;
  pthread_join(target, NULL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  kill(getpid(), SIGUSR2);
  int got = 0;
  sigwait(&set, &got);
  printf("handled %d, waited for %s\n", (int)handled, strsignal(got));
  fflush(stdout);
  raise(SIGTERM);
  return 0;
}
