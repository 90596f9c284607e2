// Imports clone(), as programs do that make threads by hand. Refused, so it never runs.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>

static char stack[65536];
static int Run(void* unused) { return unused != 0; }

int main() {
  printf("started\n");
  return clone(Run, stack + sizeof(stack), CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0) < 0;
}
