// What record_test.py runs: one program, a behaviour by name.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void* Lock(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

// Locks a lock every 5 ms until it is killed; says each round before it happens.
static void Beat() {
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 0;; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%d %lld\n", i, now.tv_sec * 1000000000LL + now.tv_nsec);
    usleep(5000);
  }
}

static volatile int waiting, spinning;
static void* WaitForEver(void* unused) {
  pthread_mutex_lock(&mutex);
  waiting = 1;
  while (1) pthread_cond_wait(&condition, &mutex);
  return unused;
}
static void* SpinForEver(void* unused) {
  spinning = 1;
  while (1) usleep(1000);
  return unused;
}

static int HowTheyEnd(const char* how) {
  pthread_t a, b;
  pthread_create(&a, NULL, WaitForEver, NULL);
  pthread_create(&b, NULL, SpinForEver, NULL);
  // Who has the mutex after `waiting` was set has it from the wait.
  for (int there = 0; !there; usleep(1000)) {
    pthread_mutex_lock(&mutex);
    there = waiting && spinning;
    pthread_mutex_unlock(&mutex);
  }
  if (strcmp(how, "exit") == 0) exit(6);
  if (strcmp(how, "return") == 0) return 7;
  if (strcmp(how, "_exit") == 0) _exit(8);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "crash") == 0) *(volatile int*)8 = 1;
  return 1;
}

// Threads one after another, and how much memory that took.
static int Churn(int threads) {
  for (int i = 0; i < threads; ++i) {
    pthread_t t;
    pthread_create(&t, NULL, Lock, (void*)2);
    pthread_join(t, NULL);
  }
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  printf("%ld\n", use.ru_maxrss);
  return 0;
}

static int Descriptors() {
  DIR* folder = opendir("/proc/self/fd");
  struct dirent* entry;
  while ((entry = readdir(folder)) != NULL)
    if (entry->d_name[0] != '.') printf("%s ", entry->d_name);
  printf("children %d\n", (int)waitpid(-1, NULL, WNOHANG | __WALL));
  closedir(folder);
  return 0;
}

static int RawThread(void* unused) { (void)unused; return 0; }

static int CloneBySyscall() {
  printf("before\n");
  fflush(stdout);
  static char stack[65536] __attribute__((aligned(16)));
  const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  if (syscall(SYS_clone, flags, stack + sizeof(stack), NULL, NULL, NULL) == 0) syscall(SYS_exit, RawThread(NULL));
  usleep(10000);
  printf("after\n");
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(what, "status") == 0) return number;
  if (strcmp(what, "signal") == 0) return raise(number), pause();
  if (strcmp(what, "beat") == 0) Beat();
  if (strcmp(what, "end") == 0) return HowTheyEnd(argv[2]);
  if (strcmp(what, "churn") == 0) return Churn(number);
  if (strcmp(what, "descriptors") == 0) return Descriptors();
  if (strcmp(what, "clone") == 0) return CloneBySyscall();
  if (strcmp(what, "names") == 0) {
    pthread_t t;
    pthread_setname_np(pthread_self(), "the first");
    pthread_create(&t, NULL, Lock, (void*)1);
    pthread_join(t, NULL);
    return 0;
  }
  if (strcmp(what, "locks") == 0) {
    pthread_t threads[16];
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, Lock, (void*)(long)number);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    return 0;
  }
  fprintf(stderr, "lab: no behaviour %s\n", what);
  return 99;
}
