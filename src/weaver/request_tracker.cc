#include "weaver/request_tracker.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace wf::weaver {
namespace {

// Messages that are never read, hand-offs that are never taken, and closed connections: the oldest are
// dropped.
constexpr size_t kMostMarks = 4096, kMostGiven = 1 << 16, kMostStreams = 1 << 16;
// Instances that only one thread still has are merged when there are this many: a client that runs for hours
// makes one with every message.
constexpr size_t kManyInstances = 32;
// Of one request: a client that goes on for ever would take all memory.
constexpr size_t kMostTuples = 1 << 17;
// Up to here bytes are counted exactly at every event, beyond only when there are an eighth more tuples: encoding all of
// them each time would take for ever.
constexpr size_t kFewTuples = 256;

}  // namespace

uint64_t RequestTracker::RequestOf(uint64_t thread) const {
  const auto known = threads_.find(thread);
  return known == threads_.end() ? 0 : known->second.request;
}

uint64_t RequestTracker::StartRequest(uint64_t thread) {
  Thread& state = threads_[thread];
  if (state.request == 0) state.request = ++requests_;
  return state.request;
}

advice::PackedTuples RequestTracker::ThreadBaggage::Unpack(const advice::Program& program,
                                                           uint32_t slot) {
  const advice::Slot& shape = program.slots[slot];
  advice::PackedTuples merged(shape);
  const auto known = tracker_.threads_.find(thread_);
  if (known == tracker_.threads_.end()) return merged;
  const auto add = [&](const Instance& instance) {
    const auto tuples = instance.slots.find(slot);
    if (tuples != instance.slots.end()) merged.Merge(shape, tuples->second);
  };
  for (const auto& instance : known->second.past) add(*instance);
  if (known->second.active != nullptr) add(*known->second.active);
  return merged;
}

void RequestTracker::ThreadBaggage::Pack(const advice::Program& program, uint32_t slot,
                                         int64_t time, std::string_view id, advice::Rows rows) {
  const advice::Slot& shape = program.slots[slot];
  tracker_.StartRequest(thread_);
  Thread& thread = tracker_.threads_[thread_];
  std::optional<int64_t> adjusted;
  if (shape.keep != advice::Keep::kAll) {
    adjusted = Unpack(program, slot).AdjustedTime(shape, time);
    if (!adjusted) return;
  }
  if (thread.active == nullptr) thread.active = std::make_shared<Instance>();
  Instance& active = *thread.active;
  if (active.tuples >= kMostTuples) {
    ++tracker_.counters_.refused;
    return;
  }
  advice::PackedTuples& tuples =
      active.slots.try_emplace(slot, advice::PackedTuples(shape)).first->second;
  const size_t before = tuples.tuple_count();
  active.tuples -= before;
  if (adjusted) {
    tuples.AddEventAt(shape, *adjusted, id, rows);
  } else {
    tuples.Add(shape, rows);
  }
  active.tuples += tuples.tuple_count();
  if (active.tuples <= kFewTuples || active.tuples >= active.counted + active.counted / 8) {
    active.counted = active.tuples;
    active.bytes = 0;
    for (const auto& [each, packed] : active.slots) {
      std::string bytes;
      packed.Encode(program.slots[each], bytes);
      active.bytes += bytes.size();
    }
  }
  tracker_.CountPacked(thread);
}

void RequestTracker::CountPacked(Thread& thread) {
  size_t tuples = thread.active->tuples, bytes = thread.active->bytes;
  for (const auto& instance : thread.past) {
    tuples += instance->tuples;
    bytes += instance->bytes;
  }
  counters_.packed_tuples_max = std::max<uint64_t>(counters_.packed_tuples_max, tuples);
  counters_.baggage_bytes_max = std::max<uint64_t>(counters_.baggage_bytes_max, bytes);
  if (thread.marked || (tuples <= limits_.tuples && bytes <= limits_.bytes)) return;
  thread.marked = true;
  ++counters_.marked;
}

RequestTracker::Counters RequestTracker::TakeCounters() { return std::exchange(counters_, {}); }

RequestTracker::Branch RequestTracker::Split(Thread& thread) {
  if (thread.active != nullptr) thread.past.push_back(std::move(thread.active));
  thread.active = nullptr;
  return {thread.request, thread.past, thread.marked};
}

void RequestTracker::Join(Past& past, const Past& other) {
  for (const auto& instance : other)
    if (std::find(past.begin(), past.end(), instance) == past.end()) past.push_back(instance);
}

void RequestTracker::Leave(Thread& thread) {
  thread.request = 0;
  thread.past.clear();
  thread.active = nullptr;
  thread.answered = false;
  thread.marked = false;
}

void RequestTracker::GoOnWith(Thread& thread, const Branch& branch, uint64_t origin,
                              uint16_t port) {
  if (thread.request != branch.request) {
    Leave(thread);
    thread.request = branch.request;
    thread.origin = origin;
    thread.origin_port = port;
  }
  Join(thread.past, branch.past);
  thread.marked = thread.marked || branch.marked;
  if (thread.past.size() < kManyInstances) return;
  // An instance that no other branch has cannot come back from one, so it may be merged.
  auto one = std::make_shared<Instance>();
  Past kept;
  for (auto& instance : thread.past) {
    if (instance.use_count() > 1) {
      kept.push_back(std::move(instance));
      continue;
    }
    for (const auto& [slot, tuples] : instance->slots) {
      const advice::Slot& shape = program_.slots[slot];
      one->slots.try_emplace(slot, advice::PackedTuples(shape)).first->second.Merge(shape, tuples);
    }
  }
  for (const auto& [slot, tuples] : one->slots) {
    std::string bytes;
    tuples.Encode(program_.slots[slot], bytes);
    one->tuples += tuples.tuple_count();
    one->bytes += bytes.size();
  }
  if (!one->slots.empty()) kept.push_back(std::move(one));
  thread.past = std::move(kept);
}

void RequestTracker::Take(const MessageRecord& record) {
  switch (static_cast<RecordKind>(record.header.kind)) {
    case RecordKind::kSendBegins:
      return SendBegins(record);
    case RecordKind::kSendEnds:
      return SendEnds(record);
    case RecordKind::kReceives:
      return Receives(record);
    case RecordKind::kReceivesUnmarked:
      return ReceivesUnmarked(record);
    case RecordKind::kThreadEnds:
      threads_.erase(record.header.thread);
      return;
    default:
      return;
  }
}

uint64_t RequestTracker::Position(const MessageRecord& record, Stream& stream) const {
  uint64_t position = record.position;
  if (record.stream.kind == static_cast<uint32_t>(StreamKind::kTcp)) {
    // Of all numbers with these 32 bits, the one nearest to where we are.
    const auto low = static_cast<uint32_t>(position);
    const auto step = static_cast<int32_t>(low - static_cast<uint32_t>(stream.latest));
    if (stream.latest == 0)
      stream.latest = (uint64_t{1} << 32) + low;
    else
      stream.latest += static_cast<uint64_t>(static_cast<int64_t>(step));
    position = stream.latest;
  } else {
    stream.latest = position;
  }
  return position;
}

void RequestTracker::SendBegins(const MessageRecord& record) {
  const auto known = threads_.find(record.header.thread);
  if (known == threads_.end()) return;
  Thread& thread = known->second;
  if (record.own == thread.origin) thread.answered = true;
  if (streams_.size() >= kMostStreams) streams_.erase(streams_.begin());
  Stream& stream = streams_[record.stream];
  const uint64_t position = Position(record, stream);
  if (thread.request == 0) return;
  Mark mark;
  mark.begin = position;
  mark.sender = record.header.thread;
  mark.branch = Split(thread);
  stream.marks.push_back(std::move(mark));
  if (stream.marks.size() > kMostMarks) stream.marks.pop_front();
}

void RequestTracker::SendEnds(const MessageRecord& record) {
  const auto known = streams_.find(record.stream);
  if (known == streams_.end()) return;
  auto& marks = known->second.marks;
  const auto mark = std::find_if(marks.rbegin(), marks.rend(), [&](const Mark& m) {
    return m.sender == record.header.thread && !m.end;
  });
  if (mark == marks.rend()) return;  // received already, or never marked
  mark->end = mark->begin + record.bytes;
  if (record.bytes == 0) marks.erase(std::next(mark).base());
}

void RequestTracker::Receives(const MessageRecord& record) {
  Stream& stream = streams_[record.stream];
  const uint64_t begin = Position(record, stream), end = begin + record.bytes;
  stream.latest = end;
  uint64_t request = 0;
  bool several = false, marked = false;
  Past past;
  while (!stream.marks.empty()) {
    const Mark& mark = stream.marks.front();
    if (mark.begin >= end) break;
    if (!mark.end || *mark.end > begin) {
      several = several || (request != 0 && request != mark.branch.request);
      request = mark.branch.request;
      marked = marked || mark.branch.marked;
      Join(past, mark.branch.past);
    }
    // The rest of it may come later.
    if (!mark.end || *mark.end > end) break;
    stream.marks.pop_front();
  }
  Thread& thread = threads_[record.header.thread];
  if (several) {
    ++counters_.ambiguous;
    Leave(thread);
  } else if (request != 0) {
    GoOnWith(thread, {request, std::move(past), marked}, record.own, record.stream.target_port);
  } else {
    Unmarked(thread, record);
  }
}

void RequestTracker::ReceivesUnmarked(const MessageRecord& record) {
  Unmarked(threads_[record.header.thread], record);
}

void RequestTracker::Unmarked(Thread& thread, const MessageRecord& record) {
  const uint16_t port = record.stream.target_port;
  const bool next_one = record.own == thread.origin
                            ? thread.answered
                            : port != 0 && port == thread.origin_port && thread.origin != 0;
  if (thread.request != 0 && !next_one) return;
  Leave(thread);
  thread.origin = record.own;
  thread.origin_port = port;
}

void RequestTracker::Give(uint64_t thread, const std::string& key) {
  const auto known = threads_.find(thread);
  if (known == threads_.end() || known->second.request == 0) {
    given_.erase(key);
    return;
  }
  if (given_.size() >= kMostGiven) given_.erase(given_.begin());
  given_[key] = Split(known->second);
}

void RequestTracker::TakeOver(uint64_t thread, const std::string& key) {
  const auto given = given_.find(key);
  Thread& taker = threads_[thread];
  if (given == given_.end()) {
    Leave(taker);  // what it takes belongs to no request: its last request is over
    return;
  }
  GoOnWith(taker, given->second, 0, 0);
  given_.erase(given);
}

}  // namespace wf::weaver
