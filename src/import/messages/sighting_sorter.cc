#include "import/messages/sighting_sorter.h"

#include <algorithm>

namespace wf::messages {
namespace {

constexpr size_t kMostRuns = 16;  // looked through for each line that is taken

}  // namespace

void SightingSorter::Push(const SightingLine& line, Nanos raw_time_ns) {
  const Sighting& s = line.sighting;
  input_ = s.place.input;
  if (!any_ || raw_time_ns > latest_) {
    any_ = true;
    latest_ = raw_time_ns;
    safe_ = SaturatingAdd(SaturatingSub(latest_, window_), least_shift_);
  } else if (raw_time_ns < SaturatingSub(latest_, window_)) {
    ++late_;
  }
  Kept kept;
  kept.time_ns = s.time_ns;
  kept.line = s.place.line;
  kept.kind = static_cast<uint64_t>(s.kind);
  kept.by = static_cast<uint64_t>(s.by);
  kept.id = s.id;
  kept.sender = s.sender;
  kept.receiver = s.receiver;
  kept.evidence = kept.texts = 0;
  if ((s.thread | s.conn | s.path) != 0 || s.bytes >= 0) {
    kept.evidence = evidence_.Take();
    evidence_.At(kept.evidence) = {s.thread, s.conn, s.path, s.bytes};
  }
  if (texts_ == Texts::kKeep) {
    kept.texts = kept_texts_.Take();
    LineText& text = kept_texts_.At(kept.texts);
    text.id.assign(line.id);
    text.keys.assign(line.keys);
  }
  ++size_;
  if (!runs_.empty() && runs_[0].back().time_ns <= kept.time_ns) {
    runs_[0].push_back(kept);
    return;
  }
  // The runs' last times fall from run to run: each was opened by a line that went behind none before it.
  const auto run = std::partition_point(runs_.begin(), runs_.end(), [&](const std::deque<Kept>& r) {
    return r.back().time_ns > kept.time_ns;
  });
  if (run != runs_.end()) {
    run->push_back(kept);
    return;
  }
  if (runs_.size() >= kMostRuns) {
    heap_.push_back(kept);
    std::push_heap(heap_.begin(), heap_.end(),
                   [](const Kept& a, const Kept& b) { return Before(b, a); });
    return;
  }
  runs_.emplace_back(1, kept);
  if (runs_.size() == 1 || Before(kept, runs_[first_].front())) first_ = runs_.size() - 1;
}

void SightingSorter::FindFirstRun() {
  first_ = 0;
  for (size_t i = 1; i < runs_.size(); ++i) {
    if (Before(runs_[i].front(), runs_[first_].front())) first_ = i;
  }
}

SightingSorter::Kept SightingSorter::TakeFirst() {
  --size_;
  if (HeapIsFirst()) {
    std::pop_heap(heap_.begin(), heap_.end(),
                  [](const Kept& a, const Kept& b) { return Before(b, a); });
    const Kept kept = heap_.back();
    heap_.pop_back();
    return kept;
  }
  std::deque<Kept>& run = runs_[first_];
  const Kept kept = run.front();
  run.pop_front();
  if (run.empty()) runs_.erase(runs_.begin() + static_cast<ptrdiff_t>(first_));
  if (runs_.size() != 1 || first_ != 0) FindFirstRun();
  return kept;
}

void SightingSorter::Pop(SightingLine& line) {
  const Kept kept = TakeFirst();
  Sighting& s = line.sighting;
  s.time_ns = kept.time_ns;
  s.place = {input_, kept.line};
  s.kind = static_cast<MessageKind>(kept.kind);
  s.by = static_cast<SightedBy>(kept.by);
  s.id = kept.id;
  s.sender = kept.sender;
  s.receiver = kept.receiver;
  s.thread = s.conn = s.path = 0;
  s.bytes = -1;
  if (kept.evidence != 0) {
    const Evidence& e = evidence_.At(kept.evidence);
    s.thread = e.thread;
    s.conn = e.conn;
    s.path = e.path;
    s.bytes = e.bytes;
    evidence_.Free(kept.evidence);
  }
  if (kept.texts != 0) {
    LineText& text = kept_texts_.At(kept.texts);
    line.id.swap(text.id);
    line.keys.swap(text.keys);
    kept_texts_.Free(kept.texts);
  }
}

}  // namespace wf::messages
