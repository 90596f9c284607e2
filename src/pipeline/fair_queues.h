// FairQueues: the isolation queues (Canopy §4.2): one short queue per owner, emptied by deficit round robin over the
// CPU time that the work took, so that an owner with expensive datasets, or too many traces, waits for himself alone.
//
// The cost of an item is known only afterwards. So an owner is served while his account is above zero, what he used is
// taken off it, and each round adds one quantum: over time, owners who always have work get equal CPU time, whatever
// their items cost. An account whose queue is empty holds no credit; its debt is repaid round by round.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"

namespace wf {

struct OwnerLoad {
  std::string owner;
  size_t queued = 0;
  int64_t taken = 0;    // items put into the queue
  int64_t refused = 0;  // items that found it full
  Nanos cpu_ns = 0;
};

template <typename Item>
class FairQueues {
 public:
  // Rounds are short beside what people notice and long beside an extraction (about 0.1 ms).
  static constexpr Nanos kQuantum = 2 * kMilli;

  explicit FairQueues(size_t limit) : limit_(limit) {}

  // False when the owner's queue is full: the item is left alone.
  [[nodiscard]] bool TryPush(const std::string& owner, Item& item) {
    {
      const std::lock_guard lock(mutex_);
      Queue& queue = QueueOf(owner);
      if (queue.items.size() >= limit_) {
        ++queue.load.refused;
        return false;
      }
      queue.items.push_back(std::move(item));
      ++queue.load.taken;
      ++queued_;
    }
    work_.notify_one();
    return true;
  }

  struct Taken {
    std::string owner;
    Item item;
  };
  // The next item by deficit round robin; nothing when all are empty.
  std::optional<Taken> TryTake() {
    const std::lock_guard lock(mutex_);
    return TakeLocked();
  }
  // Waits for one; nothing after Stop, or when `patience` is over.
  std::optional<Taken> Take(Nanos patience) {
    std::unique_lock lock(mutex_);
    work_.wait_for(lock, std::chrono::nanoseconds(patience),
                   [&] { return stopped_ || queued_ != 0; });
    if (stopped_) return std::nullopt;
    return TakeLocked();
  }

  void Charge(const std::string& owner, Nanos cpu) {
    const std::lock_guard lock(mutex_);
    Queue& queue = QueueOf(owner);
    queue.account -= cpu;
    queue.load.cpu_ns += cpu;
  }

  // For the only owner there is, waiting for room hurts nobody else.
  void WaitForRoom(const std::string& owner, Nanos patience) {
    std::unique_lock lock(mutex_);
    room_.wait_for(lock, std::chrono::nanoseconds(patience),
                   [&] { return stopped_ || QueueOf(owner).items.size() < limit_; });
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    work_.notify_all();
    room_.notify_all();
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return queued_;
  }
  size_t limit() const { return limit_; }
  std::vector<OwnerLoad> Loads() const {
    const std::lock_guard lock(mutex_);
    std::vector<OwnerLoad> out;
    for (const auto& [owner, queue] : queues_) {
      out.push_back(queue->load);
      out.back().owner = owner;
      out.back().queued = queue->items.size();
    }
    return out;
  }

 private:
  struct Queue {
    std::deque<Item> items;
    Nanos account = 0;
    OwnerLoad load;
  };

  Queue& QueueOf(const std::string& owner) {
    const auto at = queues_.find(owner);
    if (at != queues_.end()) return *at->second;
    Queue& queue = *queues_.emplace(owner, std::make_unique<Queue>()).first->second;
    round_.push_back({owner, &queue});
    return queue;
  }

  std::optional<Taken> TakeLocked() {
    if (queued_ == 0) return std::nullopt;
    SkipIdleRounds();
    for (;;) {
      auto& [owner, queue] = round_[turn_];
      if (!queue->items.empty() && queue->account > 0) {
        Taken taken{owner, std::move(queue->items.front())};
        queue->items.pop_front();
        --queued_;
        room_.notify_all();
        return taken;
      }
      turn_ = (turn_ + 1) % round_.size();
      AddQuanta(*round_[turn_].second, 1);
    }
  }

  // Who has no work repays his debt as others do, and saves nothing.
  static void AddQuanta(Queue& queue, Nanos rounds) {
    queue.account += rounds * kQuantum;
    if (queue.items.empty()) queue.account = std::min<Nanos>(queue.account, 0);
  }

  // When everyone with work is deep in debt, the rounds that would only add quanta are counted instead of walked.
  void SkipIdleRounds() {
    Nanos richest = INT64_MIN;
    for (const auto& [owner, queue] : round_)
      if (!queue->items.empty()) richest = std::max(richest, queue->account);
    if (richest > -kQuantum) return;
    const Nanos rounds = -richest / kQuantum;
    for (const auto& [owner, queue] : round_) AddQuanta(*queue, rounds);
  }

  const size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable work_, room_;
  std::map<std::string, std::unique_ptr<Queue>> queues_;
  std::vector<std::pair<std::string, Queue*>> round_;
  size_t turn_ = 0;
  size_t queued_ = 0;
  bool stopped_ = false;
};

}  // namespace wf
