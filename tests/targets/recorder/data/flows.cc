// Data that goes known ways from an input to an output: flows WAY IN OUT [PUBLIC]. Says what came of each write, one line
// each, on standard output; no way says there what it read.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace {

constexpr size_t kPage = 4096;
alignas(kPage) char g_read[kPage];
alignas(kPage) char g_made[kPage];
alignas(kPage) char g_public[kPage];
alignas(kPage) sem_t g_ready;
alignas(kPage) sem_t g_begin;
alignas(kPage) ssize_t g_result;
alignas(kPage) int g_error;
alignas(kPage) const char* g_in;
const char* g_out;
const char* g_other;

int OpenOut() { return open(g_out, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644); }

void Say(const char* what, ssize_t result, int error) {
  printf("%s %zd %s\n", what, result, result < 0 ? (error == EACCES ? "EACCES" : "other") : "-");
}

ssize_t ReadFile(const char* path, char* to) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = read(fd, to, kPage);
  close(fd);
  return n;
}

void Copy() {
  const int out = OpenOut();
  const ssize_t before = write(out, "first\n", 6);
  Say("before", before, errno);
  const ssize_t n = ReadFile(g_in, g_read);
  for (ssize_t i = 0; i < n; ++i) g_made[i] = static_cast<char>(g_read[i] ^ 1);
  const ssize_t after = write(out, g_made, static_cast<size_t>(n));
  Say("after", after, errno);
}

void* Read(void*) {
  sem_wait(&g_begin);
  const ssize_t n = ReadFile(g_in, g_read);
  for (ssize_t i = 0; i < n; ++i) g_made[i] = static_cast<char>(g_read[i] ^ 1);
  sem_post(&g_ready);
  return nullptr;
}

// Another thread made what this one writes.
void* WriteMade(void*) {
  const int out = OpenOut();
  sem_wait(&g_ready);
  g_result = write(out, g_made, 16);
  g_error = errno;
  return nullptr;
}

// The other thread read its input by then; this one has nothing of it.
void* WritePublic(void*) {
  const int out = OpenOut();
  sem_wait(&g_ready);
  const ssize_t n = ReadFile(g_other, g_public);
  g_result = write(out, g_public, static_cast<size_t>(n));
  g_error = errno;
  return nullptr;
}

void Threads(void* (*writer)(void*)) {
  sem_init(&g_ready, 0, 0);
  sem_init(&g_begin, 0, 0);
  pthread_t reading, writing;
  pthread_create(&writing, nullptr, writer, nullptr);
  pthread_create(&reading, nullptr, Read, nullptr);
  sem_post(&g_begin);
  pthread_join(reading, nullptr);
  pthread_join(writing, nullptr);
  Say("write", g_result, g_error);
}

void Mapped() {
  const int out = OpenOut(), in = open(g_in, O_RDONLY | O_CLOEXEC);
  const void* bytes = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, in, 0);
  const ssize_t result = write(out, bytes, 16);
  Say("write", result, errno);
}

// A child reads it and hands it over by a pipe.
void Piped() {
  int ends[2];
  if (pipe(ends) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    const ssize_t n = ReadFile(g_in, g_read);
    _exit(write(ends[1], g_read, static_cast<size_t>(n)) == n ? 0 : 1);
  }
  waitpid(child, nullptr, 0);
  const ssize_t n = read(ends[0], g_made, kPage);
  const int out = OpenOut();
  const ssize_t result = write(out, g_made, static_cast<size_t>(n));
  Say("write", result, errno);
}

void Sent() {
  const int out = open(g_out, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const int in = open(g_in, O_RDONLY | O_CLOEXEC);
  const ssize_t result = sendfile(out, in, nullptr, 16);
  Say("sendfile", result, errno);
}

void Crashed() {
  ReadFile(g_in, g_read);
  char* volatile nowhere = g_read[0] == 0 ? g_read : reinterpret_cast<char*>(16);
  *nowhere = 1;
}

void Aborted() {
  ReadFile(g_in, g_read);
  abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  g_in = argv[2];
  g_out = argv[3];
  g_other = argc > 4 ? argv[4] : nullptr;
  const std::map<std::string, std::function<void()>> ways = {
      {"copy", Copy},
      {"threads", [] { Threads(WriteMade); }},
      {"bystander", [] { Threads(WritePublic); }},
      {"mapped", Mapped},
      {"piped", Piped},
      {"sent", Sent},
      {"crashed", Crashed},
      {"aborted", Aborted},
  };
  const auto way = ways.find(argv[1]);
  if (way == ways.end()) return 2;
  way->second();
  return 0;
}
