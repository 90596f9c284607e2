// A service whose requests share a table under an ordinary mutex. Nothing says so to our library: it knows only of the
// requests. tests/system/record/record_requests_test.py records it and asks why a lookup took so long.
#include <wherefore/instrument.h>
#include <wherefore/tracer.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

namespace {

std::mutex table_lock;

void Work(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

__attribute__((noinline)) void Compact(wherefore::Tracer& tracer) {
  wherefore::Block block(tracer, "compact");
  std::lock_guard lock(table_lock);
  Work(400);
}

__attribute__((noinline)) void Lookup(wherefore::Tracer& tracer) {
  wherefore::Block block(tracer, "GET /lookup");
  Work(5);
  std::lock_guard lock(table_lock);
  Work(5);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  wherefore::TracerOptions options;
  options.service_name = "table";
  options.endpoint = argv[1];
  wherefore::Tracer tracer(options);
  std::thread compaction(Compact, std::ref(tracer));
  Work(50);
  std::thread request(Lookup, std::ref(tracer));
  compaction.join();
  request.join();
  return 0;
}
