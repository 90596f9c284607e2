// Children by fork: from main and from a thread, with threads of their own; their output and how they left.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int value = 1;

static void* Add(void* amount) {
  pthread_mutex_lock(&mutex);
  value += (int)(long)amount;
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void Child(int n) {
  const pid_t pid = fork();
  if (pid == 0) {
    pthread_t threads[3];
    for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, Add, (void*)(i + n));
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    printf("child %d: value %d\n", n, value);
    fflush(stdout);
    if (n == 2) {  // a grandchild
      if (fork() == 0) _exit(9);
      int status;
      wait(&status);
      printf("grandchild left with %d\n", WEXITSTATUS(status));
      fflush(stdout);
      abort();
    }
    exit(10 + n);
  }
  int status;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status)) printf("child %d left with %d\n", n, WEXITSTATUS(status));
  else printf("child %d was killed by %d\n", n, WTERMSIG(status));
  fflush(stdout);
}

static void* ForkInThread(void* unused) {
  Child(3);
  return unused;
}

int main() {
  setvbuf(stdout, NULL, _IOFBF, 4096);
  Child(1);
  Child(2);
  pthread_t t;
  pthread_create(&t, NULL, ForkInThread, NULL);
  pthread_join(t, NULL);
  printf("value %d, no more children: %d\n", value, (int)wait(NULL));
  return 0;
}
