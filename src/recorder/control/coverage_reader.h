// Reads streams of BranchSource::kCoverage, which say which block was entered at which height of the stack.
// Calls and returns are not among them, but the height tells: a block of a deeper frame belongs to a function that was
// called, one of a higher frame to one that was returned to. The frames are kept over the whole run of the thread,
// because the block that a sub-computation leaves first was often entered in the one before.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "recorder/control/coverage_paths.h"
#include "recorder/control/thunk.h"
#include "recorder/format/varint_cursor.h"

namespace wf::recorder {

// The pieces of one thread's stream from its first on. Not thread safe.
class CoverageReader {
 public:
  // `opened_at`: where the sub-computation begins, if known: behind the call that opened it.
  CoverageReader(uint64_t index, uint64_t opened_at, CodeAt code, ThunkSink sink)
      : index_(index), opened_at_(opened_at), paths_(std::move(code)), sink_(std::move(sink)) {}

  // Returns how many bytes whole operations took; the rest is to be given again with what follows. What is malformed is a
  // gap, like what is missing; then nothing is read until the stream begins anew.
  size_t Read(std::string_view operations);
  // The piece that should come next is missing.
  void Miss();

  uint64_t gaps() const { return gaps_; }

 private:
  struct Frame {
    uint64_t block;
    int64_t height;
  };
  bool ReadOperation(VarintCursor& in);
  bool ReadGap(VarintCursor& in);
  bool ReadBlock(VarintCursor& in, uint64_t code);
  void Enter(uint64_t block, int64_t height);
  bool Follow(Frame& frame, uint64_t block);
  bool IsTail(uint64_t block, int64_t height) const;
  void Give(const std::vector<Thunk>& thunks);
  void Open(uint64_t index);
  bool wanted() const { return running_ == index_; }

  uint64_t index_;
  uint64_t opened_at_;
  CoveragePaths paths_;
  ThunkSink sink_;
  uint64_t gaps_ = 0;
  bool lost_ = false;  // addresses are unknown until the stream begins anew
  uint64_t last_block_ = 0;
  uint64_t last_height_ = 0;
  std::optional<uint64_t> running_;
  bool begun_ = false;
  std::vector<Frame> frames_;
  std::set<CoveragePaths::Callee>
      trace_calls_;  // what the first blocks of functions call, in each module
};

}  // namespace wf::recorder
