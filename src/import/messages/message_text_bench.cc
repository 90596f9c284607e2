// Lines a second through the reader, and through reader and sorter.
#include <benchmark/benchmark.h>

#include <cstring>

#include "import/messages/message_text_reader.h"
#include "import/messages/sighting_sorter.h"

namespace wf::messages {
namespace {

std::string MakeText(const char* keys) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) {
    const int call = i / 2;
    const bool request = i % 2 == 0;
    text += std::to_string(1655759356 + i / 1000) + "." + std::to_string(100000 + i % 1000 * 900);
    text += request ? " CALL frontend search " : " RET search frontend ";
    text += std::to_string(call) + keys + "\n";
  }
  return text;
}

net::ChunkSource Over(const std::string& text) {
  return [&text, at = size_t{0}](char* buffer, size_t size) mutable -> Result<size_t> {
    const size_t n = std::min(size, text.size() - at);
    std::memcpy(buffer, text.data() + at, n);
    at += n;
    return n;
  };
}

void BM_Read(benchmark::State& state, const char* keys) {
  const std::string text = MakeText(keys);
  for (auto _ : state) {
    StringTable nodes;
    MessageTextOptions options;
    options.texts = LineTexts::kDrop;
    MessageTextReader reader(Over(text), "bench", options, nodes);
    SightingLine line;
    while (*reader.Next(line)) benchmark::DoNotOptimize(line.sighting.id);
    state.SetItemsProcessed(state.items_processed() + static_cast<int64_t>(reader.lines()));
  }
}
BENCHMARK_CAPTURE(BM_Read, Plain, "");
BENCHMARK_CAPTURE(BM_Read, WithKeys, " thread=12 conn=7 path=1234");

void BM_ReadAndSort(benchmark::State& state) {
  const std::string text = MakeText("");
  for (auto _ : state) {
    StringTable nodes;
    MessageTextOptions options;
    options.texts = LineTexts::kDrop;
    MessageTextReader reader(Over(text), "bench", options, nodes);
    SightingSorter sorter(10 * kSecond, 0, SightingSorter::Texts::kDrop);
    SightingLine line;
    while (*reader.Next(line)) {
      sorter.Push(line, line.sighting.time_ns);
      while (sorter.Ready()) sorter.Pop(line);
    }
    benchmark::DoNotOptimize(line);
    state.SetItemsProcessed(state.items_processed() + static_cast<int64_t>(reader.lines()));
  }
}
BENCHMARK(BM_ReadAndSort);

}  // namespace
}  // namespace wf::messages
