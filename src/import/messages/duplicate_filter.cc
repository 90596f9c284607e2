#include "import/messages/duplicate_filter.h"

#include <algorithm>

namespace wf::messages {
namespace {

constexpr Nanos kLongestCall = 2 * kHour;  // as in pairing: calls open for longer are dropped

}  // namespace

DuplicateFilter::Record& DuplicateFilter::Find(uint64_t id, NodeId from, NodeId to) {
  if (2 * (used_ + 1) > records_.size()) Rebuild();
  const size_t mask = records_.size() - 1;
  size_t at = MixBits(id ^ MixBits(static_cast<uint64_t>(from) << 32 | to)) & mask;
  while (true) {
    Record& record = records_[at];
    if (!record.used) {
      record = Record{};
      record.id = id;
      record.from = from;
      record.to = to;
      record.used = true;
      ++used_;
      return record;
    }
    if (record.id == id && record.from == from && record.to == to) return record;
    at = (at + 1) & mask;
  }
}

// Keeps young or open records; grows if those are most of them.
void DuplicateFilter::Rebuild() {
  const Nanos young = SaturatingSub(now_, window_), open = SaturatingSub(now_, kLongestCall);
  const auto keep = [&](const Record& r) {
    const auto any = [](const uint32_t(&files)[3]) {
      return (files[0] | files[1] | files[2]) != 0;
    };
    const bool is_open = any(r.file[0]) && !any(r.file[1]);
    return r.used && r.last_ns >= (is_open ? std::min(open, young) : young);
  };
  const auto kept = static_cast<size_t>(std::count_if(records_.begin(), records_.end(), keep));
  size_t size = kFirstRecords;
  while (size < 4 * (kept + 1)) size *= 2;
  std::vector<Record> old(size);
  old.swap(records_);
  used_ = 0;
  for (const Record& record : old) {
    if (!keep(record)) continue;
    const size_t mask = records_.size() - 1;
    size_t at =
        MixBits(record.id ^ MixBits(static_cast<uint64_t>(record.from) << 32 | record.to)) & mask;
    while (records_[at].used) at = (at + 1) & mask;
    records_[at] = record;
    ++used_;
  }
}

bool DuplicateFilter::Judge(Record& record, const Sighting& s, uint32_t file) {
  const auto kind = static_cast<size_t>(s.kind), by = static_cast<size_t>(s.by);
  uint32_t& first = record.file[kind][by];
  const Nanos last = record.last_ns;
  record.last_ns = s.time_ns;
  const uint64_t bit = uint64_t{1} << (file % 64);
  if (s.kind == MessageKind::kCall && first != 0) {
    const uint32_t(&returns)[3] = record.file[static_cast<size_t>(MessageKind::kReturn)];
    const bool returned = (returns[0] | returns[1] | returns[2]) != 0;
    const bool again = s.conn == 0 || s.conn != record.conn || (record.askers & bit) != 0 ||
                       SaturatingSub(s.time_ns, record.asked_ns) > window_;
    if (returned && again) {  // the id is used again
      std::fill(&record.file[0][0], &record.file[0][0] + 9, 0u);
      record.askers = 0;
    }
  }
  if (s.kind == MessageKind::kCall) {
    if (first == 0) {
      record.conn = s.conn;
      record.asked_ns = s.time_ns;
    }
    record.askers |= bit;
  }
  if (s.kind == MessageKind::kMessage &&
      (first == file || SaturatingSub(s.time_ns, last) > window_))
    first = 0;
  if (first == 0) {
    first = file;
    return false;
  }
  return first != file;
}

bool DuplicateFilter::IsDuplicate(const Sighting& s, uint32_t file) {
  now_ = std::max(now_, s.time_ns);
  NodeId from = s.sender, to = s.receiver;
  if (s.kind == MessageKind::kReturn) std::swap(from, to);
  uint64_t id = s.id;
  if (id == 0) {
    id = MixBits(static_cast<uint64_t>(s.time_ns) ^ MixBits(s.thread ^ MixBits(s.conn))) ^
         static_cast<uint64_t>(s.bytes);
  }
  const bool is = Judge(Find(id, from, to), s, file);
  duplicates_ += is ? 1 : 0;
  return is;
}

}  // namespace wf::messages
