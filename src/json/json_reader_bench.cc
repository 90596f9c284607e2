// MB/s of parsing and walking JSON; the least we ask for is 100 MB/s.
#include <benchmark/benchmark.h>

#include "json/json_reader.h"
#include "json/json_splitter.h"

namespace wf {
namespace {

std::string SampleText() {
  std::string text = "[";
  for (int i = 0; i < 5000; ++i) {
    if (i > 0) text += ",";
    text +=
        R"({"traceId":"5982fe77008310cc80f1da5e10147519","id":"67fae42571535f60","kind":"CLIENT","name":"get /m",)"
        R"("timestamp":1516781775726)" +
        std::to_string(100 + i % 900) +
        R"(,"duration":26000,"localEndpoint":{"serviceName":"ui","ipv4":"10.0.0.1","port":8080},)"
        R"("tags":{"http.path":"/products/)" +
        std::to_string(i) + R"(","http.method":"GET"}})";
  }
  return text + "]";
}

size_t Walk(JsonValue value) {
  size_t n = value.String().size() + static_cast<size_t>(value.Int().value_or(0) & 1);
  for (const JsonValue element : value.Elements()) n += Walk(element);
  for (const auto& [key, member] : value.Members()) n += key.size() + Walk(member);
  return n;
}

void BM_ParseAndWalk(benchmark::State& state) {
  const std::string text = SampleText();
  JsonParser parser;
  for (auto _ : state) {
    const auto root = parser.Parse(text);
    if (!root.ok()) state.SkipWithError("not parsed");
    benchmark::DoNotOptimize(Walk(*root));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(BM_ParseAndWalk);

void BM_SplitElements(benchmark::State& state) {
  const std::string text = SampleText();
  for (auto _ : state) {
    JsonSplitter splitter = JsonSplitter::Array(text, 0);
    std::string_view piece;
    size_t pieces = 0;
    while (splitter.Next(piece)) ++pieces;
    benchmark::DoNotOptimize(pieces);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(BM_SplitElements);

}  // namespace
}  // namespace wf
