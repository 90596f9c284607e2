// pthread_once: once, also nested, also from many threads at once.
#include <pthread.h>
#include <stdio.h>

static pthread_once_t outer = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT;
static int outer_runs, inner_runs, seen;

static void Inner() { ++inner_runs; }
static void Outer() {
  pthread_once(&inner, Inner);
  ++outer_runs;
}

static void* Call(void* unused) {
  for (int i = 0; i < 1000; ++i) pthread_once(&outer, Outer);
  __atomic_add_fetch(&seen, outer_runs + inner_runs, __ATOMIC_RELAXED);
  return unused;
}

int main() {
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i) pthread_create(&threads[i], NULL, Call, NULL);
  for (int i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
  printf("%d %d %d\n", outer_runs, inner_runs, seen);
  return 0;
}
