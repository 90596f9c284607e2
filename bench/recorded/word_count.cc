// How often each word occurs: a mapped input, a table that grows in each thread, merged under one lock.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "program.h"

using namespace recorded;

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const std::string_view text = MapInput(arguments.input);
  std::unordered_map<std::string, uint64_t> all;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  auto work = [&](int index) {
    std::unordered_map<std::string_view, uint64_t> mine;
    std::string_view part = WholePieces(text, SliceOf(text.size(), index, arguments.threads), '\n');
    while (!part.empty()) {
      size_t end = 0;
      while (end < part.size() && part[end] > ' ') ++end;
      if (end != 0) ++mine[part.substr(0, end)];
      part.remove_prefix(std::min(end + 1, part.size()));
    }
    pthread_mutex_lock(&lock);
    for (const auto& [word, count] : mine) all[std::string(word)] += count;
    pthread_mutex_unlock(&lock);
  };
  RunThreads(arguments.threads, work);
  std::vector<std::pair<uint64_t, std::string>> order;
  order.reserve(all.size());
  for (const auto& [word, count] : all) order.emplace_back(count, word);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (size_t i = 0; i < 10 && i < order.size(); ++i)
    std::printf("%s %llu\n", order[i].second.c_str(),
                static_cast<unsigned long long>(order[i].first));
  return 0;
}
