// Where data came from, and where it went.
//
// Back: the sub-computations that wrote the data, and all that reach them by data edges. The sources are the
// inputs that these read. Threads may also hand over memory without recorded synchronization (atomics, spin
// flags), so the walk also steps from b to a concurrent a that wrote a page which b touched, if a began
// before b ended. What only such steps find is `unordered`. Forth: the same in the other direction, to the
// outputs.
//
// Bytes that the program wrote and read back are not a source: the walk continues at their writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/lineage/byte_flows.h"
#include "analysis/lineage/data_edges.h"
#include "analysis/lineage/range_set.h"

namespace wf::lineage {

enum class Steps : uint8_t { kOrderedOnly, kAlsoUnordered };

struct LineageEnd {  // a source or a sink
  recorder::TransferKind kind{};
  std::string name;
  std::vector<ByteRange> ranges;
  bool unordered = false;
};

struct LineageSub {
  recorder::SubId sub = 0;
  bool unordered = false;
};

struct Lineage {
  std::vector<LineageEnd> ends;  // by name, kind; the ordered before the unordered
  std::vector<LineageSub> subs;  // by thread, index
};

// Where a walk begins. `order` (ByteFlow) selects the flows of the sub-computation that count: back, those
// below it; forth, those above.
struct LineageRoot {
  recorder::SubId sub = 0;
  uint32_t order = 0;
  bool unordered = false;
};

class LineageFinder {
 public:
  // Both must outlive this.
  LineageFinder(const DataFlow& flow, const ByteFlows& bytes) : flow_(flow), bytes_(bytes) {}

  // The outputs (inputs) of that name that overlap one of the ranges; all of that name if no range is given.
  std::vector<uint32_t> FindOutputs(const std::string& name, const RangeSet& ranges) const;
  std::vector<uint32_t> FindInputs(const std::string& name, const RangeSet& ranges) const;

  Lineage OfOutputs(const std::vector<uint32_t>& outputs, Steps steps) const;
  // The state of the page at the end of `at`; kNone: at the end of the run.
  Lineage OfPage(uint64_t page, recorder::SubId at, Steps steps) const;
  // The lineage of everything that a sub-computation had read when it ended.
  Lineage OfSub(recorder::SubId sub, Steps steps) const;
  Lineage FromInputs(const std::vector<uint32_t>& inputs, Steps steps) const;

 private:
  std::vector<uint32_t> FindFlows(const std::vector<ByteFlow>& flows, const std::string& name,
                                  const RangeSet& ranges) const;

  const DataFlow& flow_;
  const ByteFlows& bytes_;
};

}  // namespace wf::lineage
