// exit from a thread while others run and main waits: handlers run there, output is flushed, the status is its.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void AtExit() {
  pthread_mutex_lock(&mutex);
  printf("handler\n");
  pthread_mutex_unlock(&mutex);
}
__attribute__((destructor)) static void AtUnload() { printf("destructor\n"); }

static void* Forever(void* unused) {
  while (1) pause();
  return unused;
}
static void* Leave(void* unused) {
  printf("leaving");
  exit(42);
  return unused;
}

int main() {
  atexit(AtExit);
  pthread_t t;
  for (int i = 0; i < 3; ++i) pthread_create(&t, NULL, Forever, NULL);
  pthread_create(&t, NULL, Leave, NULL);
  pthread_join(t, NULL);
  return 1;
}
