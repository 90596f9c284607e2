// KeptResults: a cache of recent results that are costly to compute.
//
// The key of a result names everything it depends on, including the state of the data. So nothing has to be
// invalidated when data changes: the key is a different one then, and unused results are dropped when others
// need their room. A caller that requests a result while it is being computed waits for it. An error is
// returned to all who waited, and is not kept.
//
// Thread safety: all calls, from any thread. A result is shared between callers, so it must allow many
// readers at once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/result.h"

namespace wf {

struct KeptLimits {
  size_t results = 0;
  size_t bytes = 0;
};

struct KeptCounts {
  size_t results = 0, bytes = 0;  // now
  uint64_t made = 0, reused = 0;
};

template <typename T>
class KeptResults {
 public:
  enum class Keep : uint8_t { kYes, kNo };
  struct Made {
    std::shared_ptr<const T> result;
    size_t bytes = 0;
    Keep keep = Keep::kYes;  // kNo: the key may not describe it
  };
  using Make = std::function<Result<Made>()>;

  explicit KeptResults(KeptLimits limits) : limits_(limits) {}

  Result<std::shared_ptr<const T>> Get(const std::string& key, const Make& make) {
    std::shared_ptr<UnderWay> own;
    {
      std::unique_lock lock(mutex_);
      while (own == nullptr) {
        const auto found = by_key_.find(key);
        if (found != by_key_.end()) {
          kept_.splice(kept_.begin(), kept_, found->second);
          ++reused_;
          return found->second->result;
        }
        std::shared_ptr<UnderWay>& there = under_way_[key];
        if (there == nullptr) {
          own = there = std::make_shared<UnderWay>();
          continue;
        }
        const std::shared_ptr<UnderWay> other = there;
        over_.wait(lock, [&] { return other->over; });
        if (!other->outcome) continue;  // it threw: the next caller tries
        ++reused_;
        return *other->outcome;
      }
    }
    const Ending ending{*this, key, *own};
    Result<Made> made = make();
    const std::lock_guard lock(mutex_);
    ++made_;
    if (!made.ok()) return *(own->outcome = made.error());
    if (made->keep == Keep::kYes) Put(key, made->result, made->bytes + key.size());
    return *(own->outcome = std::move(made->result));
  }

  KeptCounts counts() const {
    const std::lock_guard lock(mutex_);
    return {kept_.size(), bytes_, made_, reused_};
  }

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<const T> result;
    size_t bytes;
  };
  struct UnderWay {
    bool over = false;
    std::optional<Result<std::shared_ptr<const T>>> outcome;
  };
  // What is under way is over, however it ended.
  struct Ending {
    KeptResults& all;
    const std::string& key;
    UnderWay& own;
    ~Ending() {
      const std::lock_guard lock(all.mutex_);
      own.over = true;
      all.under_way_.erase(key);
      all.over_.notify_all();
    }
  };

  void Put(const std::string& key, std::shared_ptr<const T> result, size_t bytes) {
    if (bytes > limits_.bytes || limits_.results == 0) return;
    while (kept_.size() >= limits_.results || bytes_ + bytes > limits_.bytes) {
      bytes_ -= kept_.back().bytes;
      by_key_.erase(kept_.back().key);
      kept_.pop_back();
    }
    kept_.push_front({key, std::move(result), bytes});
    by_key_[key] = kept_.begin();
    bytes_ += bytes;
  }

  const KeptLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable over_;  // of any under way
  std::list<Kept> kept_;          // most recently used first
  std::unordered_map<std::string, typename std::list<Kept>::iterator> by_key_;
  std::unordered_map<std::string, std::shared_ptr<UnderWay>> under_way_;
  size_t bytes_ = 0;
  uint64_t made_ = 0, reused_ = 0;
};

}  // namespace wf
