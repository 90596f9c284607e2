// thread_local objects with destructors that lock, in the order of their construction reversed.
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

std::mutex mutex;
std::vector<std::string> said;

struct Loud {
  explicit Loud(const char* name) : name(name) {}
  ~Loud() {
    std::lock_guard guard(mutex);
    said.push_back(name + " " + std::to_string(count));
  }
  std::string name;
  int count = 0;
};
thread_local Loud first("first"), second("second");
thread_local int plain = 5;

int main() {
  for (int t = 0; t < 3; ++t)
    std::thread([t] {
      for (int i = 0; i <= t; ++i) ++second.count, ++first.count, ++plain;
      std::lock_guard guard(mutex);
      said.push_back("plain " + std::to_string(plain));
    }).join();
  for (const std::string& line : said) std::printf("%s\n", line.c_str());
  first.count = 9;
}
