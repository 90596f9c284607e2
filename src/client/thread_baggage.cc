#include "client/thread_baggage.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "client/advice_runner.h"

namespace wherefore::client {
namespace {

// Plain words, so that they can be read while the thread ends.
__thread uint64_t current_line = 0;
__thread BaggageLine* current_baggage = nullptr;
__thread uint64_t next_line = 0;
__thread uint64_t last_line = 0;

struct AtThreadEnd {
  bool armed = false;
  ~AtThreadEnd() {
    delete std::exchange(current_baggage, nullptr);
    current_line = 0;
  }
};
thread_local AtThreadEnd at_thread_end;

// Numbers are handed to threads in lots, so that they seldom meet.
constexpr uint64_t kLot = 1 << 16;
std::atomic<uint64_t> next_lot{1};

uint64_t NewLine() {
  if (next_line == last_line) {
    next_line = next_lot.fetch_add(1, std::memory_order_relaxed) * kLot;
    last_line = next_line + kLot;
  }
  return next_line++;
}

bool OpenByEnvironment() {
  const char* value = std::getenv("WHEREFORE_BAGGAGE");
  return value == nullptr || (std::string_view(value) != "off" && std::string_view(value) != "0");
}

std::atomic<bool>& Exchanges() {
  static std::atomic<bool> exchanges{OpenByEnvironment()};
  return exchanges;
}
std::atomic<uint64_t> refused{0};

}  // namespace

uint64_t CurrentLine() { return current_line; }

BaggageLine* CurrentBaggage() {
  if (current_line == 0) return nullptr;
  if (current_baggage == nullptr) {
    at_thread_end.armed = true;
    current_baggage = new (std::nothrow) BaggageLine;
  }
  return current_baggage;
}

BaggageLine* CurrentBaggageIfAny() { return current_baggage; }

std::shared_ptr<const BaggageSnapshot> FreezeCurrent() {
  return current_baggage == nullptr ? nullptr : current_baggage->Freeze();
}

std::shared_ptr<const BaggageSnapshot> FinishCurrent() {
  return current_baggage == nullptr ? nullptr : current_baggage->Finish();
}

void JoinCurrent(std::shared_ptr<const BaggageSnapshot> other) {
  if (other == nullptr) return;
  BaggageLine* const baggage = CurrentBaggage();
  if (baggage == nullptr) return;
  baggage->Join(std::move(other));
  LinkBranches(*baggage);
}

SavedLine EnterLine(LineOf whose, std::shared_ptr<const BaggageSnapshot> baggage) {
  const SavedLine saved{current_line, current_baggage};
  current_line = whose == LineOf::kRequest ? NewLine() : 0;
  current_baggage = nullptr;
  if (current_line != 0 && baggage != nullptr) {
    at_thread_end.armed = true;
    current_baggage = new (std::nothrow) BaggageLine(std::move(baggage));
  }
  return saved;
}

void RestoreLine(SavedLine saved) {
  delete current_baggage;
  current_line = saved.line;
  current_baggage = saved.baggage;
}

bool ExchangesBaggage() { return Exchanges().load(std::memory_order_relaxed); }
void SetExchangesBaggage(bool exchanges) {
  Exchanges().store(exchanges, std::memory_order_relaxed);
}
void CountRefused() { refused.fetch_add(1, std::memory_order_relaxed); }
uint64_t RefusedCount() { return refused.load(std::memory_order_relaxed); }

}  // namespace wherefore::client
