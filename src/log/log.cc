#include "log/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

namespace wf::log {
namespace {

// 4,096 senders that each misbehave once is more than a person reads.
constexpr size_t kMaxOnceKeys = 4096;

std::atomic<Level> g_level{Level::kInfo};

// Never destroyed: threads may still log while the process exits.
spdlog::logger& Logger() {
  static spdlog::logger* logger = [] {
    auto* made = new spdlog::logger("wherefore", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L %v", spdlog::pattern_time_type::utc);
    made->set_level(spdlog::level::trace);  // g_level decides
    made->flush_on(spdlog::level::trace);   // stderr is read by people and by crash reports
    return made;
  }();
  return *logger;
}

}  // namespace

Result<Level> ParseLevel(std::string_view name) {
  if (name == "debug") return Level::kDebug;
  if (name == "info") return Level::kInfo;
  if (name == "warn") return Level::kWarn;
  if (name == "error") return Level::kError;
  if (name == "off") return Level::kOff;
  return BadInput(fmt::format("log level \"{}\": unknown", name),
                  "use debug, info, warn, error or off");
}

void SetLevel(Level level) { g_level.store(level, std::memory_order_relaxed); }

bool Enabled(Level level) {
  return level != Level::kOff && level >= g_level.load(std::memory_order_relaxed);
}

void Write(Level level, std::string_view text) {
  spdlog::string_view_t view(text.data(), text.size());
  switch (level) {
    case Level::kDebug:
      Logger().log(spdlog::level::debug, view);
      break;
    case Level::kInfo:
      Logger().log(spdlog::level::info, view);
      break;
    case Level::kWarn:
      Logger().log(spdlog::level::warn, view);
      break;
    case Level::kError:
      Logger().log(spdlog::level::err, view);
      break;
    case Level::kOff:
      break;
  }
}

bool LogOnce(std::string_view key) {
  static std::mutex mutex;
  static auto* seen = new std::unordered_set<std::string>;
  std::lock_guard lock(mutex);
  if (seen->size() >= kMaxOnceKeys) return false;
  return seen->emplace(key).second;
}

}  // namespace wf::log
