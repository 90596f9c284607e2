// A bounded queue: producers and consumers, signal and broadcast.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int queue[8], count, produced, finished;
static long sums[3];

static void* Produce(void* unused) {
  for (int i = 1; i <= 1500; ++i) {
    pthread_mutex_lock(&mutex);
    while (count == 8) pthread_cond_wait(&not_full, &mutex);
    queue[count++] = i;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_lock(&mutex);
  if (++finished == 2) pthread_cond_broadcast(&not_empty);
  pthread_mutex_unlock(&mutex);
  return unused;
}

static void* Consume(void* sum) {
  while (1) {
    pthread_mutex_lock(&mutex);
    while (count == 0 && finished < 2) pthread_cond_wait(&not_empty, &mutex);
    if (count == 0) break;
    *(long*)sum += queue[--count];
    ++produced;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main() {
  pthread_t threads[5];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, Produce, NULL);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[2 + i], NULL, Consume, &sums[i]);
  for (int i = 0; i < 5; ++i) pthread_join(threads[i], NULL);
  printf("%d items, sum %ld\n", produced, sums[0] + sums[1] + sums[2]);
  return 0;
}
