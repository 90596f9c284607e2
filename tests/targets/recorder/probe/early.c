// Calls before main and after it: constructors, destructors, handlers, a thread that outlives main's return.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int early, ran;

static void Once() { ++ran; }
static void* Thread(void* unused) {
  pthread_mutex_lock(&mutex);
  ++early;
  pthread_mutex_unlock(&mutex);
  return unused;
}

static void Preinit(int argc, char** argv, char** envp) {
  (void)argc, (void)argv, (void)envp;
  pthread_mutex_lock(&mutex);
  ++early;
  pthread_mutex_unlock(&mutex);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char**, char**) = Preinit;

__attribute__((constructor(101))) static void First() {
  pthread_t t;
  pthread_once(&once, Once);
  pthread_create(&t, NULL, Thread, NULL);
  pthread_join(t, NULL);
}
__attribute__((destructor(101))) static void Last() {
  pthread_t t;
  pthread_create(&t, NULL, Thread, NULL);
  pthread_join(t, NULL);
  printf("last: %d\n", early);
  fflush(stdout);
}
static void* Idle(void* unused) {
  while (1) sleep(1000);
  return unused;
}

int main() {
  pthread_t t;
  pthread_create(&t, NULL, Idle, NULL);
  printf("main: %d %d\n", early, ran);
  return 5;
}
