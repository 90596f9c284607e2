#include "base/nanos.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace wf {
namespace {

Nanos ClockNow(clockid_t clock) {
  timespec ts;
  clock_gettime(clock, &ts);
  return ts.tv_sec * kSecond + ts.tv_nsec;
}

struct Unit {
  std::string_view name;
  Nanos size;
};
constexpr Unit kUnits[] = {{"ns", 1},      {"us", kMicro}, {"ms", kMilli}, {"s", kSecond},
                           {"m", kMinute}, {"h", kHour},   {"d", kDay}};

constexpr char kInstantHint[] =
    "give a duration back from now (90s, 15m, 2h, 7d), RFC 3339 (2026-11-15T10:58:10Z) or Unix "
    "nanoseconds";

Error BadInstant(std::string_view text, const char* why) {
  return BadInput("time \"" + std::string(text.substr(0, 64)) + "\": " + why, kInstantHint);
}

bool Digits(std::string_view text, size_t at, size_t count, int& out) {
  if (at + count > text.size()) return false;
  out = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    out = out * 10 + (text[i] - '0');
  }
  return true;
}

// Days since 1970-01-01 of a date in the proleptic Gregorian calendar.
int64_t DaysFromCivil(int64_t y, int m, int d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yoe = y - era * 400;
  const int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + doe - 719468;
}

Result<Nanos> ParseRfc3339(std::string_view text) {
  int year, month, day, hour = 0, minute = 0, second = 0;
  if (!Digits(text, 0, 4, year) || text.size() < 10 || text[4] != '-' ||
      !Digits(text, 5, 2, month) || text[7] != '-' || !Digits(text, 8, 2, day)) {
    return BadInstant(text, "not a date");
  }
  size_t at = 10;
  Nanos fraction = 0, offset = 0;
  if (at < text.size()) {
    if (text[at] != 'T' && text[at] != 't' && text[at] != ' ')
      return BadInstant(text, "expected T after the date");
    if (!Digits(text, at + 1, 2, hour) || at + 3 >= text.size() || text[at + 3] != ':' ||
        !Digits(text, at + 4, 2, minute) || at + 6 >= text.size() || text[at + 6] != ':' ||
        !Digits(text, at + 7, 2, second)) {
      return BadInstant(text, "expected hh:mm:ss after T");
    }
    at += 9;
    if (at < text.size() && text[at] == '.') {
      Nanos scale = kSecond / 10;
      const size_t first = ++at;
      for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        fraction += (text[at] - '0') * scale;
        scale /= 10;
      }
      if (at == first) return BadInstant(text, "expected digits after the point");
    }
    if (at < text.size() && (text[at] == 'Z' || text[at] == 'z')) {
      ++at;
    } else if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
      int oh, om;
      if (!Digits(text, at + 1, 2, oh) || at + 3 >= text.size() || text[at + 3] != ':' ||
          !Digits(text, at + 4, 2, om)) {
        return BadInstant(text, "expected an offset as +hh:mm");
      }
      offset = (oh * 60 + om) * kMinute * (text[at] == '-' ? -1 : 1);
      at += 6;
    } else {
      return BadInstant(text, "expected Z or an offset such as +01:00");
    }
  }
  if (at != text.size()) return BadInstant(text, "unexpected text at the end");
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 ||
      year < 1678 || year > 2261) {
    return BadInstant(text, "out of range");
  }
  return DaysFromCivil(year, month, day) * kDay + hour * kHour + minute * kMinute +
         second * kSecond + fraction - offset;
}

}  // namespace

Nanos Now() { return ClockNow(CLOCK_REALTIME); }
Nanos MonotonicNow() { return ClockNow(CLOCK_MONOTONIC); }

Nanos SaturatingAdd(Nanos a, Nanos b) {
  Nanos out;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return b > 0 ? INT64_MAX : INT64_MIN;
}

Nanos SaturatingSub(Nanos a, Nanos b) {
  Nanos out;
  if (!__builtin_sub_overflow(a, b, &out)) return out;
  return b < 0 ? INT64_MAX : INT64_MIN;
}

Result<Nanos> ParseDuration(std::string_view text) {
  const auto bad = [&](const char* why) {
    return BadInput("duration \"" + std::string(text.substr(0, 64)) + "\": " + why,
                    "write a number and one of ns, us, ms, s, m, h, d, as in 250ms");
  };
  size_t digits = 0;
  while (digits < text.size() &&
         ((text[digits] >= '0' && text[digits] <= '9') || text[digits] == '.'))
    ++digits;
  if (digits == 0) return bad("no number");
  const std::string_view unit_text = text.substr(digits);
  const Unit* unit = nullptr;
  for (const Unit& candidate : kUnits) {
    if (unit_text == candidate.name) unit = &candidate;
  }
  if (unit == nullptr) return bad(unit_text.empty() ? "no unit" : "unknown unit");

  // Whole part in integers, so that large exact values stay exact; the fraction digit by digit.
  const std::string_view number = text.substr(0, digits);
  const size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  uint64_t value = 0;
  if (!whole.empty()) {
    auto [end, ec] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
    if (ec != std::errc() || end != whole.data() + whole.size()) return bad("too large");
  }
  Nanos total;
  if (value > INT64_MAX || __builtin_mul_overflow(static_cast<Nanos>(value), unit->size, &total))
    return bad("too large");
  if (point != std::string_view::npos) {
    const std::string_view decimals = number.substr(point + 1);
    if (decimals.find('.') != std::string_view::npos) return bad("two decimal points");
    if (decimals.empty() && whole.empty()) return bad("no number");
    double fraction = 0, scale = 0.1;
    for (char c : decimals) {
      fraction += (c - '0') * scale;
      scale /= 10;
    }
    total = SaturatingAdd(
        total, static_cast<Nanos>(std::llround(fraction * static_cast<double>(unit->size))));
  }
  return total;
}

Result<Nanos> ParseInstant(std::string_view text, Nanos now) {
  if (text.empty()) return BadInstant(text, "empty");
  const size_t sign = text[0] == '-' ? 1 : 0;
  if (text.size() > sign && text.find_first_not_of("0123456789", sign) == std::string_view::npos) {
    Nanos value;
    auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc() || end != text.data() + text.size())
      return BadInstant(text, "does not fit 64 bits");
    return value;
  }
  if (text.size() >= 10 && text[4] == '-') return ParseRfc3339(text);
  auto back = ParseDuration(text);
  if (!back.ok()) return BadInstant(text, "neither a duration, a date nor a number");
  return SaturatingSub(now, *back);
}

std::string FormatDuration(Nanos duration) {
  const char* sign = duration < 0 ? "-" : "";
  const double ns = std::fabs(static_cast<double>(duration));
  char out[64];
  // Three significant digits, the unit the reader would choose.
  const auto scaled = [&](double value, const char* unit) {
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    std::snprintf(out, sizeof out, "%s%.*f %s", sign, decimals, value, unit);
  };
  if (ns < 1e3) {
    std::snprintf(out, sizeof out, "%s%.0f ns", sign, ns);
  } else if (ns < 999.5e3) {
    scaled(ns / 1e3, "µs");
  } else if (ns < 999.5e6) {
    scaled(ns / 1e6, "ms");
  } else if (ns < 60e9) {
    scaled(ns / 1e9, "s");
  } else if (ns < 3600e9) {
    const auto seconds = static_cast<int64_t>(ns / 1e9);
    std::snprintf(out, sizeof out, "%s%ld min %ld s", sign, seconds / 60, seconds % 60);
  } else {
    const auto minutes = static_cast<int64_t>(ns / 60e9);
    std::snprintf(out, sizeof out, "%s%ld h %ld min", sign, minutes / 60, minutes % 60);
  }
  return out;
}

std::string FormatInstant(Nanos instant) {
  Nanos seconds = instant / kSecond;
  Nanos rest = instant % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  const time_t time = seconds;
  tm parts;
  gmtime_r(&time, &parts);
  char date[64];
  const size_t n = std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(date + n, sizeof date - n, ".%09ldZ", static_cast<long>(rest));
  return date;
}

}  // namespace wf
