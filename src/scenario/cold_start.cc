#include "scenario/cold_start.h"

#include <fmt/format.h>

#include <charconv>

namespace wf::scenario {
namespace {

enum StartDraw : uint64_t {
  kSlowness,
  kProcess,
  kModule,
  kActivity,
  kFrame,
  kGap,
  kBackground,
  kAway,
  kHost
};

constexpr Deciles kSlownessSpread = {{650, 770, 840, 900, 950, 1000, 1060, 1140, 1260, 1450, 2000}};
constexpr Deciles kWorkSpread = {{700, 800, 860, 910, 955, 1000, 1050, 1100, 1180, 1300, 1600}};
// How long a process that a notification started waits until it is opened.
constexpr Deciles kAwaySpread = {
    {4'000, 6'000, 8'000, 10'000, 13'000, 17'000, 22'000, 28'000, 36'000, 46'000, 60'000}};  // ms

constexpr Nanos kProcessWork = 180 * kMilli, kActivityWork = 210 * kMilli, kFrameWork = 95 * kMilli;

const char* const kTopics[] = {"Badges", "Captions", "Drafts",  "Effects", "Filters", "Gifts",
                               "Hints",  "Invites",  "Jobs",    "Labels",  "Markets", "Notes",
                               "Offers", "Polls",    "Quizzes", "Ratings"};

}  // namespace

AppRelease FirstRelease() {
  AppRelease release;
  release.version = "110";
  const auto add = [&](const char* registry, const char* name, int64_t milliseconds) {
    release.modules.push_back({registry, name, milliseconds * kMilli});
  };
  add("CoreRegistry", "Logging", 14);
  add("CoreRegistry", "Network", 38);
  add("CoreRegistry", "Storage", 46);
  add("CoreRegistry", "Session", 30);
  add("MediaRegistry", "Images", 34);
  add("MediaRegistry", "Video", 52);
  add("MediaRegistry", "Audio", 18);
  add("ProductRegistry", "Feed", 44);
  add("ProductRegistry", "Messages", 36);
  add("ProductRegistry", "Search", 22);
  add("ProductRegistry", "Profile", 20);
  return release;
}

AppRelease NextRelease(const AppRelease& previous, const std::string& registry, int added) {
  AppRelease release = previous;
  int version = 0;
  std::from_chars(previous.version.data(), previous.version.data() + previous.version.size(),
                  version);
  release.version = std::to_string(version + 1);
  for (int i = 0; i < added; ++i) {
    const size_t number = release.modules.size();
    const char* topic = kTopics[number % std::size(kTopics)];
    const Nanos work = (16 + static_cast<Nanos>(number * 7 % 11)) * kMilli;
    release.modules.push_back({registry, fmt::format("{}{}", topic, number), work});
  }
  return release;
}

void RecordColdStart(const AppRelease& release, const Draws& user, const Draws& draws,
                     TraceEvents& events) {
  const int64_t slow = user.From(kSlownessSpread, kSlowness);
  const auto work = [&](Nanos middling, uint64_t what, uint64_t index = 0) {
    return middling * draws.From(kWorkSpread, what, index) / 1000 * slow / 1000;
  };
  uint64_t pauses = 0;
  const auto pause = [&] {
    return draws.Between(kMilli, 4 * kMilli, kGap, pauses++);
  };  // scheduling
  const bool background = draws.Chance(release.background_permille, kBackground);

  const SimulatedHost host{fmt::format("phone-{:010x}", user.Bits(kHost) >> 24), 0};
  const uint64_t system = events.BeginUnit(
      host, "android", "System", 0, 0,
      {{"label:release", release.version}, {"label:trigger", background ? "push" : "icon"}});
  const uint64_t start = events.BeginBlock(system, "start app", 0);
  events.StartTrace(system, 0, "mobile");
  Nanos now = pause();
  const uint64_t main = events.BeginUnit(host, "app", "Main", now, start);
  const Nanos loaded = now + work(kProcessWork, kProcess);
  events.Block(main, "load process", now, loaded);
  now = loaded + pause();
  const uint64_t init = events.BeginBlock(main, "initialize", now);
  for (size_t i = 0; i < release.modules.size(); ++i) {
    const InitModule& module = release.modules[i];
    // By name: a module takes its time whatever else was added.
    const Nanos end = now + work(module.work, kModule, HashBytes(module.name));
    events.Block(main, "initialize module", now, end,
                 {{"label:module", module.name},
                  {"stack:call", fmt::format("main\nActivityThread.main\nApplication.onCreate\n"
                                             "{}.start\n{}Module.init",
                                             module.registry, module.name)}});
    now = end;
  }
  events.EndBlock(init, now);
  now += pause();
  if (background) now += draws.From(kAwaySpread, kAway) * kMilli;
  const Nanos created = now + work(kActivityWork, kActivity);
  events.Block(main, "create activity", now, created);
  now = created + pause();
  const uint64_t frame = events.BeginBlock(main, "draw first frame", now);
  now += work(kFrameWork, kFrame);
  events.Point(frame, "cold start done", now, {{"label:marker", "cold_start_done"}});
  events.EndBlock(frame, now);
  events.EndUnit(main, now);
  now += pause();
  events.EndBlock(start, now);
  events.EndUnit(system, now);
}

}  // namespace wf::scenario
