// Baggage as it comes from anybody: as bytes, as members of a header, and as a whole header. Whatever comes, a line can
// be packed into and unpacked from, what it sends is read without complaint, and no bound of the header is passed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/baggage/baggage_line.h"
#include "client/queries/thread_baggage.h"
#include "client/tracer/baggage_header.h"
#include "wherefore/context.h"

namespace {

using namespace wherefore::client;  // NOLINT(google-build-using-namespace)
using wf::advice::AggregateKind;
using wf::advice::Keep;
using wf::advice::PackedTuples;
using wf::advice::Rows;
using wf::advice::Slot;

void Require(bool condition) {
  if (!condition) std::abort();
}

// The query of the seeds in tests/corpus/baggage_fuzz.
constexpr uint64_t kQuery = 0x1111111111111111;

Slot SlotOf(Keep keep, uint32_t columns, bool counted) {  // NOLINT: a fuzzer's own
  Slot slot;
  slot.keep = keep;
  slot.limit = keep == Keep::kAll ? 0 : 2;
  slot.columns = columns;
  if (counted) slot.aggregates.push_back({AggregateKind::kSum, 0});
  return slot;
}

uint64_t Tuples(const std::vector<uint64_t>& weights) {
  uint64_t sum = 0;
  for (const uint64_t weight : weights) sum = wf::advice::AddCounts(sum, weight);
  return sum;
}

void Use(BaggageLine line) {
  const Slot slots[] = {SlotOf(Keep::kAll, 1, false), SlotOf(Keep::kAll, 1, true),
                        SlotOf(Keep::kFirst, 2, false), SlotOf(Keep::kMostRecent, 1, false)};
  for (uint32_t i = 0; i < 4; ++i) {
    wf::advice::BorrowedRows borrowed;
    const bool borrows = line.Borrow(kQuery, i, slots[i], borrowed);
    const PackedTuples tuples = line.Unpack(kQuery, i, slots[i]);
    if (!borrows) continue;
    std::vector<uint64_t> weights;
    for (size_t row = 0; row < tuples.rows().size(); ++row)
      weights.push_back(tuples.rows().weight(row));
    Require(Tuples(borrowed.weights) == Tuples(weights));
  }
  Rows rows(1, 0);
  rows.AddColumn(int64_t{5});
  rows.EndRow(1);
  for (const uint32_t slot : {0u, 3u}) {
    const PackResult result = line.Pack(kQuery, slot, slots[slot], {}, 7, "id", rows);
    if (result == PackResult::kPacked && slot == 0)
      Require(!line.Unpack(kQuery, slot, slots[slot]).empty());
  }
  const std::string bytes = line.Serialize();
  BaggageView view;
  Require(bytes.empty() || bytes.size() > kMaxBaggageBytes ||
          ReadBaggage(bytes, view) == BaggageRead::kWhole);
  const size_t instances = line.instances();
  BaggageLine branch(line.Freeze());
  branch.Pack(kQuery, 0, slots[0], {}, 7, "id2", rows);
  line.Join(branch.Finish());
  Require(line.instances() <= instances + 2);
  for (const size_t room : {size_t{8192}, size_t{100}, size_t{5}, size_t{0}}) {
    const HeaderTexts texts = line.Header(room, 2);
    Require(texts.size() <= room && texts.first.size() + 3 <= kMaxBaggageMember &&
            texts.second.size() + 4 <= kMaxBaggageMember);
  }
}

// As the answer to what a line has sent: whatever it is, what was packed stays.
void UseAnswer(std::string_view answer) {
  const Slot all = SlotOf(Keep::kAll, 1, false), latest = SlotOf(Keep::kMostRecent, 1, false);
  Rows rows(1, 0);
  rows.AddColumn(int64_t{5});
  rows.EndRow(1);
  BaggageLine line;
  line.Pack(kQuery + 1, 0, all, {}, 7, "id", rows);
  line.Pack(kQuery + 1, 1, latest, {}, 7, "id", rows);
  const std::string sent = line.Serialize();
  line.JoinBytes(answer);
  Require(!line.Unpack(kQuery + 1, 0, all).empty());
  Require(!line.Unpack(kQuery + 1, 1, latest).empty());
  line.JoinBytes(sent);
  line.JoinBytes(answer);
  Use(std::move(line));
}

void UseHeader(std::string_view header) {
  const auto context = wherefore::RequestContext::FromHeaders(
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", {}, header);
  Require(context.has_value());
  const std::string out = context->baggage();
  Require(out.size() <= kMaxBaggageHeader && ValidBaggage(out));
  const auto again = wherefore::RequestContext::FromHeaders(
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", {}, out);
  Require(again->baggage() == out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      Use(BaggageLine(BaggageSnapshot::FromBytes(std::string(input))));
      break;
    case 1: {
      const size_t comma = input.find(',');
      HeaderTexts texts{std::string(input.substr(0, comma)), {}};
      if (comma != std::string_view::npos) texts.second = std::string(input.substr(comma + 1));
      Use(BaggageLine(BaggageSnapshot::FromTexts(std::move(texts))));
      break;
    }
    case 2:
      UseHeader(input);
      break;
    case 3: {
      BaggageLine line;
      line.Receive(input);
      Use(std::move(line));
      break;
    }
    case 4:
      UseAnswer(input);
      break;
  }
  return 0;
}
