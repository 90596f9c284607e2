// The log: lines of text on stderr. Any thread may call anything here. spdlog stays behind log.cc,
// so that only one file compiles it.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/result.h"

namespace wf::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };

Result<Level> ParseLevel(std::string_view name);  // debug|info|warn|error|off
void SetLevel(Level level);                       // kInfo until called
bool Enabled(Level level);
void Write(Level level, std::string_view text);

// True the first time a key is seen, for messages that would otherwise be logged for every request:
//   if (log::LogOnce("otlp logs from " + sender)) log::Warn(...);
// Keys come from outside, so their number is bounded; when the table is full every further key
// answers false.
bool LogOnce(std::string_view key);

template <typename... Args>
void Debug(fmt::format_string<Args...> format, Args&&... args) {
  if (Enabled(Level::kDebug))
    Write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Info(fmt::format_string<Args...> format, Args&&... args) {
  if (Enabled(Level::kInfo)) Write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Warn(fmt::format_string<Args...> format, Args&&... args) {
  if (Enabled(Level::kWarn)) Write(Level::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Error(fmt::format_string<Args...> format, Args&&... args) {
  if (Enabled(Level::kError))
    Write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace wf::log
