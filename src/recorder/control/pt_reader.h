// Reads streams of BranchSource::kPt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "recorder/control/thunk.h"
#include "recorder/format/varint_cursor.h"

namespace wf::recorder {

// Reads the pieces of one thread's stream; those of sub-computation `index` are kept and decoded at the end.
// Not thread safe.
class PtReader {
 public:
  PtReader(uint64_t index, CodeAt code, ThunkSink sink)
      : index_(index), code_(std::move(code)), sink_(std::move(sink)) {}

  // Returns how many bytes the complete operations took; pass the rest again with what follows. Malformed
  // bytes are a gap, like missing ones; nothing more is read until the stream names the running
  // sub-computation.
  size_t Read(std::string_view operations);
  void Miss();
  // Everything was read.
  void Finish();

  uint64_t gaps() const { return gaps_; }

 private:
  bool ReadOperation(VarintCursor& in);
  bool wanted() const { return running_ == index_; }

  uint64_t index_;
  CodeAt code_;
  ThunkSink sink_;
  uint64_t gaps_ = 0;
  std::optional<uint64_t> running_;
  std::optional<PtFacts> facts_;
  std::string bytes_;
};

}  // namespace wf::recorder
