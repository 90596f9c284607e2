// The line of execution this thread is on, and its baggage. A line begins where a request is attached to the
// thread (RequestContext) and has a number that is unique in the process. So a context that was captured on
// this thread a moment ago is recognised as the same line, and attaching it changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "client/baggage/baggage_line.h"

namespace wherefore::client {

// 0: this thread works for no request, and packs nothing.
uint64_t CurrentLine();
// Null when there is no request, or memory.
[[gnu::hot]] BaggageLine* CurrentBaggage();
// The same, and null when nothing was packed or received yet.
[[gnu::hot]] BaggageLine* CurrentBaggageIfAny();
// Null when empty.
std::shared_ptr<const BaggageSnapshot> FreezeCurrent();
// The same at the end of the line: its name goes with it.
std::shared_ptr<const BaggageSnapshot> FinishCurrent();
void JoinCurrent(std::shared_ptr<const BaggageSnapshot> other);
// The same of bytes that another process has serialised.
[[gnu::hot]] void JoinCurrentBytes(std::string_view bytes);

// The line that the thread was on before; restore it exactly once.
struct SavedLine {
  uint64_t line = 0;
  BaggageLine* baggage = nullptr;
};
enum class LineOf : uint8_t { kRequest, kNobody };
SavedLine EnterLine(LineOf whose, std::shared_ptr<const BaggageSnapshot> baggage);
// Of a request, with what came with it, as bytes; empty: it begins here.
[[gnu::hot]] SavedLine EnterLine(std::string_view received) noexcept;
[[gnu::hot]] void RestoreLine(SavedLine saved);
// Returns a line that is no longer used.
[[gnu::hot]] void DropLine(BaggageLine* line);

// What comes from other processes and goes there: neither at an edge.
[[gnu::hot]] bool ExchangesBaggage();
void SetExchangesBaggage(bool exchanges);  // NOLINT: the public enum has two values
void CountRefused();
uint64_t RefusedCount();

}  // namespace wherefore::client
