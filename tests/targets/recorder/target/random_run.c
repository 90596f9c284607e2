// record_random_run SEED THREADS OPERATIONS: threads synchronize at random and keep vector clocks of their own, in memory that
// the primitives themselves protect (and spin flags, which no recorder sees). Prints the clock of every sub-computation:
// what the recording must say (tests/system/record/record_clocks_test.py).
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMost = 9, kLocks = 3, kSteps = 4000, kRounds = 400 };
typedef unsigned Clock[kMost];

static Clock steps[kMost][kSteps];  // of thread and index
static unsigned count[kMost];       // sub-computations begun
static int threads, operations;
static unsigned seed;

static pthread_mutex_t mutex[kLocks];
static pthread_cond_t condition[kLocks];
static Clock mutex_clock[kLocks], condition_clock[kLocks];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static Clock writers_clock, readers_clock;
static pthread_spinlock_t spin;
static Clock spin_clock;
static pthread_barrier_t barrier;
static Clock round_clock[kRounds];
static Clock created[kMost], ended[kMost];

static volatile char flag;  // for clocks that several may write at once
static void Enter() {
  while (__atomic_test_and_set(&flag, __ATOMIC_ACQUIRE)) sched_yield();
}
static void Leave() { __atomic_clear(&flag, __ATOMIC_RELEASE); }

static void Join(unsigned* into, const unsigned* from) {
  for (int i = 0; i < kMost; ++i)
    if (into[i] < from[i]) into[i] = from[i];
}
static unsigned* Now(int me) { return steps[me][count[me] - 1]; }
// The next sub-computation of `me` begins; it has acquired these.
static void Next(int me, const unsigned* a, const unsigned* b) {
  if (count[me] == kSteps) abort();
  unsigned* next = steps[me][count[me]];
  if (count[me] > 0) Join(next, Now(me));
  if (a != NULL) Join(next, a);
  if (b != NULL) Join(next, b);
  next[me] = ++count[me];
}

static void Lock(int me, int i, int form) {
  if (form == 0) {
    if (pthread_mutex_trylock(&mutex[i]) != 0) {  // cuts nothing
      pthread_mutex_lock(&mutex[i]);
    }
  } else if (form == 1) {
    struct timespec late;
    clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += 100;
    pthread_mutex_timedlock(&mutex[i], &late);
  } else {
    pthread_mutex_lock(&mutex[i]);
  }
  Next(me, mutex_clock[i], NULL);
}
static void Unlock(int me, int i) {
  Join(mutex_clock[i], Now(me));
  pthread_mutex_unlock(&mutex[i]);
  Next(me, NULL, NULL);
}

static void Wait(int me, int i) {
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 300000;
  if (soon.tv_nsec >= 1000000000) soon.tv_nsec -= 1000000000, ++soon.tv_sec;
  Join(mutex_clock[i], Now(me));
  const int rc = pthread_cond_timedwait(&condition[i], &mutex[i], &soon);
  Next(me, mutex_clock[i], rc == ETIMEDOUT ? NULL : condition_clock[i]);
}
static void Wake(int me, int i, int all) {
  Join(condition_clock[i], Now(me));
  if (all) pthread_cond_broadcast(&condition[i]);
  else pthread_cond_signal(&condition[i]);
  Next(me, NULL, NULL);
}

static void Read(int me) {
  pthread_rwlock_rdlock(&rwlock);
  Next(me, writers_clock, NULL);
  Enter();
  Join(readers_clock, Now(me));
  Leave();
  pthread_rwlock_unlock(&rwlock);
  Next(me, NULL, NULL);
}
static void Write(int me) {
  pthread_rwlock_wrlock(&rwlock);
  Next(me, writers_clock, readers_clock);
  Join(writers_clock, Now(me));
  pthread_rwlock_unlock(&rwlock);
  Next(me, NULL, NULL);
}

static void Spin(int me) {
  pthread_spin_lock(&spin);
  Next(me, spin_clock, NULL);
  Join(spin_clock, Now(me));
  pthread_spin_unlock(&spin);
  Next(me, NULL, NULL);
}

static void Round(int me, int n) {
  Enter();
  Join(round_clock[n], Now(me));
  Leave();
  pthread_barrier_wait(&barrier);
  Next(me, round_clock[n], NULL);
}

static void* Run(void* argument) {
  const int me = (int)(long)argument;
  unsigned random = seed * 7919 + (unsigned)me;
  Next(me, created[me], NULL);
  for (int n = 0; n < operations; ++n) {
    if (n % 20 == 19) {
      Round(me, n / 20);
      continue;
    }
    const int what = rand_r(&random) % 9, i = rand_r(&random) % kLocks, form = rand_r(&random) % 3;
    if (rand_r(&random) % 8 == 0) sched_yield();
    if (what < 3) {
      Lock(me, i, form);
      if (form == 2 && i + 1 < kLocks) {
        Lock(me, i + 1, 2);
        Unlock(me, i + 1);
      }
      Unlock(me, i);
    } else if (what < 5) {
      Lock(me, i, 2);
      if (what == 3) Wait(me, i);
      else Wake(me, i, form == 0);
      Unlock(me, i);
    } else if (what == 5) {
      Write(me);
    } else if (what < 8) {
      Read(me);
    } else {
      Spin(me);
    }
  }
  memcpy(ended[me], Now(me), sizeof(Clock));
  return NULL;
}

int main(int argc, char** argv) {
  seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  threads = argc > 2 ? atoi(argv[2]) : 4;
  operations = argc > 3 ? atoi(argv[3]) : 100;
  pthread_t handles[kMost];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  for (int i = 0; i < kLocks; ++i) {
    pthread_mutex_init(&mutex[i], NULL);
    pthread_cond_init(&condition[i], NULL);
  }
  Next(0, NULL, NULL);
  for (long t = 1; t <= threads; ++t) {
    memcpy(created[t], Now(0), sizeof(Clock));
    pthread_create(&handles[t], NULL, Run, (void*)t);
    Next(0, NULL, NULL);
  }
  for (long t = threads; t >= 1; --t) {
    pthread_join(handles[t], NULL);
    Next(0, ended[t], NULL);
  }
  for (int t = 0; t <= threads; ++t)
    for (unsigned i = 0; i < count[t]; ++i) {
      printf("%d.%u", t, i);
      for (int u = 0; u <= threads; ++u) printf(" %u", steps[t][i][u]);
      printf("\n");
    }
  return 0;
}
