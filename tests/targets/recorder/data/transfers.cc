// Takes in and gives out known bytes: transfers FILE MAPPED OUT, with ten bytes or more on standard input. Prints one
// line, and the address and the pages of the mapping.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static int ends[2], pair[2];

static void* OtherEnd(void*) {
  char text[64];
  if (read(ends[0], text, sizeof text) != 5) abort();
  if (send(pair[1], text, 5, 0) != 5) abort();
  return nullptr;
}

int main(int, char** argv) {
  char text[4096];
  if (read(0, text, 4) != 4 || read(0, text, 6) != 6) return 1;
  const int file = open(argv[1], O_RDONLY);
  if (read(file, text, 100) != 100) return 1;
  if (pread(file, text, 50, 1000) != 50) return 1;
  lseek(file, 2000, SEEK_SET);
  char a[10], b[20];
  const iovec pieces[2] = {{a, sizeof a}, {b, sizeof b}};
  if (readv(file, pieces, 2) != 30) return 1;
  const int mapped = open(argv[2], O_RDONLY);
  struct stat about;
  fstat(mapped, &about);
  char* map = static_cast<char*>(
      mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_SHARED, mapped, 0));
  volatile char sink = map[3 * 4096 + 1];
  (void)sink;
  const int out = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (write(out, text, 30) != 30 || pwrite(out, text, 7, 500) != 7 || write(out, text, 1) != 1)
    return 1;
  if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
  pthread_t thread;
  pthread_create(&thread, nullptr, OtherEnd, nullptr);
  if (write(ends[1], "hello", 5) != 5) return 1;
  if (recv(pair[0], text, sizeof text, 0) != 5) return 1;
  pthread_join(thread, nullptr);
  std::printf("mapped %zx\n", reinterpret_cast<size_t>(map) / 4096);
  char* kept = static_cast<char*>(std::malloc(123457));
  std::printf("allocated %zx\n", reinterpret_cast<size_t>(kept));
  return 0;
}
