// Waits for SIGUSR1 from outside, in its second thread: by sigwait while every thread blocks it, or by a handler that only
// the second thread lets run. Says "ready", then which way it came.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>

static sigset_t set;
static pthread_t second;
static std::atomic<int> handled{0};

static void OnSignal(int) { handled = pthread_equal(pthread_self(), second) != 0 ? 2 : 1; }

static void Say(const char* text) {
  std::puts(text);
  std::fflush(stdout);
}

static void* Wait(void*) {
  int signal = 0;
  Say("ready");
  sigwait(&set, &signal);
  Say(signal == SIGUSR1 ? "waited for" : "wrong");
  return nullptr;
}

static void* Handle(void*) {
  second = pthread_self();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  Say("ready");
  while (handled == 0) usleep(1000);
  Say(handled == 2 ? "handled" : "wrong");
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigaction(SIGUSR1, &action, nullptr);
  pthread_t thread;
  pthread_create(&thread, nullptr, std::strcmp(argv[1], "wait") == 0 ? Wait : Handle, nullptr);
  pthread_join(thread, nullptr);
  return 7;
}
