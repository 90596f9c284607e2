// Events of the emit plan that wait to be sent to the server, in pieces that fit into a report. The waiting
// events of all queries and threads are bounded, because the memory belongs to someone else's process.
//
// One thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "advice/emitted_events.h"

namespace wherefore::client {

class EmittedPieces {
 public:
  // Some hundred thousand hits: of an interval, unless the server does not answer.
  static constexpr size_t kMostWaiting = 16 << 20;
  static constexpr size_t kPiece = 256 << 10;

  EmittedPieces() = default;
  EmittedPieces(EmittedPieces&& other) noexcept { Swap(other); }
  EmittedPieces& operator=(EmittedPieces&& other) noexcept {
    EmittedPieces gone(std::move(other));
    Swap(gone);
    return *this;
  }
  ~EmittedPieces() { Waiting() -= bytes_; }

  bool empty() const { return pieces_.empty(); }
  const std::vector<std::string>& pieces() const { return pieces_; }
  uint64_t count() const { return count_; }  // events

  // False: there is no room.
  bool Add(const wf::advice::EmittedEvent& event) {
    if (Waiting().load(std::memory_order_relaxed) >= kMostWaiting) return false;
    if (pieces_.empty() || pieces_.back().size() >= kPiece) pieces_.emplace_back();
    const size_t before = pieces_.back().size();
    AppendEvent(event, pieces_.back());
    Charge(pieces_.back().size() - before);
    ++count_;
    return true;
  }
  void Add(const EmittedPieces& other) {
    pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
    Charge(other.bytes_);
    count_ += other.count_;
  }

 private:
  static std::atomic<size_t>& Waiting() {
    static std::atomic<size_t> bytes{
        0};  // never destroyed: used by threads that outlive static destruction
    return bytes;
  }
  void Charge(size_t bytes) {
    bytes_ += bytes;
    Waiting() += bytes;
  }
  void Swap(EmittedPieces& other) noexcept {
    pieces_.swap(other.pieces_);
    std::swap(bytes_, other.bytes_);
    std::swap(count_, other.count_);
  }

  std::vector<std::string> pieces_;
  size_t bytes_ = 0;
  uint64_t count_ = 0;
};

}  // namespace wherefore::client
