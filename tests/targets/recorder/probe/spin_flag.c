// Threads that wait for flags by spinning, in memory of every kind: global, heap, stack, mapped.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static volatile int global_flag;
static volatile int* flags[4];

static void* Answer(void* unused) {
  for (int round = 0; round < 50; ++round)
    for (int i = 0; i < 4; ++i) {
      while (__atomic_load_n(flags[i], __ATOMIC_ACQUIRE) != 2 * round + 1) sched_yield();
      __atomic_store_n(flags[i], 2 * round + 2, __ATOMIC_RELEASE);
    }
  return unused;
}

int main() {
  volatile int stack_flag = 0;
  flags[0] = &global_flag;
  flags[1] = calloc(1, sizeof(int));
  flags[2] = &stack_flag;
  flags[3] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t t;
  pthread_create(&t, NULL, Answer, NULL);
  for (int round = 0; round < 50; ++round)
    for (int i = 0; i < 4; ++i) {
      __atomic_store_n(flags[i], 2 * round + 1, __ATOMIC_RELEASE);
      while (__atomic_load_n(flags[i], __ATOMIC_ACQUIRE) != 2 * round + 2) sched_yield();
    }
  pthread_join(t, NULL);
  printf("%d %d %d %d\n", *flags[0], *flags[1], *flags[2], *flags[3]);
  return 0;
}
