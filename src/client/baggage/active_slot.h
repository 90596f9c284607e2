// What one query has packed into one of its slots on a line, since the line last sent or branched: in the cheapest form
// that will do.
//
//   log      tuples of numbers and short strings, encoded already
//   event    the same, of the one event that First or MostRecent keeps
//   packed   everything else: aggregates, weights, several events; encoded on demand
//
// A line uses the same slots for one request after another, so they keep their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "advice/packed_tuples.h"
#include "client/baggage/tuple_log.h"

namespace wherefore::client {

class ActiveSlot {
 public:
  uint64_t query = 0;
  uint32_t slot = 0;

 private:
  static constexpr size_t kHeadAtMost = 5;  // of a bag
  enum class Form : uint8_t { kLog, kEvent, kPacked };
  Form form_ = Form::kLog;
  bool encoded_known_ = false;
  TupleLog log_;  // up here, in the same cache line

 public:
  wf::advice::Slot rule;

  // Empty, and of this slot.
  [[gnu::hot]] void Begin(uint64_t of_query, uint32_t number, const wf::advice::Slot& kept);
  [[gnu::hot]] void Clear();

  bool empty() const {
    return form_ == Form::kLog ? log_.empty() : form_ == Form::kPacked && packed_.empty();
  }
  uint32_t tuples() const {
    return form_ == Form::kPacked ? static_cast<uint32_t>(packed_.tuple_count()) : log_.tuples();
  }
  // No less than it takes; its number if that is known.
  [[gnu::hot]] size_t BytesAtMost() const;
  void CountBytes();  // makes it known
  [[gnu::hot]] size_t EncodedSize();
  [[gnu::hot]] void Encode(char* at);  // EncodedSize() bytes
  std::string_view Encoded();          // good until something changes

  // Adds a bag's rows to the log; false, with no effect, if that is not possible.
  bool Log(const wf::advice::Rows& rows) {
    if (form_ != Form::kLog || log_.Add(rows) != TupleLog::Added::kAdded) return false;
    encoded_known_ = false;
    return true;
  }
  [[gnu::hot]] bool Log(const wf::advice::Cell* cells, size_t width, size_t rows);
  // The same of one that is empty.
  [[gnu::hot]] bool Log(const TupleLog& ready);
  // Only a log of a bag knows: bytes it takes with one more tuple of `width` numbers are no more than this.
  bool logs() const { return form_ == Form::kLog && !log_.empty(); }
  size_t LogBytesAtMost(size_t width) const { return log_.bytes() + kHeadAtMost + 9 * width; }
  // Replaces all events by one; false, with no effect, if it has to be packed.
  bool Keep(int64_t adjusted_time, std::string_view id, const wf::advice::Rows& rows);
  [[gnu::hot]] bool Keep(int64_t adjusted_time, std::string_view id, const wf::advice::Cell* tuple,
                         size_t width);
  // As packed tuples, whatever it was. `bytes_at_most` is for the caller to keep true.
  wf::advice::PackedTuples& Packed();
  void SetPacked(wf::advice::PackedTuples packed, size_t bytes_at_most);
  void AddRows(const wf::advice::Rows& rows, size_t bytes_at_most);

  // Sets `into`, which is empty, to what is here; the other merges.
  void CopyTo(wf::advice::PackedTuples& into);
  void MergeInto(wf::advice::PackedTuples& into);

 private:
  int64_t time_ = 0;  // of the event
  std::string id_;
  wf::advice::PackedTuples packed_;
  size_t packed_bytes_at_most_ = 0;
  std::string encoded_;
};

}  // namespace wherefore::client
