/* What record_control_test.py records at control depth. Line numbers are read from the marks "AT name". */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int x, y, flag;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static char pages[16 * 4096] __attribute__((aligned(4096)));

__attribute__((noinline)) static int turns(int n) {
  volatile int sum = 0;
  for (int i = 0; i < n; ++i)    /* AT loop */
    if (i % 3 == 0) sum += i;    /* AT third */
    else sum ^= i;
  return sum;
}

/* Figure 1: two threads, x and y, one lock. */
static void* first(void* order) {
  pthread_mutex_lock(&m);
  if (flag == 0)                 /* AT flag */
    x = y + 1;
  else
    x = y + 2;
  pthread_mutex_unlock(&m);
  (void)order;
  return NULL;
}
static void* second(void* unused) {
  pthread_mutex_lock(&m);
  y = 2 * x;
  pthread_mutex_unlock(&m);
  return unused;
}

static void* counting(void* n) {
  pthread_mutex_lock(&m);
  x += turns((int)(long)n);
  pthread_mutex_unlock(&m);
  return NULL;
}

static void* touching(void* which) {
  char* page = pages + 4096 * (long)which;
  pthread_mutex_lock(&m);
  page[10] = 1;          /* written */
  x += page[4096 + 20];  /* read */
  pthread_mutex_unlock(&m);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t t[8];
  const char* what = argc > 1 ? argv[1] : "";
  const int n = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(what, "figure1") == 0) {
    flag = n;
    pthread_create(&t[0], NULL, first, NULL);
    pthread_join(t[0], NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[1], NULL);
    printf("%d %d\n", x, y);
  } else if (strcmp(what, "threads") == 0) {
    for (long i = 0; i < 8; ++i) pthread_create(&t[i], NULL, counting, (void*)(n + 3 * i));
    for (int i = 0; i < 8; ++i) pthread_join(t[i], NULL);
    printf("%d\n", x);
  } else if (strcmp(what, "fork") == 0) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      counting((void*)(long)n);
      printf("child %d\n", x);
      fflush(stdout);
      _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
  } else if (strcmp(what, "pages") == 0) {
    pthread_create(&t[0], NULL, touching, (void*)(long)n);
    pthread_join(t[0], NULL);
    printf("%p\n", (void*)(pages + 4096 * (long)n));
  } else if (strcmp(what, "killed") == 0) {
    pthread_mutex_lock(&m);
    x = turns(n);
    pthread_mutex_unlock(&m);
    usleep(500000);
    raise(SIGKILL);
  }
  return n % 100;
}
