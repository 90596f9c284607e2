// Reads streams of BranchSource::kQemu.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "recorder/control/thunk.h"
#include "recorder/format/varint_cursor.h"

namespace wf::recorder {

// Reads the pieces of one thread's stream from the first on, and the thunks of its sub-computation `index`.
// Not thread safe.
class OperationReader {
 public:
  OperationReader(uint64_t index, ThunkSink sink) : index_(index), sink_(std::move(sink)) {}

  // Returns how many bytes the complete operations took; pass the rest again with what follows. Malformed
  // bytes are a gap, like missing ones; nothing more is read until the stream restarts.
  size_t Read(std::string_view operations);
  // The next piece is missing.
  void Miss();

  uint64_t gaps() const { return gaps_; }

 private:
  struct Site {
    SiteKind kind;
    uint64_t address;
    uint64_t target;
    uint64_t following;
  };

  bool ReadOperation(VarintCursor& in);
  bool ReadSite(VarintCursor& in);
  bool ReadOpen(VarintCursor& in);
  bool ReadReset(VarintCursor& in);
  bool ReadIndirect(VarintCursor& in);
  bool TakeConditional(uint64_t code);
  const Site* Step(uint64_t distance);
  bool wanted() const { return running_ == index_; }

  uint64_t index_;
  ThunkSink sink_;
  uint64_t gaps_ = 0;
  bool lost_ = false;  // sites are unknown until the next kReset
  std::optional<uint64_t> running_;
  bool begun_ = false;  // thunk 0 was emitted
  std::vector<Site> sites_;
  uint64_t last_site_ = 0;
  uint64_t last_address_ = 0;
};

}  // namespace wf::recorder
