// Other programs: exec in every form, spawn, system, popen, vfork, with and without the environment.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static const char* self;

static void* Nothing(void* unused) { return unused; }

static int BeChild(const char* word) {
  pthread_t t;
  pthread_create(&t, NULL, Nothing, NULL);
  pthread_join(t, NULL);
  printf("  child %s, FRUIT=%s\n", word, getenv("FRUIT") ? getenv("FRUIT") : "none");
  return 7;
}

static void Report(const char* how, int status) {
  printf("%s: %d\n", how, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  fflush(stdout);
}

static void InChild(int how) {
  char* argv[] = {(char*)self, "--child", "fork", NULL};
  char* own[] = {"FRUIT=pear", NULL};
  switch (how) {
    case 0: execv(self, argv); break;
    case 1: execve(self, argv, own); break;
    case 2: execvp(self, argv); break;
    case 3: execl(self, self, "--child", "execl", (char*)NULL); break;
    case 4: execlp(self, self, "--child", "execlp", (char*)NULL); break;
    case 5: execle(self, self, "--child", "execle", (char*)NULL, own); break;
    case 6: execvpe(self, argv, own); break;
    case 7: fexecve(open(self, O_RDONLY), argv, own); break;
    case 8: execve("/nowhere/at/all", argv, own); break;
  }
  printf("  %s\n", strerror(errno));
  fflush(stdout);
  _exit(errno == ENOENT ? 4 : 5);
}

int main(int argc, char** argv) {
  self = argv[0];
  if (argc == 3 && strcmp(argv[1], "--child") == 0) return BeChild(argv[2]);
  setenv("FRUIT", "apple", 1);
  int status;
  for (int how = 0; how <= 8; ++how) {
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) InChild(how);
    waitpid(pid, &status, 0);
    char name[16];
    snprintf(name, sizeof(name), "form %d", how);
    Report(name, status);
  }
  pid_t pid;
  char* child[] = {(char*)self, "--child", "spawned", NULL};
  posix_spawn(&pid, self, NULL, NULL, child, environ);
  waitpid(pid, &status, 0);
  Report("spawn", status);
  char* bare[] = {NULL};
  posix_spawnp(&pid, self, NULL, NULL, child, bare);
  waitpid(pid, &status, 0);
  Report("spawnp without environment", status);
  if (vfork() == 0) {
    execl(self, self, "--child", "vfork", (char*)NULL);
    _exit(1);
  }
  wait(&status);
  Report("vfork", status);
  if (vfork() == 0) _exit(3);
  wait(&status);
  Report("vfork and exit", status);
  char command[512];
  snprintf(command, sizeof(command), "'%s' --child system", self);
  Report("system", system(command));
  FILE* pipe = popen(command, "r");
  char line[128];
  while (fgets(line, sizeof(line), pipe)) printf("read: %s", line);
  Report("popen", pclose(pipe));
  return 0;
}
