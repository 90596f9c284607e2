// Which of a few keys occur in a long list: a mapped input, a hash of every line, four comparisons.
#include <array>

#include "program.h"

using namespace recorded;

namespace {

// Several rounds, as the original scrambles each word before it compares.
uint64_t Scrambled(std::string_view word) {
  uint64_t hash = Hash(word);
  for (int i = 0; i < 6; ++i) hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9 + word.size();
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const std::string_view text = MapInput(arguments.input);
  const std::array<uint64_t, 4> keys = {Scrambled("helloworld"), Scrambled("howareyou"),
                                        Scrambled("ferrari"), Scrambled("abc")};
  std::vector<std::array<uint64_t, 5>> found(static_cast<size_t>(arguments.threads));
  auto work = [&](int index) {
    std::array<uint64_t, 5> mine = {};
    std::string_view part = WholePieces(text, SliceOf(text.size(), index, arguments.threads), '\n');
    while (!part.empty()) {
      const size_t end = part.find('\n');
      const uint64_t word = Scrambled(part.substr(0, end));
      for (size_t i = 0; i < keys.size(); ++i) mine[i] += word == keys[i] ? 1 : 0;
      ++mine[4];
      if (end == std::string_view::npos) break;
      part.remove_prefix(end + 1);
    }
    found[static_cast<size_t>(index)] = mine;
  };
  RunThreads(arguments.threads, work);
  for (size_t i = 0; i < 5; ++i) {
    uint64_t sum = 0;
    for (const auto& mine : found) sum += mine[i];
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
  }
  return 0;
}
