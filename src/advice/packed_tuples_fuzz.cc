// Any bytes as the tuples of a slot, an aggregate's state or a partial result. The first three say which shape.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "advice/advice_test_support.h"
#include "base/check.h"

namespace {

using namespace wf::advice;

// What was accepted encodes to bytes that stay the same, and merging it with itself is safe.
void CheckPacked(const Slot& slot, std::string_view bytes) {
  PackedTuples packed;
  if (!PackedTuples::Decode(slot, bytes, packed)) return;
  std::string once, twice;
  packed.Encode(slot, once);
  PackedTuples again;
  WF_CHECK(PackedTuples::Decode(slot, once, again));
  again.Encode(slot, twice);
  WF_CHECK(once == twice);
  PackedTuples merged;
  merged.Merge(slot, packed);
  merged.Merge(slot, again);
  WF_CHECK(slot.keep == Keep::kAll || merged.events().size() <= slot.limit);
}

void CheckState(AggregateKind kind, std::string_view bytes) {
  AggregateState state(kind);
  if (!AggregateState::Decode(kind, bytes, state)) return;
  state.Add(int64_t{5}, 3);
  AggregateState other = state;
  other.Merge(state, 7);
  std::string encoded;
  other.Encode(encoded);
  std::string_view left = encoded;
  AggregateState again(kind);
  WF_CHECK(AggregateState::Decode(kind, left, again) && left.empty());
  WF_CHECK(Identical(again.Finish({kind, 50}), other.Finish({kind, 50})));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  Slot slot;
  slot.keep = static_cast<Keep>(data[0] % 3);
  slot.limit = slot.keep == Keep::kAll ? 0 : data[0] / 3 % 5;
  slot.columns = data[1] % 4;
  for (int i = 0; i < data[1] / 4 % 3; ++i)
    slot.aggregates.push_back({static_cast<AggregateKind>((data[2] >> (3 * i)) % 8), 50});
  CheckPacked(slot, bytes);
  CheckState(static_cast<AggregateKind>(data[2] % 8), bytes);

  Emit emit{{{}, {}}, data[0] % 2 == 0, {}};
  for (uint32_t i = 0; i < slot.columns; ++i) {
    emit.grouping.columns.push_back(Column(0));
    emit.select.push_back(Column(i));
  }
  for (const Aggregate& aggregate : slot.aggregates)
    emit.grouping.aggregates.push_back(Over(aggregate.kind, Column(0)));
  const Program program = MakeProgram({{{"t"}, {Observe{{"x"}}, emit}}});
  Results results(program);
  if (results.Merge(bytes)) {
    const auto rows = results.Rows(1000);
    Results again(program);
    WF_CHECK(again.Merge(results.Encode()));
    WF_CHECK(again.Rows(1000).size() == rows.size());
  }
  return 0;
}
