// Any bytes as a program: decoding ends, and what is accepted runs at an event without harm and encodes to a program
// that encodes the same. The bytes after a program are what its slots hold.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "advice/advice_test_support.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wf::advice;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.size() < 2) return 0;
  const size_t length = std::min<size_t>(static_cast<uint8_t>(bytes[0]) * 8, bytes.size() - 1);
  const std::string_view packed = bytes.substr(1 + length);
  Program program;
  if (!Decode(bytes.substr(1, length), program)) return 0;
  const std::string encoded = Encode(program);
  Program again;
  WF_CHECK(Decode(encoded, again));
  WF_CHECK(Encode(again) == encoded);

  TestBaggage baggage;
  for (uint32_t slot = 0; slot < program.slots.size(); ++slot) {
    PackedTuples tuples;
    if (PackedTuples::Decode(program.slots[slot], packed, tuples)) baggage.slots[slot] = tuples;
  }
  TestEmitter emitter(program);
  const TestEvent event({{"x", int64_t{7}},
                         {"host", std::string("h")},
                         {"list", List{int64_t{1}, std::string("two"), 3.5}}});
  for (const Advice& advice : program.advice) {
    RunAdvice(program, advice.tracepoints[0], event, baggage, emitter);
    if (baggage.slots.size() > 8) break;
  }
  const auto rows = emitter.results.Rows(1000);
  Results merged(program);
  WF_CHECK(merged.Merge(emitter.results.Encode()));
  WF_CHECK(merged.Rows(1000).size() == rows.size());
  return 0;
}
