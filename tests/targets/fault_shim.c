// Preloaded into a server by the tests of faults: moves its wall clock and slows its disk, as a file that the test
// writes says while it runs. FAULT_SHIM names it: two int64, ns by which the clock is off and ns that every sync takes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct faults {
  int64_t clock_offset_ns, sync_delay_ns;
};
static volatile const struct faults none, *told = &none;

__attribute__((constructor)) static void open_control(void) {
  const char* path = getenv("FAULT_SHIM");
  const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* at = mmap(NULL, sizeof(struct faults), PROT_READ, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) told = at;
  close(fd);
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  const int failed = (int)syscall(SYS_clock_gettime, clock, out);
  if (failed != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  const int64_t ns = out->tv_sec * 1000000000LL + out->tv_nsec + told->clock_offset_ns;
  out->tv_sec = ns / 1000000000LL;
  out->tv_nsec = ns % 1000000000LL;
  return 0;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

static void take_long(void) {
  const int64_t ns = told->sync_delay_ns;
  const struct timespec wait = {ns / 1000000000LL, ns % 1000000000LL};
  if (ns > 0) nanosleep(&wait, NULL);
}

int fdatasync(int fd) {
  take_long();
  return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd) {
  take_long();
  return (int)syscall(SYS_fsync, fd);
}
