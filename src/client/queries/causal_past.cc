#include "client/queries/causal_past.h"

#include <algorithm>

#include "advice/emitted_events.h"

namespace wherefore::client {
namespace {

using wf::advice::Keep;
using wf::advice::PackedTuples;
using wf::advice::Program;
using wf::advice::Rows;
using wf::advice::Slot;
using wf::advice::Value;

// One number.
const Slot& Rule() {
  static const Slot* const rule = new Slot{Keep::kAll, 0, 1, {}};
  return *rule;
}

uint32_t CausalSlot(const Program& program) { return static_cast<uint32_t>(program.slots.size()); }
uint32_t SampleSlot(const Program& program) { return CausalSlot(program) + 1; }

Rows OneNumber(int64_t number) {
  Rows rows(1, 0);
  rows.AddColumn(Value(number));
  rows.EndRow(1);
  return rows;
}

}  // namespace

QueryPlan PlanOfRequest(BaggageLine* line, const LiveQuery& query) {
  const Program& program = query.program;
  if (program.slots.empty()) return QueryPlan::kRewritten;  // no joins: nothing travels
  if (line == nullptr) return query.plan;
  if (line->Has(program.query, CausalSlot(program))) return QueryPlan::kEmit;
  if (query.plan == QueryPlan::kRewritten) return QueryPlan::kRewritten;
  if (line->SlotsOf(program.query, CausalSlot(program)).others) return QueryPlan::kRewritten;
  // What it packed went lost on the way: it is counted as overflowed, and goes on so.
  return line->Overflowed(program.query) ? QueryPlan::kRewritten : QueryPlan::kEmit;
}

std::vector<uint64_t> CausalPast(BaggageLine& line, const Program& program) {
  const uint32_t slot = CausalSlot(program);
  std::vector<uint64_t> ids;
  const BaggageLine::Slots held = line.SlotsOf(program.query, slot);
  if (!held.this_one) return ids;
  const PackedTuples packed = line.Unpack(program.query, slot, Rule());
  for (size_t row = 0; row < packed.rows().size(); ++row) {
    const auto* id = std::get_if<int64_t>(&packed.rows().columns(row)[0]);
    ids.push_back(id != nullptr ? static_cast<uint64_t>(*id) : wf::advice::kLostPast);
  }
  if (held.others || line.Overflowed(program.query)) ids.push_back(wf::advice::kLostPast);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void SetCausalPast(BaggageLine& line, const Program& program, uint64_t id) {
  line.Replace(program.query, CausalSlot(program), Rule(), OneNumber(static_cast<int64_t>(id)));
}

RequestSample SampleOf(BaggageLine& line, const Program& program, RequestSample if_undecided) {
  const uint32_t slot = SampleSlot(program);
  if (line.Has(program.query, slot)) {
    const PackedTuples decided = line.Unpack(program.query, slot, Rule());
    const auto* kept =
        decided.rows().empty() ? nullptr : std::get_if<int64_t>(&decided.rows().columns(0)[0]);
    if (kept != nullptr) return *kept != 0 ? RequestSample::kKept : RequestSample::kLeftOut;
  }
  line.Replace(program.query, slot, Rule(),
               OneNumber(if_undecided == RequestSample::kKept ? 1 : 0));
  return if_undecided;
}

}  // namespace wherefore::client
