// INSPECTOR's figure 1: two threads, x and y, one lock. The argument says who locks first.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// A page for each, so that page-level edges tell them apart.
int x __attribute__((aligned(4096)));
int y __attribute__((aligned(4096)));
pthread_mutex_t lock __attribute__((aligned(4096))) = PTHREAD_MUTEX_INITIALIZER;
volatile int turn __attribute__((aligned(4096)));
char end_of_data[4096] __attribute__((aligned(4096)));

static void await_turn(int mine) {
  while (turn != mine) usleep(100);
}

static void* first(void* unused) {
  (void)unused;
  await_turn(1);
  pthread_mutex_lock(&lock);
  x = y + 1;
  pthread_mutex_unlock(&lock);
  turn = 2;
  return NULL;
}

static void* second(void* unused) {
  (void)unused;
  await_turn(2);
  pthread_mutex_lock(&lock);
  y = 2 * x;
  pthread_mutex_unlock(&lock);
  turn = 1;
  return NULL;
}

int main(int count, char** arguments) {
  pthread_t threads[2];
  turn = count > 1 ? atoi(arguments[1]) : 1;
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  printf("%d %d\n", x, y);
  return 0;
}
