// Times and durations: signed 64-bit nanoseconds, instants since the Unix epoch. Zero is a time like any other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf {

using Nanos = int64_t;

constexpr Nanos kMicro = 1'000;
constexpr Nanos kMilli = 1'000'000;
constexpr Nanos kSecond = 1'000'000'000;
constexpr Nanos kMinute = 60 * kSecond;
constexpr Nanos kHour = 60 * kMinute;
constexpr Nanos kDay = 24 * kHour;

Nanos Now();           // wall clock
Nanos MonotonicNow();  // for measuring

// a + b and a - b, held at the ends of the 64-bit range: times come from anywhere.
Nanos SaturatingAdd(Nanos a, Nanos b);
Nanos SaturatingSub(Nanos a, Nanos b);

// "90s", "1.5ms", "250us", "2h", "7d", "40ns": number + ns|us|ms|s|m|h|d.
Result<Nanos> ParseDuration(std::string_view text);

// An instant: a duration back from `now` ("15m"), RFC 3339 ("2026-11-15T10:58:10.25Z", "+01:00") or Unix ns.
Result<Nanos> ParseInstant(std::string_view text, Nanos now);

// For people: "1.24 s", "310 µs", "12 ns", "2 h 5 min".
std::string FormatDuration(Nanos duration);
// RFC 3339, UTC, nanoseconds: "2026-11-15T10:58:10.250000000Z".
std::string FormatInstant(Nanos instant);

}  // namespace wf
