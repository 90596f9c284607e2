#include "bus/memory/memory_bus.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

namespace wf::bus::memory {
namespace {

// A log of texts with offsets, cut at its beginning.
struct Log {
  std::deque<std::string> texts;
  int64_t first = 0;
  int64_t end() const { return first + static_cast<int64_t>(texts.size()); }
  const std::string& At(int64_t offset) const { return texts[static_cast<size_t>(offset - first)]; }
};

class MemoryReader;

struct Group {
  std::vector<MemoryReader*> members;
  int64_t generation = 0;                 // one more whenever somebody joins or leaves
  std::vector<int64_t> committed, notes;  // by partition: the next offset
};

}  // namespace

struct MemoryBus::State {
  explicit State(MemoryBusOptions o)
      : options(std::move(o)),
        logs(static_cast<size_t>(options.partitions)),
        note_logs(static_cast<size_t>(options.partitions)) {}

  Group& GroupOf(const std::string& name) {
    Group& group = groups[name];
    group.committed.resize(logs.size(), 0);
    group.notes.resize(logs.size(), 0);
    return group;
  }
  void Append(int32_t partition, std::string bytes) {
    held_bytes += bytes.size();
    logs[static_cast<size_t>(partition)].texts.push_back(std::move(bytes));
    changed.notify_all();
  }
  // What every group has committed goes.
  void Cut(size_t partition) {
    int64_t until = logs[partition].end();
    for (const auto& [name, group] : groups) until = std::min(until, group.committed[partition]);
    for (Log& log = logs[partition]; log.first < until; ++log.first) {
      held_bytes -= log.texts.front().size();
      log.texts.pop_front();
    }
  }

  const MemoryBusOptions options;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<Log> logs, note_logs;
  std::map<std::string, Group> groups;
  size_t held_bytes = 0;
  MemoryBus::Reach reach = MemoryBus::Reach::kThere;
  std::vector<std::string> poisoned;
  BusStatus counts;
};

namespace {

using State = MemoryBus::State;

class MemoryPublisher : public BusPublisher {
 public:
  explicit MemoryPublisher(std::shared_ptr<State> state) : state_(std::move(state)) {}

  void Publish(EventBatch batch, Done done) override { done(Keep(std::move(batch))); }
  Status Drain(Nanos) override { return {}; }

 private:
  Status Keep(EventBatch batch) {
    if (batch.received_ns == 0) batch.received_ns = Now();
    auto pieces = CutBatch(std::move(batch), state_->options.partitions, state_->options.limits);
    if (!pieces.ok()) return pieces.error();
    size_t bytes = 0;
    for (const CutPiece& piece : *pieces) bytes += piece.bytes.size();
    const std::lock_guard lock(state_->mutex);
    if (state_->reach == MemoryBus::Reach::kAway) {
      ++state_->counts.failed;
      return Overloaded("the bus is unavailable", "send again later");
    }
    if (state_->held_bytes > 0 && state_->held_bytes + bytes > state_->options.bytes) {
      ++state_->counts.refused;
      return Overloaded("the bus is full", "send again later");
    }
    for (CutPiece& piece : *pieces) state_->Append(piece.partition, std::move(piece.bytes));
    return {};
  }

  const std::shared_ptr<State> state_;
};

class MemoryReader : public BusReader {
 public:
  MemoryReader(std::shared_ptr<State> state, std::string group, BusHandover handover)
      : state_(std::move(state)), group_name_(std::move(group)), handover_(std::move(handover)) {
    const std::lock_guard lock(state_->mutex);
    Enter();
  }
  ~MemoryReader() override {
    GiveUp();
    const std::lock_guard lock(state_->mutex);
    Leave();
  }

  Result<std::vector<BusPiece>> Read(Nanos patience) override {
    const Nanos deadline = MonotonicNow() + patience;
    for (;;) {
      if (!FollowGroup()) continue;
      std::unique_lock lock(state_->mutex);
      const bool there = state_->reach == MemoryBus::Reach::kThere;
      if (there && (seen_ != group().generation || !member_)) continue;
      std::vector<BusPiece> pieces = TakePieces();
      if (!pieces.empty() || MonotonicNow() >= deadline) return pieces;
      state_->changed.wait_for(lock, std::chrono::nanoseconds(deadline - MonotonicNow()));
    }
  }

  Status Commit(const std::vector<BusPosition>& done) override {
    const std::lock_guard lock(state_->mutex);
    if (state_->reach == MemoryBus::Reach::kAway)
      return EnvironmentError("the bus is unavailable", "commit again later");
    if (!member_) return {};
    for (const BusPosition& at : done) {
      if (positions_.count(at.partition) == 0) continue;
      const auto p = static_cast<size_t>(at.partition);
      group().committed[p] = std::max(group().committed[p], at.offset + 1);
      state_->Cut(p);
    }
    return {};
  }

  void SetFlow(Flow flow) override {
    const std::lock_guard lock(state_->mutex);
    flow_ = flow;
  }

  Status SetAside(const BusPiece& piece, const std::string&) override {
    const std::lock_guard lock(state_->mutex);
    state_->poisoned.push_back(EncodePiece(*piece.events));
    ++state_->counts.set_aside;
    return {};
  }

  // With the state's mutex.
  void Enter() {
    group().members.push_back(this);
    ++group().generation;
    member_ = true;
    seen_ = -1;
    state_->changed.notify_all();
  }
  void Leave() {
    auto& members = group().members;
    const auto at = std::find(members.begin(), members.end(), this);
    if (at == members.end()) return;
    members.erase(at);
    ++group().generation;
    member_ = false;
    state_->changed.notify_all();
  }
  int64_t Lag() {
    int64_t lag = 0;
    for (const auto& [p, position] : positions_)
      lag += state_->logs[static_cast<size_t>(p)].end() - group().committed[static_cast<size_t>(p)];
    return lag;
  }
  size_t held() const { return positions_.size(); }

 private:
  Group& group() { return state_->GroupOf(group_name_); }

  // Gives up and takes up partitions as the group asks; false when it must be looked at again.
  bool FollowGroup() {
    std::unique_lock lock(state_->mutex);
    if (state_->reach == MemoryBus::Reach::kAway) return true;
    if (!member_ || (seen_ != group().generation && gained_)) {
      lock.unlock();
      GiveUp();
      lock.lock();
      if (!member_) Enter();
      return false;
    }
    seen_ = group().generation;
    const auto& members = group().members;
    const bool all = std::all_of(members.begin(), members.end(),
                                 [&](const MemoryReader* m) { return m->seen_ == seen_; });
    if (!all || gained_) return true;
    // Dealt in turn, from the first who joined on.
    const auto me = std::find(members.begin(), members.end(), this) - members.begin();
    std::vector<int32_t> gained;
    for (int32_t p = 0; p < state_->options.partitions; ++p) {
      if (p % static_cast<int32_t>(members.size()) != me) continue;
      const auto at = static_cast<size_t>(p);
      gained.push_back(p);
      positions_[p] = {std::max(group().committed[at], state_->logs[at].first),
                       state_->logs[at].end()};
    }
    gained_ = true;
    ++state_->counts.handovers;
    state_->changed.notify_all();
    lock.unlock();
    if (handover_.gained) handover_.gained(gained);
    return true;
  }

  void GiveUp() {
    std::vector<int32_t> lost;
    {
      const std::lock_guard lock(state_->mutex);
      if (!gained_) return;
      for (const auto& [p, position] : positions_) lost.push_back(p);
      ++state_->counts.handovers;
    }
    if (handover_.lost) handover_.lost(lost);
    const std::lock_guard lock(state_->mutex);
    positions_.clear();
    gained_ = false;
    state_->changed.notify_all();
  }

  std::vector<BusPiece> TakePieces() {
    std::vector<BusPiece> out;
    if (flow_ == Flow::kPaused || state_->reach == MemoryBus::Reach::kAway) return out;
    for (auto& [p, position] : positions_) {
      const Log& log = state_->logs[static_cast<size_t>(p)];
      for (; position.next < log.end() && out.size() < state_->options.read_pieces;
           ++position.next) {
        BusPiece piece;
        piece.at = {p, position.next};
        piece.before = position.next < position.published_before ? BusPiece::Before::kMaybeRead
                                                                 : BusPiece::Before::kNotRead;
        auto decoded = DecodePiece(log.At(position.next));
        if (!decoded.ok()) {
          ++state_->counts.poisoned;
          state_->poisoned.push_back(log.At(position.next));
        }
        piece.events =
            std::make_shared<const EventBatch>(decoded.ok() ? std::move(*decoded) : EventBatch());
        out.push_back(std::move(piece));
      }
    }
    return out;
  }

  struct Position {
    int64_t next = 0, published_before = 0;
  };

  const std::shared_ptr<State> state_;
  const std::string group_name_;
  const BusHandover handover_;
  bool member_ = false;  // from here on with the state's mutex
  bool gained_ = false;
  int64_t seen_ = -1;  // the generation for which everything was given up
  Flow flow_ = Flow::kOpen;
  std::map<int32_t, Position> positions_;
};

class MemoryNotes : public BusNotes {
 public:
  MemoryNotes(std::shared_ptr<State> state, std::string group)
      : state_(std::move(state)), group_(std::move(group)) {}

  int32_t partitions() const override { return state_->options.partitions; }
  Status Put(const std::vector<BusNote>& notes, Nanos) override {
    const std::lock_guard lock(state_->mutex);
    if (state_->reach == MemoryBus::Reach::kAway)
      return EnvironmentError("the bus is unavailable", "put them again later");
    for (const BusNote& note : notes)
      state_->note_logs[static_cast<size_t>(note.at.partition)].texts.push_back(note.text);
    return {};
  }
  Status Hold(const std::vector<int32_t>& partitions) override {
    const std::lock_guard lock(state_->mutex);
    next_.clear();
    for (const int32_t p : partitions)
      next_[p] = state_->GroupOf(group_).notes[static_cast<size_t>(p)];
    return {};
  }
  Result<std::vector<BusNote>> Read(size_t limit) override {
    const std::lock_guard lock(state_->mutex);
    std::vector<BusNote> out;
    if (state_->reach == MemoryBus::Reach::kAway) return out;
    for (auto& [p, next] : next_) {
      const Log& log = state_->note_logs[static_cast<size_t>(p)];
      for (; next < log.end() && out.size() < limit; ++next)
        out.push_back({{p, next}, log.At(next)});
    }
    return out;
  }
  Status Commit(const std::vector<BusPosition>& done) override {
    const std::lock_guard lock(state_->mutex);
    if (state_->reach == MemoryBus::Reach::kAway)
      return EnvironmentError("the bus is unavailable", "commit again later");
    for (const BusPosition& at : done) {
      int64_t& committed = state_->GroupOf(group_).notes[static_cast<size_t>(at.partition)];
      if (next_.count(at.partition) != 0) committed = std::max(committed, at.offset + 1);
    }
    return {};
  }
  int64_t waiting() const override {
    const std::lock_guard lock(state_->mutex);
    int64_t waiting = 0;
    for (const auto& [p, next] : next_)
      waiting += state_->note_logs[static_cast<size_t>(p)].end() -
                 state_->GroupOf(group_).notes[static_cast<size_t>(p)];
    return waiting;
  }

 private:
  const std::shared_ptr<State> state_;
  const std::string group_;
  std::map<int32_t, int64_t> next_;
};

}  // namespace

MemoryBus::MemoryBus(MemoryBusOptions options)
    : state_(std::make_shared<State>(std::move(options))) {}
MemoryBus::~MemoryBus() = default;

Result<std::unique_ptr<BusPublisher>> MemoryBus::Publisher() {
  return std::unique_ptr<BusPublisher>(std::make_unique<MemoryPublisher>(state_));
}
Result<std::unique_ptr<BusReader>> MemoryBus::Join(const std::string& group, BusHandover handover) {
  return std::unique_ptr<BusReader>(
      std::make_unique<MemoryReader>(state_, group, std::move(handover)));
}
Result<std::unique_ptr<BusNotes>> MemoryBus::Notes(const std::string& group) {
  return std::unique_ptr<BusNotes>(std::make_unique<MemoryNotes>(state_, group));
}

Status MemoryBus::Check() {
  const std::lock_guard lock(state_->mutex);
  if (state_->reach == Reach::kAway)
    return EnvironmentError("the bus is unavailable", "bring it back");
  return {};
}

BusStatus MemoryBus::ReadStatus() const {
  const std::lock_guard lock(state_->mutex);
  BusStatus status = state_->counts;
  for (auto& [name, group] : state_->groups) {
    for (MemoryReader* member : group.members) {
      status.lag += member->Lag();
      status.partitions += static_cast<int64_t>(member->held());
    }
  }
  return status;
}

void MemoryBus::SetReach(Reach reach) {
  const std::lock_guard lock(state_->mutex);
  state_->reach = reach;
  state_->changed.notify_all();
}

void MemoryBus::PutRaw(int32_t partition, std::string bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->Append(partition, std::move(bytes));
}

void MemoryBus::Expel(const BusReader& member) {
  const std::lock_guard lock(state_->mutex);
  for (auto& [name, group] : state_->groups) {
    const auto at = std::find(group.members.begin(), group.members.end(), &member);
    if (at != group.members.end()) return (*at)->Leave();
  }
}

std::vector<std::string> MemoryBus::Poisoned() const {
  const std::lock_guard lock(state_->mutex);
  return state_->poisoned;
}

int64_t MemoryBus::Committed(const std::string& group, int32_t partition) const {
  const std::lock_guard lock(state_->mutex);
  return state_->GroupOf(group).committed[static_cast<size_t>(partition)];
}

}  // namespace wf::bus::memory
