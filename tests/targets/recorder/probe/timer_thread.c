// needs: schedule. Threads that libc makes for itself: timers that notify by a thread.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static sem_t ticks;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void Tick(union sigval value) {
  pthread_mutex_lock(&mutex);
  sum += value.sival_int;
  pthread_mutex_unlock(&mutex);
  sem_post(&ticks);
}

int main() {
  sem_init(&ticks, 0, 0);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = Tick, .sigev_value.sival_int = 3};
  for (int i = 0; i < 5; ++i) {
    timer_t timer;
    struct itimerspec once = {{0, 0}, {0, 1000000}};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &once, NULL);
    while (sem_wait(&ticks) != 0) {
    }
    timer_delete(timer);
  }
  pthread_mutex_lock(&mutex);
  printf("%d\n", sum);
  pthread_mutex_unlock(&mutex);
  return 0;
}
