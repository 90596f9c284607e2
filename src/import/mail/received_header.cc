#include "import/mail/received_header.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace wf::mail {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameWord(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(),
                                                [](char x, char y) { return Lower(x) == y; });
}

// Words without comments, which nest and may hold anything: "(envelope-from <a;b>)". An open one runs to the end.
std::vector<std::string_view> WordsOutsideComments(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = std::string_view::npos;
  int depth = 0;
  const auto end_word = [&](size_t at) {
    if (begin != std::string_view::npos) words.push_back(text.substr(begin, at - begin));
    begin = std::string_view::npos;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      if (depth == 0 && begin == std::string_view::npos) begin = i;
      ++i;
      continue;
    }
    if (c == '(') {
      end_word(i);
      ++depth;
    } else if (c == ')' && depth > 0) {
      --depth;
    } else if (depth == 0) {
      if (IsSpace(c)) {
        end_word(i);
      } else if (begin == std::string_view::npos) {
        begin = i;
      }
    }
  }
  end_word(text.size());
  return words;
}

// The date stands behind the last semicolon that is in no comment; nothing where there is none.
size_t DateBegin(std::string_view text) {
  size_t found = std::string_view::npos;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')' && depth > 0) {
      --depth;
    } else if (text[i] == ';' && depth == 0) {
      found = i + 1;
    }
  }
  if (found == std::string_view::npos) {  // a comment that is never closed hides it
    const size_t last = text.rfind(';');
    if (last != std::string_view::npos) found = last + 1;
  }
  return found;
}

std::string HostName(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '[' || c == ']' || c == '"' || c == '<' || c == '>' || c == ',' || c == ';') continue;
    if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7F) continue;
    out += Lower(c);
  }
  while (!out.empty() && out.back() == '.') out.pop_back();
  return out;
}

bool IsGeneric(std::string_view host) {
  static constexpr std::array<std::string_view, 9> kGeneric = {"localhost",
                                                               "localhost.localdomain",
                                                               "localhost.local",
                                                               "localdomain",
                                                               "unknown",
                                                               "127.0.0.1",
                                                               "::1",
                                                               "ipv6:::1",
                                                               "0.0.0.0"};
  return std::find(kGeneric.begin(), kGeneric.end(), host) != kGeneric.end();
}

std::optional<int> Number(std::string_view word, size_t most_digits) {
  if (word.empty() || word.size() > most_digits) return std::nullopt;
  int value = 0;
  for (const char c : word) {
    if (!IsDigit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

int MonthOf(std::string_view word) {  // 1 to 12; 0: none
  static constexpr std::array<std::string_view, 12> kMonths = {
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  if (word.size() < 3) return 0;
  for (size_t i = 0; i < kMonths.size(); ++i) {
    if (SameWord(word.substr(0, 3), kMonths[i])) return static_cast<int>(i) + 1;
  }
  return 0;
}

bool ParseClock(std::string_view word, int64_t& seconds) {
  std::array<int, 3> parts = {0, 0, 0};
  size_t n = 0, at = 0;
  while (true) {
    const size_t colon = std::min(word.find(':', at), word.size());
    std::string_view digits = word.substr(at, colon - at);
    if (n == 2) digits = digits.substr(0, std::min(digits.find('.'), digits.size()));
    const auto value = Number(digits, 2);
    if (!value || n == 3) return false;
    parts[n++] = *value;
    if (colon == word.size()) break;
    at = colon + 1;
  }
  if (n < 2 || parts[0] > 23 || parts[1] > 59 || parts[2] > 60) return false;  // 60: a leap second
  seconds = parts[0] * 3600 + parts[1] * 60 + parts[2];
  return true;
}

// Seconds east of Greenwich. Names other than these mean nothing certain, and count as UTC (RFC 5322 §4.3).
std::optional<int64_t> ZoneOf(std::string_view word) {
  if (word.size() > 1 && (word[0] == '+' || word[0] == '-')) {
    std::string digits;
    for (const char c : word.substr(1)) {
      if (c != ':') digits += c;
    }
    if (digits.size() == 2) digits += "00";
    const auto value = digits.size() == 4 ? Number(digits, 4) : std::nullopt;
    if (!value || *value % 100 > 59 || *value / 100 > 23) return std::nullopt;
    const int64_t seconds = *value / 100 * 3600 + *value % 100 * 60;
    return word[0] == '-' ? -seconds : seconds;
  }
  struct Zone {
    std::string_view name;
    int hours;
  };
  static constexpr std::array<Zone, 8> kZones = {{{"est", -5},
                                                  {"edt", -4},
                                                  {"cst", -6},
                                                  {"cdt", -5},
                                                  {"mst", -7},
                                                  {"mdt", -6},
                                                  {"pst", -8},
                                                  {"pdt", -7}}};
  for (const Zone& zone : kZones) {
    if (SameWord(word, zone.name)) return zone.hours * 3600;
  }
  return 0;
}

int64_t DaysSinceEpoch(int year, int month, int day) {
  // Years begin in March, so that the leap day is the last of its year.
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

bool IsDay(int year, int month, int day) {
  static constexpr std::array<int, 12> kDays = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day >= 1 && day <= kDays[static_cast<size_t>(month - 1)] &&
         (month != 2 || day != 29 || leap);
}

}  // namespace

// In whatever order: a month's name, a time with colons, a day of at most two digits before a year. What is left is a
// zone, or the name of a day.
bool ParseMailDate(std::string_view text, Nanos& time_ns) {
  int year = -1, month = 0, day = -1;
  int64_t clock = -1, zone = 0;
  bool zoned = false;
  for (std::string_view word : WordsOutsideComments(text)) {
    // "Tue,15-Nov-26" and the like: commas and dashes part words, but for the sign of a zone.
    size_t at = 0;
    while (at < word.size()) {
      const bool sign = word[at] == '+' || word[at] == '-';
      if (word[at] == ',' || (sign && clock < 0)) {
        ++at;
        continue;
      }
      size_t end = at + 1;
      while (end < word.size() && word[end] != ',' && word[end] != '+' && word[end] != '-') ++end;
      const std::string_view part = word.substr(at, end - at);
      at = end;
      if (sign && !zoned) {
        const auto offset = ZoneOf(part);
        if (!offset) return false;
        zone = *offset;
        zoned = true;
      } else if (part.find(':') != std::string_view::npos) {
        if (clock >= 0 || !ParseClock(part, clock)) return false;
      } else if (const auto number = Number(part, 4)) {
        if (day < 0 && part.size() <= 2) {
          day = *number;
        } else if (year < 0) {
          year = *number;
          if (part.size() == 2) year += year < 50 ? 2000 : 1900;
          if (part.size() == 3) year += 1900;
        }
      } else if (month == 0 && MonthOf(part) != 0 && !(clock >= 0 && year >= 0)) {
        month = MonthOf(part);
      } else if (clock >= 0 && !zoned) {
        zone = ZoneOf(part).value_or(0);
        zoned = true;
      }
    }
  }
  if (year < 1970 || year > 2200 || month == 0 || clock < 0 || !IsDay(year, month, day))
    return false;
  time_ns = (DaysSinceEpoch(year, month, day) * 86400 + clock - zone) * kSecond;
  return true;
}

ReceivedFault ParseReceived(std::string_view value, ReceivedHop& hop) {
  const size_t date = DateBegin(value);
  const std::string_view before =
      value.substr(0, date == std::string_view::npos ? value.size() : date - 1);
  hop.from.clear();
  hop.by.clear();
  const auto words = WordsOutsideComments(before);
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (hop.from.empty() && SameWord(words[i], "from"))
      hop.from = HostName(words[++i]);
    else if (hop.by.empty() && SameWord(words[i], "by"))
      hop.by = HostName(words[++i]);
  }
  if (hop.from.empty() || hop.by.empty()) return ReceivedFault::kNoHosts;
  if (IsGeneric(hop.from) || IsGeneric(hop.by)) return ReceivedFault::kGenericHost;
  if (date == std::string_view::npos || !ParseMailDate(value.substr(date), hop.time_ns))
    return ReceivedFault::kNoTime;
  return ReceivedFault::kNone;
}

}  // namespace wf::mail
