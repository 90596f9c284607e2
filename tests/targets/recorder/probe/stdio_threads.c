// stdio from many threads, into stdout redirected to a file: every line whole, in each thread's order.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static FILE* file;

static void* Print(void* id) {
  for (int i = 0; i < 500; ++i) {
    flockfile(file);
    fprintf(file, "%ld ", (long)id);
    fprintf(file, "%d\n", i);
    funlockfile(file);
    if (i % 100 == 0) fflush(file);
  }
  return NULL;
}

int main() {
  file = tmpfile();
  pthread_t threads[6];
  for (long i = 0; i < 6; ++i) pthread_create(&threads[i], NULL, Print, (void*)i);
  for (int i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
  rewind(file);
  int next[6] = {0}, wrong = 0;
  long id;
  int n;
  while (fscanf(file, "%ld %d\n", &id, &n) == 2) wrong += next[id]++ != n;
  for (int i = 0; i < 6; ++i) printf("%d ", next[i]);
  printf("wrong %d\n", wrong);
  // Unflushed when main returns: written once.
  printf("the end");
  return 0;
}
