// Reads streams of BranchSource::kCoverage: which block was entered at which height of the stack. The stream
// has no calls and returns, but the height shows them: a block of a deeper frame belongs to a called
// function, one of a higher frame to a function that was returned to. The frames are kept over the whole run
// of the thread, because the first block of a sub-computation was often entered in the previous one.
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

// Reads the pieces of one thread's stream from the first on. Not thread safe.
class CoverageReader {
 public:
  // `opened_at`: where the sub-computation begins, if known: after the call that opened it.
  CoverageReader(uint64_t index, uint64_t opened_at, CodeAt code, ThunkSink sink)
      : index_(index), opened_at_(opened_at), paths_(std::move(code)), sink_(std::move(sink)) {}

  // Returns how many bytes the complete operations took; pass the rest again with what follows. Malformed
  // bytes are a gap, like missing ones; nothing more is read until the stream restarts.
  size_t Read(std::string_view operations);
  // The next piece is missing.
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
  bool lost_ = false;  // addresses are unknown until the stream restarts
  uint64_t last_block_ = 0;
  uint64_t last_height_ = 0;
  std::optional<uint64_t> running_;
  bool begun_ = false;
  std::vector<Frame> frames_;
  // What the first blocks of functions call, in each module.
  std::set<CoveragePaths::Callee> trace_calls_;
};

}  // namespace wf::recorder
