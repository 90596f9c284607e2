#include "client/queries/thread_baggage.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "client/queries/advice_runner.h"
#include "client/queries/kernel_tuples.h"
#include "client/runtime/hot_flags.h"

namespace wherefore::client {
namespace {

// Plain words, so that they can be read while the thread ends.
__thread uint64_t current_line = 0;
__thread BaggageLine* current_baggage = nullptr;
__thread uint64_t next_line = 0;
__thread uint64_t last_line = 0;
// Those that the thread's last requests had, with their memory: requests follow each other on a thread, and one within
// the other.
constexpr int kMostSpares = 2;
__thread BaggageLine* spares[kMostSpares] = {};
__thread int spare_count = 0;
__thread bool thread_has_ended = false;

struct AtThreadEnd {
  bool armed = false;
  ~AtThreadEnd() {
    thread_has_ended = true;
    delete std::exchange(current_baggage, nullptr);
    while (spare_count > 0) delete spares[--spare_count];
    current_line = 0;
  }
};
thread_local AtThreadEnd at_thread_end;

// Null: no memory.
BaggageLine* TakeLine() {
  if (spare_count > 0) return spares[--spare_count];
  if (!thread_has_ended) at_thread_end.armed = true;
  return new (std::nothrow) BaggageLine;
}

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

using Exchange = HotFlags::Exchange;
[[gnu::cold, gnu::noinline]] Exchange AskEnvironment() {
  Exchange known = Exchange::kNotKnown;
  const Exchange asked = OpenByEnvironment() ? Exchange::kOpen : Exchange::kEdge;
  // Whoever has said otherwise meanwhile is right.
  return hot_flags.exchange.compare_exchange_strong(known, asked) ? asked : known;
}
std::atomic<uint64_t> refused{0};

}  // namespace

uint64_t CurrentLine() { return current_line; }

BaggageLine* CurrentBaggage() {
  if (current_line == 0) return nullptr;
  TakeKernelTuples();
  if (current_baggage == nullptr) current_baggage = TakeLine();
  return current_baggage;
}

BaggageLine* CurrentBaggageIfAny() {
  TakeKernelTuples();
  return current_baggage;
}

std::shared_ptr<const BaggageSnapshot> FreezeCurrent() {
  TakeKernelTuples();
  return current_baggage == nullptr ? nullptr : current_baggage->Freeze();
}

std::shared_ptr<const BaggageSnapshot> FinishCurrent() {
  TakeKernelTuples();
  return current_baggage == nullptr ? nullptr : current_baggage->Finish();
}

void JoinCurrent(std::shared_ptr<const BaggageSnapshot> other) {
  if (other == nullptr) return;
  BaggageLine* const baggage = CurrentBaggage();
  if (baggage == nullptr) return;
  baggage->Join(std::move(other));
  LinkBranches(*baggage);
}

void JoinCurrentBytes(std::string_view bytes) {
  BaggageLine* const baggage = CurrentBaggage();
  if (baggage == nullptr) return;
  baggage->JoinBytes(bytes);
  LinkBranches(*baggage);
}

SavedLine EnterLine(std::string_view received) noexcept {
  TakeKernelTuples();  // they are of the line that is left
  const SavedLine saved{current_line, current_baggage};
  current_line = NewLine();
  current_baggage = nullptr;
  if (!received.empty()) {
    current_baggage = TakeLine();
    try {
      if (current_baggage != nullptr) current_baggage->Receive(received);
    } catch (...) {  // out of memory: what came is lost, the request goes on
    }
  }
  return saved;
}

SavedLine EnterLine(LineOf whose, std::shared_ptr<const BaggageSnapshot> baggage) {
  TakeKernelTuples();  // they are of the line that is left
  const SavedLine saved{current_line, current_baggage};
  current_line = whose == LineOf::kRequest ? NewLine() : 0;
  current_baggage = nullptr;
  if (current_line != 0 && baggage != nullptr) {
    current_baggage = TakeLine();
    if (current_baggage != nullptr) current_baggage->Receive(std::move(baggage));
  }
  return saved;
}

void DropLine(BaggageLine* line) {
  if (line == nullptr) return;
  if (spare_count == kMostSpares || thread_has_ended) {
    delete line;
    return;
  }
  line->Reset();
  spares[spare_count++] = line;
}

void RestoreLine(SavedLine saved) {
  TakeKernelTuples();  // ... of the line that ends
  DropLine(current_baggage);
  current_line = saved.line;
  current_baggage = saved.baggage;
}

bool ExchangesBaggage() {
  Exchange exchange = hot_flags.exchange.load(std::memory_order_relaxed);
  if (exchange == Exchange::kNotKnown) exchange = AskEnvironment();
  return exchange == Exchange::kOpen;
}
void SetExchangesBaggage(bool exchanges) {
  hot_flags.exchange.store(exchanges ? Exchange::kOpen : Exchange::kEdge,
                           std::memory_order_relaxed);
}
void CountRefused() { refused.fetch_add(1, std::memory_order_relaxed); }
uint64_t RefusedCount() { return refused.load(std::memory_order_relaxed); }

}  // namespace wherefore::client
