#include "import/watch/lock_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/hash.h"
#include "import/decode/events_body.h"
#include "wherefore/event.h"

namespace wf::watch {
namespace {

using wherefore::EventType;

constexpr Nanos kNever = INT64_MIN;
std::string_view ModeName(LockMode mode) {
  switch (mode) {
    case LockMode::kRead:
      return "read";
    case LockMode::kWrite:
      return "write";
    case LockMode::kMutex:
      break;
  }
  return "mutex";
}

}  // namespace

void LockEvents::Add(const LockHolding& holding, Nanos clock) {
  const auto at = [&](uint64_t time) {
    return time == 0 ? kNever : static_cast<Nanos>(time) + clock;
  };
  Timed timed{holding, at(holding.requested), at(holding.acquired), at(holding.released), kNever};
  timed.last = std::max({timed.requested, timed.acquired, timed.released});
  if (timed.last == kNever) return;
  seconds_[std::max(timed.last / kSecond, written_until_ + 1)].push_back(timed);
}

std::vector<std::string> LockEvents::TakeClosed(Nanos now) {
  std::vector<std::string> bodies;
  while (!seconds_.empty() && seconds_.begin()->first <= now / kSecond - 2) {
    auto first = seconds_.extract(seconds_.begin());
    written_until_ = first.key();
    bodies.push_back(Encode(first.key(), std::move(first.mapped())));
  }
  return bodies;
}

std::vector<std::string> LockEvents::TakeAll() { return TakeClosed(INT64_MAX); }

std::string LockEvents::Encode(int64_t second, std::vector<Timed> holdings) {
  const auto first_of = [](const Timed& t) {
    return t.requested != kNever ? t.requested : t.acquired != kNever ? t.acquired : t.released;
  };
  std::sort(holdings.begin(), holdings.end(), [&](const Timed& a, const Timed& b) {
    return std::make_tuple(a.holding.thread, first_of(a), a.last, a.holding.address) <
           std::make_tuple(b.holding.thread, first_of(b), b.last, b.holding.address);
  });
  Hasher128 identity;
  identity.Add(process_.host);
  identity.Add(static_cast<uint64_t>(process_.pid));
  identity.Add(process_.started);
  identity.Add(static_cast<uint64_t>(second));
  const Hash128 hash = identity.Finish();
  const TraceId trace{hash.hi, hash.lo != 0 ? hash.lo : 1};
  // The root's ids are the smallest: of blocks that begin at once, searches call a trace after that one.
  constexpr uint64_t kNotRoot = uint64_t{1} << 63;
  uint64_t ids = hash.lo;
  const auto new_id = [&] {
    ids = MixBits(ids + 0x9E3779B97F4A7C15ull);
    return ids | kNotRoot;
  };

  decode::EventsBody body;
  body.Count(4);
  body.Text("service.name");
  body.TextValue(process_.service);
  body.Text("host.name");
  body.TextValue(process_.host);
  body.Text("service.instance.id");  // as libwherefore names it, unless the program said otherwise
  body.TextValue(fmt::format("{}:{}", process_.host, process_.own_pid));
  body.Text("process.pid");
  body.IntValue(process_.own_pid);

  Nanos begin = INT64_MAX, end = INT64_MIN;
  for (const Timed& timed : holdings) {
    begin = std::min(begin, first_of(timed));
    end = std::max(end, timed.last);
  }
  const uint64_t root_unit = new_id() ^ kNotRoot, root = root_unit ^ 1;
  body.Event(EventType::kUnitBegin, trace, root_unit, 0, begin, {}, 0);
  body.Event(EventType::kBlockBegin, trace, root, root_unit, begin, "locks of " + process_.service,
             0);
  for (auto thread = holdings.begin(); thread != holdings.end();) {
    const uint32_t number = thread->holding.thread;
    const auto thread_end = std::find_if(
        thread, holdings.end(), [&](const Timed& timed) { return timed.holding.thread != number; });
    Nanos thread_begins = INT64_MAX, thread_ends = INT64_MIN;
    for (auto it = thread; it != thread_end; ++it) {
      thread_begins = std::min(thread_begins, first_of(*it));
      thread_ends = std::max(thread_ends, it->last);
    }
    const uint64_t unit = new_id(), block = new_id();
    const std::string name = process_.ThreadName(number);
    body.Event(EventType::kUnitBegin, trace, unit, root, thread_begins, {}, 1);
    body.TextRef("label:thread");
    body.IntValue(number);
    body.Event(
        EventType::kBlockBegin, trace, block, unit, thread_begins,
        name.empty() ? fmt::format("thread {}", number) : fmt::format("thread {} {}", number, name),
        1);
    body.TextRef("thread.id");
    body.IntValue(number);
    for (; thread != thread_end; ++thread) {
      const LockHolding& holding = thread->holding;
      const uint64_t hold = new_id();
      const auto tell = [&](EventType type, Nanos time) {
        if (time == kNever) return;
        const bool told_when_inferred = type == EventType::kLockAcquire && holding.after_condition;
        body.Event(type, trace, hold, block, time, {}, told_when_inferred ? 4 : 3);
        body.TextRef("label:lock");
        body.TextValue(process_.NameOf(holding.address));
        body.TextRef("label:mode");
        body.TextValue(ModeName(holding.mode));
        body.TextRef("thread.id");
        body.IntValue(number);
        if (told_when_inferred) {
          body.TextRef("label:inferred");
          body.TextValue("after a wait on a condition: held at least since then");
        }
      };
      tell(EventType::kLockRequest, thread->requested);
      tell(EventType::kLockAcquire, thread->acquired);
      tell(EventType::kLockRelease, thread->released);
      ++holdings_;
    }
    body.Event(EventType::kBlockEnd, trace, block, unit, thread_ends, {}, 0);
    body.Event(EventType::kUnitEnd, trace, unit, 0, thread_ends, {}, 0);
  }
  body.Event(EventType::kBlockEnd, trace, root, root_unit, end, {}, 0);
  body.Event(EventType::kUnitEnd, trace, root_unit, 0, end, {}, 0);
  events_ += body.events();
  return body.Take();
}

}  // namespace wf::watch
