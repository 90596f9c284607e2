// <threads.h> whole.
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t mutex;
static cnd_t condition;
static once_flag flag = ONCE_FLAG_INIT;
static tss_t key;
static int ready, runs, destroyed;
static long counter;

static void Once() { ++runs; }
static void Destroy(void* value) { destroyed += *(int*)value; }

static int Run(void* id) {
  static int one = 1;
  call_once(&flag, Once);
  tss_set(key, &one);
  mtx_lock(&mutex);
  while (!ready) cnd_wait(&condition, &mutex);
  mtx_unlock(&mutex);
  for (int i = 0; i < 1000; ++i) {
    while (mtx_trylock(&mutex) != thrd_success) thrd_yield();
    ++counter;
    mtx_unlock(&mutex);
  }
  if (*(int*)id == 2) thrd_exit(20);
  return *(int*)id;
}

int main() {
  struct timespec t;
  mtx_init(&mutex, mtx_timed | mtx_recursive);
  cnd_init(&condition);
  tss_create(&key, Destroy);
  thrd_t threads[3];
  int ids[3] = {0, 1, 2}, results[3];
  for (int i = 0; i < 3; ++i) printf("create %d ", thrd_create(&threads[i], Run, &ids[i]));
  mtx_lock(&mutex);
  timespec_get(&t, TIME_UTC);
  printf("timedwait %d ", cnd_timedwait(&condition, &mutex, &t));
  printf("again %d ", mtx_timedlock(&mutex, &t));
  mtx_unlock(&mutex);
  ready = 1;
  cnd_signal(&condition);
  cnd_broadcast(&condition);
  mtx_unlock(&mutex);
  for (int i = 0; i < 3; ++i) {
    printf("join %d ", thrd_join(threads[i], &results[i]));
    printf("result %d ", results[i]);
  }
  printf("counter %ld runs %d destroyed %d\n", counter, runs, destroyed);
  mtx_destroy(&mutex);
  cnd_destroy(&condition);
  thrd_create(&threads[0], Run, &ids[0]);
  thrd_detach(threads[0]);
  return 0;
}
