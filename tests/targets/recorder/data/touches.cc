// Touches known pages, in known ways, in known sub-computations of several threads, and says so: each line is
// "THREAD SUB PAGE r|w". A sub-computation ends at a lock, an unlock or a sem_post of objects of the thread's own, which lie
// on a page that is touched otherwise, too: what the calls do there belongs to no sub-computation.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

constexpr size_t kPage = 4096;
constexpr size_t kPages = 600;
constexpr int kThreads = 3;
constexpr int kRounds = 12;

alignas(4096) static char global_area[64 * kPage];
static char* area[4];
static size_t area_pages[4];

struct Touch {
  int round, area;
  size_t page;
  // R read, w write, b both, k the kernel writes (read(2)), o the kernel reads (write(2)).
  char how;
};
struct alignas(4096) Worker {
  std::vector<Touch> touches;
  struct Objects {
    pthread_mutex_t lock;
    sem_t own;
  } * objects;
  int thread;
  int zero, null;
};
static Worker workers[kThreads + 1];

static void* Work(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  size_t at = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (; at < worker->touches.size() && worker->touches[at].round == round; ++at) {
      const Touch& touch = worker->touches[at];
      char* page = area[touch.area] + touch.page * kPage;
      switch (touch.how) {
        case 'r':
          (void)*const_cast<volatile char*>(page + 17);
          break;
        case 'w':
          *const_cast<volatile char*>(page + 99) = 1;
          break;
        case 'b':
          *const_cast<volatile char*>(page + 5) = static_cast<char>(page[5] + 1);
          break;
        case 'k':
          if (read(worker->zero, page + 100, 50) != 50) abort();
          break;
        case 'o':
          if (write(worker->null, page + 100, 50) != 50) abort();
          break;
      }
    }
    if (round % 3 == 0) pthread_mutex_lock(&worker->objects->lock);
    if (round % 3 == 1) pthread_mutex_unlock(&worker->objects->lock);
    if (round % 3 == 2) sem_post(&worker->objects->own);
  }
  return nullptr;
}

int main(int argc, char** argv) {
  std::mt19937_64 random(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
  area[0] = global_area;
  area_pages[0] = 64;
  area[1] = static_cast<char*>(
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  area_pages[1] = kPages;
  if (posix_memalign(reinterpret_cast<void**>(&area[2]), kPage, 40 * kPage) != 0) return 1;
  area_pages[2] = 40;
  const int file = open(argv[0], O_RDONLY);
  area[3] = static_cast<char*>(mmap(nullptr, 4 * kPage, PROT_READ, MAP_PRIVATE, file, 0));
  area_pages[3] = 4;
  for (int t = 0; t <= kThreads; ++t) {
    Worker& worker = workers[t];
    worker.thread = t;
    worker.zero = open("/dev/zero", O_RDONLY);
    worker.null = memfd_create("sink", 0);
    worker.objects = reinterpret_cast<Worker::Objects*>(area[2] + 3 * kPage * t + 2048);
    pthread_mutex_init(&worker.objects->lock, nullptr);
    sem_init(&worker.objects->own, 0, 0);
    for (int round = 0; round < kRounds; ++round) {
      const int count = static_cast<int>(random() % 40);
      for (int i = 0; i < count; ++i) {
        const int which = static_cast<int>(random() % 4);
        const size_t page = random() % area_pages[which];
        worker.touches.push_back(
            {round, which, page, which == 3 ? "ro"[random() % 2] : "rwbko"[random() % 5]});
      }
    }
  }
  pthread_t threads[kThreads + 1];
  for (int t = 1; t <= kThreads; ++t) pthread_create(&threads[t], nullptr, Work, &workers[t]);
  Work(&workers[0]);
  for (int t = 1; t <= kThreads; ++t) pthread_join(threads[t], nullptr);
  for (int a = 0; a < 4; ++a)
    std::printf("area %zx %zx\n", reinterpret_cast<size_t>(area[a]) / kPage, area_pages[a]);
  for (int t = 0; t <= kThreads; ++t)
    for (int round = 0; round < kRounds; ++round)
      std::printf("sub %d %d\n", t, round + (t == 0 ? kThreads : 0));
  for (int t = 0; t <= kThreads; ++t)
    for (const Touch& touch : workers[t].touches)
      std::printf("touch %d %d %zx %c\n", t, touch.round + (t == 0 ? kThreads : 0),
                  reinterpret_cast<size_t>(area[touch.area]) / kPage + touch.page,
                  touch.how == 'r' || touch.how == 'o' ? 'r' : 'w');
  return 0;
}
