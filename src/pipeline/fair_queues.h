// FairQueues: the isolation queues (Canopy §4.2): one short queue per owner, emptied by deficit round robin
// over the CPU time that the work took, so that an owner with expensive datasets, or too many traces, only
// delays itself.
//
// The cost of an item is known only afterwards. So an owner is served while its account is above zero, the
// CPU time used is subtracted, and each round adds one quantum. Over time, owners that always have work get
// equal CPU time, whatever their items cost. An account whose queue is empty holds no credit; its debt is
// repaid round by round.
//
// With a rate, an owner's items leave at most that fast, with a burst of up to one second's worth after a
// pause; an owner that sends more finds its queue full.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"

namespace wf::pipeline {

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
  // A round is short enough that people do not notice it, and long compared with an extraction (about 0.1
  // ms).
  static constexpr Nanos kQuantum = 2 * kMilli;

  struct Rate {
    double per_second = 0;  // of each owner; 0: no limit
    std::function<Nanos()> clock = MonotonicNow;
  };

  explicit FairQueues(size_t limit) : FairQueues(limit, Rate()) {}
  FairQueues(size_t limit, Rate rate)
      : limit_(limit),
        interval_(rate.per_second > 0 ? static_cast<Nanos>(1e9 / rate.per_second) : 0),
        clock_(std::move(rate.clock)) {}

  // False when the owner's queue is full; the item is unchanged.
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
  // Waits for an item; empty after Stop, or when `patience` is over.
  std::optional<Taken> Take(Nanos patience) {
    std::unique_lock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience);
    for (;;) {
      if (stopped_) return std::nullopt;
      if (auto taken = TakeLocked()) return taken;
      const auto now = std::chrono::steady_clock::now();
      if (now >= end) return std::nullopt;
      work_.wait_until(lock, std::min(end, now + std::chrono::nanoseconds(UntilAllowed())));
    }
  }

  void Charge(const std::string& owner, Nanos cpu) {
    const std::lock_guard lock(mutex_);
    Queue& queue = QueueOf(owner);
    queue.account -= cpu;
    queue.load.cpu_ns += cpu;
  }

  // Used when there is only one owner: waiting for room delays no other.
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
    Nanos due = INT64_MIN;  // when the next item leaves at exactly the rate
    OwnerLoad load;
  };

  // After a pause an owner may send at most one second's items at once.
  Nanos AllowedAt(const Queue& queue) const {
    return queue.due == INT64_MIN ? INT64_MIN : queue.due - std::max<Nanos>(0, kSecond - interval_);
  }
  bool HasWork(const Queue& queue, Nanos now) const {
    return !queue.items.empty() && (interval_ == 0 || AllowedAt(queue) <= now);
  }
  // How long until the rate allows the next item.
  Nanos UntilAllowed() const {
    if (interval_ == 0 || queued_ == 0) return kHour;
    const Nanos now = clock_();
    Nanos least = kHour;
    for (const auto& [owner, queue] : round_)
      if (!queue->items.empty()) least = std::min(least, AllowedAt(*queue) - now);
    return std::max<Nanos>(least, kMilli);
  }

  Queue& QueueOf(const std::string& owner) {
    const auto at = queues_.find(owner);
    if (at != queues_.end()) return *at->second;
    Queue& queue = *queues_.emplace(owner, std::make_unique<Queue>()).first->second;
    round_.push_back({owner, &queue});
    return queue;
  }

  std::optional<Taken> TakeLocked() {
    if (queued_ == 0) return std::nullopt;
    const Nanos now = interval_ == 0 ? 0 : clock_();
    if (!SkipIdleRounds(now)) return std::nullopt;
    for (;;) {
      auto& [owner, queue] = round_[turn_];
      if (HasWork(*queue, now) && queue->account > 0) {
        Taken taken{owner, std::move(queue->items.front())};
        queue->items.pop_front();
        --queued_;
        queue->due = std::max(queue->due, now) + interval_;
        room_.notify_all();
        return taken;
      }
      turn_ = (turn_ + 1) % round_.size();
      AddQuanta(*round_[turn_].second, 1, now);
    }
  }

  // An owner without work, or held back by the rate, repays its debt like the others and saves no credit.
  void AddQuanta(Queue& queue, Nanos rounds, Nanos now) const {
    queue.account += rounds * kQuantum;
    if (!HasWork(queue, now)) queue.account = std::min<Nanos>(queue.account, 0);
  }

  // When every owner with work is deep in debt, skips the rounds that would only add quanta. False when no
  // owner has work that it may do now.
  bool SkipIdleRounds(Nanos now) {
    Nanos richest = INT64_MIN;
    for (const auto& [owner, queue] : round_)
      if (HasWork(*queue, now)) richest = std::max(richest, queue->account);
    if (richest == INT64_MIN) return false;
    if (richest > -kQuantum) return true;
    const Nanos rounds = -richest / kQuantum;
    for (const auto& [owner, queue] : round_) AddQuanta(*queue, rounds, now);
    return true;
  }

  const size_t limit_;
  const Nanos interval_;  // between an owner's items; 0: no rate
  const std::function<Nanos()> clock_;
  mutable std::mutex mutex_;
  std::condition_variable work_, room_;
  std::map<std::string, std::unique_ptr<Queue>> queues_;
  std::vector<std::pair<std::string, Queue*>> round_;
  size_t turn_ = 0;
  size_t queued_ = 0;
  bool stopped_ = false;
};

}  // namespace wf::pipeline
