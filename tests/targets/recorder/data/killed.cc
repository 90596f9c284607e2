// Allocates memory and is killed before anything else is recorded.
#include <csignal>
#include <cstdlib>

int main() {
  void* volatile kept = std::malloc(98'765);
  if (kept == nullptr) return 1;
  std::raise(SIGKILL);
  return 0;
}
