// How many bytes of request bodies may be held at once. Servers reserve bytes before they buffer and release
// them when the answer is written. If a reservation is refused, the server answers "try again later" instead
// of buffering. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace wf::net {

class ByteBudget {
 public:
  explicit ByteBudget(size_t limit) : limit_(limit) {}

  bool TryTake(size_t bytes) {
    size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ || used > limit_ - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void Give(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  size_t used() const { return used_.load(std::memory_order_relaxed); }
  size_t limit() const { return limit_; }

 private:
  const size_t limit_;
  std::atomic<size_t> used_{0};
};

// The bytes reserved by one request, released when this is cleared or destroyed. Not thread-safe itself.
class BudgetCharge {
 public:
  BudgetCharge() = default;
  explicit BudgetCharge(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  BudgetCharge(BudgetCharge&& o) noexcept
      : budget_(std::move(o.budget_)), bytes_(std::exchange(o.bytes_, 0)) {}
  BudgetCharge& operator=(BudgetCharge&& o) noexcept {
    if (this != &o) {
      Clear();
      budget_ = std::move(o.budget_);
      bytes_ = std::exchange(o.bytes_, 0);
    }
    return *this;
  }
  ~BudgetCharge() { Clear(); }

  // Changes the reservation to `bytes`; on refusal nothing changes.
  bool Resize(size_t bytes) {
    if (budget_ && bytes > bytes_ && !budget_->TryTake(bytes - bytes_)) return false;
    if (budget_ && bytes < bytes_) budget_->Give(bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  void Clear() { (void)Resize(0); }
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<ByteBudget> budget_;  // shared: servers, listeners and late answers hold it
  size_t bytes_ = 0;
};

}  // namespace wf::net
