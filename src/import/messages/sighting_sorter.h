// SightingSorter: sightings of one file, nearly in order of time → in order of time.
//
// A line may be late by the window: it is then sorted in. One that is later than that comes out as soon as it can, and
// is counted. Equal times come out in the order of their lines.
//
// Lines stand in runs, each ascending (patience sorting): a line goes behind the first run whose last line is not after
// it. What is in order makes one run, lines of k hosts in turn about k, so that a line costs next to nothing where order
// is good; what fits no run of a few goes into a heap, so that it never costs more than O(log n). Within the window a
// line takes 40 bytes, what only some lines have (threads, truth, texts) aside.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "model/sighting.h"

namespace wf::messages {

class SightingSorter {
 public:
  enum class Texts { kKeep, kDrop };

  // `least_shift` (≤ 0) is the least that anybody adds to a time before Push: times are then that much less ordered.
  SightingSorter(Nanos window, Nanos least_shift, Texts texts)
      : window_(window), least_shift_(least_shift), texts_(texts) {}

  // All of one input. `raw_time_ns` is the time as it stands in the file, before it was shifted.
  void Push(const SightingLine& line, Nanos raw_time_ns);
  // Nothing is pushed any more.
  void Finish() { finished_ = true; }

  bool empty() const { return size_ == 0; }
  // Whether the first line may be taken: nothing that is still allowed to come stands before it.
  bool Ready() const { return size_ != 0 && (finished_ || First().time_ns <= safe_); }
  Nanos FirstTime() const { return First().time_ns; }
  void Pop(SightingLine& line);

  uint64_t late() const { return late_; }
  size_t size() const { return size_; }

 private:
  struct Evidence {
    uint64_t thread, conn, path;
    int64_t bytes;
  };
  struct LineText {
    std::string id, keys;
  };
  // Values that only some lines have, by number; 0 is none.
  template <typename T>
  class Slab {
   public:
    uint32_t Take() {
      if (free_.empty()) {
        items_.emplace_back();
        return static_cast<uint32_t>(items_.size());
      }
      const uint32_t n = free_.back();
      free_.pop_back();
      return n;
    }
    T& At(uint32_t n) { return items_[n - 1]; }
    void Free(uint32_t n) { free_.push_back(n); }

   private:
    std::deque<T> items_;
    std::vector<uint32_t> free_;
  };
  struct Kept {
    Nanos time_ns;
    uint64_t line : 56, kind : 4, by : 4;
    uint64_t id;
    NodeId sender, receiver;
    uint32_t evidence, texts;  // 0: none
  };
  static bool Before(const Kept& a, const Kept& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.line < b.line;
  }
  bool HeapIsFirst() const {
    return !heap_.empty() && (runs_.empty() || Before(heap_.front(), runs_[first_].front()));
  }
  const Kept& First() const { return HeapIsFirst() ? heap_.front() : runs_[first_].front(); }
  Kept TakeFirst();
  void FindFirstRun();

  Nanos window_, least_shift_;
  Texts texts_;
  bool finished_ = false;
  std::vector<std::deque<Kept>> runs_;  // none empty
  size_t first_ = 0;                    // the run whose front is first
  std::vector<Kept> heap_;              // what went behind no run when there were enough of them
  size_t size_ = 0;
  uint32_t input_ = 0;
  bool any_ = false;
  Nanos latest_ = 0;  // raw
  Nanos safe_ = INT64_MIN;
  uint64_t late_ = 0;
  Slab<Evidence> evidence_;
  Slab<LineText> kept_texts_;
};

}  // namespace wf::messages
