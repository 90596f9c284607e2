// A robust mutex whose owner died is handed on, repaired or given up; under priority inheritance too.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex;

static void* DieHolding(void* unused) {
  printf("owner: %s\n", strerror(pthread_mutex_lock(&mutex)));
  return unused;
}

static void Die() {
  pthread_t owner;
  pthread_create(&owner, NULL, DieHolding, NULL);
  pthread_join(owner, NULL);
}

int main() {
  for (int inherit = 0; inherit < 2; ++inherit) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&attributes, inherit ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
    pthread_mutex_init(&mutex, &attributes);
    Die();
    printf("heir: %s\n", strerror(pthread_mutex_lock(&mutex)));
    printf("consistent: %s\n", strerror(pthread_mutex_consistent(&mutex)));
    printf("unlock: %s\n", strerror(pthread_mutex_unlock(&mutex)));
    Die();
    printf("heir by try: %s\n", strerror(pthread_mutex_trylock(&mutex)));
    printf("unlock unrepaired: %s\n", strerror(pthread_mutex_unlock(&mutex)));
    printf("afterwards: %s\n", strerror(pthread_mutex_lock(&mutex)));
    printf("by try: %s\n", strerror(pthread_mutex_trylock(&mutex)));
    pthread_mutex_destroy(&mutex);
  }
  return 0;
}
