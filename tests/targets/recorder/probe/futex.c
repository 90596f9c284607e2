// Futexes by syscall(): wait, wake, requeue, time out, value changed; and system calls that are none.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int word, passed;

static void* Wait(void* unused) {
  while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
  __atomic_add_fetch(&passed, 1, __ATOMIC_RELAXED);
  return unused;
}

int main() {
  const struct timespec soon = {0, 2000000};
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, Wait, NULL);
  long rc = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &soon, NULL, 0);
  printf("timed: %ld %s\n", rc, strerror(errno));
  rc = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 7, NULL, NULL, 0);
  printf("changed: %ld %s\n", rc, strerror(errno));
  __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &word, FUTEX_WAKE, 100, NULL, NULL, 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("passed %d, same id %d, no such call %ld %s\n", passed, syscall(SYS_gettid) == getpid(),
         syscall(100000), strerror(errno));
  return 0;
}
