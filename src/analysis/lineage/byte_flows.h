// The bytes that came into the program and went out of it, and those that the program wrote to a pipe, a
// socket pair or a file and read again.
//
// A mapped file has no call that reads it. Its bytes are an input of every sub-computation that touched its pages after
// it was mapped, and, where the mapping is shared and writable, an output of each that wrote them.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/lineage/page_index.h"
#include "analysis/lineage/range_set.h"
#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"

namespace wf::lineage {

struct ByteFlow {
  recorder::SubId sub = 0;
  uint32_t transfer = 0;  // index in the recording
  ByteRange range;
  // Within the sub-computation: an input may reach an output that comes later. Inputs from mapped pages come
  // first, outputs to mapped pages last.
  uint32_t order = 0;
  bool by_pages = false;
};

struct ReadBack {
  uint32_t input = 0, output = 0;  // indexes in inputs, outputs
  ByteRange range;
};

class ByteFlows {
 public:
  static ByteFlows Find(const recorder::Recording& recording, const recorder::Clocks& clocks,
                        const PageIndex& pages);

  // By sub-computation, then order. Denied outputs are left out.
  const std::vector<ByteFlow>& inputs() const { return inputs_; }
  const std::vector<ByteFlow>& outputs() const { return outputs_; }
  // The flows of one sub-computation, as indexes.
  recorder::Slice InputsOf(recorder::SubId sub) const { return Of(inputs_, sub); }
  recorder::Slice OutputsOf(recorder::SubId sub) const { return Of(outputs_, sub); }
  // By input. Bytes of an input that no read-back covers came from outside.
  const std::vector<ReadBack>& read_backs() const { return read_backs_; }

 private:
  static recorder::Slice Of(const std::vector<ByteFlow>& flows, recorder::SubId sub);

  std::vector<ByteFlow> inputs_, outputs_;
  std::vector<ReadBack> read_backs_;
};

}  // namespace wf::lineage
