// Names of threads, by both ways, read back.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static pthread_barrier_t barrier;

static void* Run(void* name) {
  if (name != NULL) prctl(PR_SET_NAME, name);
  pthread_barrier_wait(&barrier);
  char mine[32];
  pthread_barrier_wait(&barrier);
  pthread_getname_np(pthread_self(), mine, sizeof(mine));
  pthread_barrier_wait(&barrier);
  return NULL;
}

int main() {
  pthread_barrier_init(&barrier, NULL, 3);
  pthread_t a, b;
  char name[32];
  pthread_create(&a, NULL, Run, "by itself");
  pthread_create(&b, NULL, Run, NULL);
  pthread_barrier_wait(&barrier);
  printf("set: %s, too long: %s\n", strerror(pthread_setname_np(b, "by main")),
         strerror(pthread_setname_np(b, "a name that is too long")));
  pthread_getname_np(a, name, sizeof(name));
  printf("%s, ", name);
  pthread_getname_np(b, name, sizeof(name));
  printf("%s, dumpable %d\n", name, prctl(PR_GET_DUMPABLE));
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
