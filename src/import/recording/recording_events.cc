#include "import/recording/recording_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "import/decode/events_body.h"
#include "import/recording/recorded_holds.h"
#include "recorder/reader/op_names.h"
#include "recorder/reader/replay.h"
#include "recorder/reader/symbols.h"

namespace wf::recording {
namespace {

using recorder::Action;
using recorder::kNone;
using recorder::ObjectKind;
using recorder::Recording;
using recorder::Role;
using recorder::SubComputation;
using recorder::SubId;
using recorder::ThreadFacts;
using wherefore::EventType;

constexpr size_t kBodyBytes = size_t{1} << 20;

bool IsLock(ObjectKind kind) {
  return kind == ObjectKind::kMutex || kind == ObjectKind::kSpin || kind == ObjectKind::kRwlock;
}

// A stretch of one thread's time that belongs to one trace.
struct Stretch {
  TraceId trace;
  uint64_t cause = 0;  // the block it is done for
  int64_t begin_ns = 0, end_ns = 0;
  uint64_t unit = 0, block = 0;
};

class Writer {
 public:
  Writer(const Recording& recording, const TakeEventsBody& take)
      : recording_(recording), take_(take), symbols_(recording) {
    own_trace_ = RecordingTraceId(recording);
    for (const SubComputation& sub : recording.subs) {
      last_ns_ = std::max(last_ns_, sub.start_ns);
      if (sub.end_ns != recorder::kNotEnded) last_ns_ = std::max(last_ns_, sub.end_ns);
    }
    for (SubId sub = 0; sub < recording.subs.size(); ++sub) {
      const SubComputation& facts = recording.subs[sub];
      if (facts.op == recorder::Op::kCreate || facts.op == recorder::Op::kThrdCreate)
        creations_.emplace(facts.object, sub);
    }
  }

  Status Write();

 private:
  static constexpr uint64_t kNotRoot = uint64_t{1} << 63;

  Nanos Unix(int64_t ns) const { return static_cast<Nanos>(recording_.started_unix_ns) + ns; }
  int64_t EndOf(const SubComputation& sub) const {
    return sub.end_ns == recorder::kNotEnded ? last_ns_ : std::max(sub.end_ns, sub.start_ns);
  }
  uint64_t Id(uint64_t what, uint64_t number) const {
    return MixBits(own_trace_.lo ^ MixBits(what << 56 ^ number)) | kNotRoot;
  }
  // The program as a whole is its main thread. Of blocks that begin at once, searches call a trace after the one with
  // the smallest id.
  uint64_t LifeUnit(uint32_t thread) const {
    return thread == 0 ? Id(3, 0) & ~kNotRoot : Id(3, thread);
  }
  uint64_t LifeBlock(uint32_t thread) const {
    return thread == 0 ? Id(4, 0) & ~kNotRoot : Id(4, thread);
  }
  uint64_t BlockOf(SubId sub) const { return Id(1, sub); }
  uint64_t PieceOf(SubId sub, uint64_t piece) const {
    return piece == 0 ? BlockOf(sub) : Id(7, uint64_t{sub} << 8 ^ piece);
  }
  // The block that a sub-computation ended in, and its trace: its thread may have turned to another request meanwhile.
  std::pair<TraceId, uint64_t> LastPiece(SubId sub) const;
  uint64_t WaitAfter(SubId sub) const { return Id(2, sub); }

  std::string Program() const;
  std::string NameOfThread(const ThreadFacts& thread) const;
  std::string NameOfObject(uint32_t object);
  std::string FunctionOf(SubId sub);

  void StartBody();
  Status Offer();
  int64_t LifeEnd(const ThreadFacts& thread) const {
    if (thread.id == 0) return last_ns_;
    return thread.subs.empty() ? thread.start_ns : EndOf(recording_.subs[thread.subs.end - 1]);
  }
  std::vector<Stretch> StretchesOf(const ThreadFacts& thread) const;
  const Stretch& At(const ThreadFacts& thread, int64_t ns) const;
  void FindEdges();
  void FindHolds();
  void OpenBlock(const Stretch& stretch, uint64_t cause, int64_t begin_ns,
                 const ThreadFacts& thread, std::string_view name);
  void CloseBlock(const Stretch& stretch, int64_t end_ns);
  Status WriteThread(const ThreadFacts& thread);
  void WriteSub(const ThreadFacts& thread, SubId sub);
  void WriteWait(const ThreadFacts& thread, SubId sub);
  void WriteHolds();
  void Label(std::string_view key, std::string_view value) {
    body_.TextRef(key);
    body_.TextValue(value);
  }
  // In a request's trace the thread is known by the request's own blocks, which its holds belong to: our
  // blocks must not be mistaken for one of them.
  void ThreadId(const ThreadFacts& thread, TraceId trace) {
    body_.TextRef(trace == own_trace_ ? "thread.id" : "recorded.thread.id");
    body_.IntValue(thread.tid);
  }

  const Recording& recording_;
  const TakeEventsBody& take_;
  recorder::Symbols symbols_;
  TraceId own_trace_;
  int64_t last_ns_ = 0;
  decode::EventsBody body_;
  int64_t sequence_ = 0;                           // of the thread being written
  std::unordered_map<uint32_t, SubId> creations_;  // by the thread as an object
  std::vector<std::vector<Stretch>> stretches_;    // by thread
  // The sub-computation that ended this one's wait: the latest that released what its opening call acquired.
  // kNone: none.
  std::vector<SubId> let_go_by_;
  struct Hold {
    uint64_t number;
    uint32_t thread, object;
    EventType type;
    int64_t time_ns;
    SubId sub;
  };
  std::vector<Hold> holds_;
};

std::string Writer::Program() const {
  const std::string& name = recording_.threads.empty() ? std::string() : recording_.threads[0].name;
  return name.empty() ? fmt::format("process {}", recording_.pid) : name;
}

std::string Writer::NameOfThread(const ThreadFacts& thread) const {
  return thread.name.empty() ? fmt::format("thread {}", thread.id)
                             : fmt::format("thread {} {}", thread.id, thread.name);
}

std::string Writer::NameOfObject(uint32_t object) {
  const recorder::ObjectFacts& facts = recording_.objects[object];
  if (facts.kind == ObjectKind::kThread && facts.thread < recording_.threads.size())
    return NameOfThread(recording_.threads[facts.thread]);
  if (auto variable = symbols_.VariableAt(facts.address)) return *variable;
  return fmt::format("{} {:#x}", NameOf(facts.kind), facts.address);
}

// "compact" of "compact(Table&)", "Table::find" of "Table::find(int) const": names of operations have no parameters.
std::string WithoutParameters(const std::string& function) {
  const size_t open = function.find('(');
  if (open == 0 || open == std::string::npos) return function;
  // "(anonymous namespace)::f(int)", "operator()(int)"
  int depth = 0;
  for (size_t i = function.rfind(')'); i != std::string::npos && i > 0; --i) {
    depth += function[i] == ')' ? 1 : function[i] == '(' ? -1 : 0;
    if (depth == 0) return function.substr(0, i);
  }
  return function;
}

// Where its thread was: the function whose call opened it.
std::string Writer::FunctionOf(SubId sub) {
  const SubComputation& facts = recording_.subs[sub];
  if (sub != recording_.threads[facts.thread].subs.begin) {
    const SubComputation& before = recording_.subs[sub - 1];
    const recorder::SitePlace& place = symbols_.Site(before.site, before.start_ns);
    if (place.function) return WithoutParameters(*place.function);
  }
  const recorder::SitePlace& place = symbols_.Site(facts.site, facts.start_ns);
  return place.function ? WithoutParameters(*place.function)
                        : NameOfThread(recording_.threads[facts.thread]);
}

void Writer::StartBody() {
  body_ = decode::EventsBody();
  const std::string host = recording_.host.empty() ? Program() : recording_.host;
  body_.Count(4);
  body_.Text("service.name");
  body_.TextValue(Program());
  body_.Text("service.instance.id");
  body_.TextValue(fmt::format("{}:{}", host, recording_.pid));  // as libwherefore names it
  body_.Text("host.name");
  body_.TextValue(host);
  body_.Text("process.pid");
  body_.IntValue(recording_.pid);
}

Status Writer::Offer() {
  if (body_.size() < kBodyBytes) return {};
  WF_TRY(take_(body_.Take()));
  StartBody();
  return {};
}

std::vector<Stretch> Writer::StretchesOf(const ThreadFacts& thread) const {
  const int64_t end = LifeEnd(thread);
  std::vector<Stretch> stretches;
  const auto own = [&](int64_t from) {
    stretches.push_back({own_trace_, 0, from, end, LifeUnit(thread.id), LifeBlock(thread.id)});
  };
  own(thread.start_ns);
  // Marks lie in the order of sub-computations, so a thread's are together.
  const auto mark_at = [&](SubId sub) {
    return std::lower_bound(recording_.traces.begin(), recording_.traces.end(), sub,
                            [](const recorder::TraceMark& m, SubId s) { return m.sub < s; });
  };
  for (auto mark = mark_at(thread.subs.begin); mark != mark_at(thread.subs.end); ++mark) {
    const int64_t from = std::clamp(mark->time_ns, stretches.back().begin_ns, end);
    stretches.back().end_ns = from;
    const TraceId trace{mark->trace_high, mark->trace_low};
    // Told once more when the block had begun: what it caused begins with it.
    if (stretches.back().trace == trace && stretches.back().cause == mark->span && !trace.zero()) {
      stretches.back().begin_ns = from;
      stretches.back().end_ns = end;
      if (stretches.size() > 1) stretches[stretches.size() - 2].end_ns = from;
      continue;
    }
    if (trace.zero()) {
      own(from);
      continue;
    }
    const uint64_t number = uint64_t{thread.id} << 32 ^ stretches.size();
    stretches.push_back({trace, mark->span, from, end, Id(8, number), Id(9, number)});
  }
  return stretches;
}

// The last that begins by then: a mark belongs to what comes after it.
const Stretch& Writer::At(const ThreadFacts& thread, int64_t ns) const {
  const std::vector<Stretch>& stretches = stretches_[thread.id];
  auto after = std::upper_bound(stretches.begin(), stretches.end(), ns,
                                [](int64_t time, const Stretch& s) { return time < s.begin_ns; });
  return after == stretches.begin() ? *after : *(after - 1);
}

// Of locks the lock events tell it.
void Writer::FindEdges() {
  let_go_by_.assign(recording_.subs.size(), kNone);
  struct Released {
    SubId by = kNone;
    uint64_t round = 0;
  };
  std::unordered_map<uint32_t, Released> last;
  recorder::ReplayVisitor visitor;
  visitor.begin = [](SubId) {};
  visitor.release = [&](SubId sub, const Action& action) {
    if (action.object == kNone) return;
    Released& released = last[action.object];
    const bool later = released.by == kNone || action.role != Role::kReleaseRound ||
                       released.round != action.sequence ||
                       recording_.subs[sub].end_ns >= recording_.subs[released.by].end_ns;
    if (later) released = {sub, action.sequence};
  };
  visitor.acquire = [&](SubId sub, const Action& action) {
    if (action.object == kNone || IsLock(recording_.objects[action.object].kind)) return;
    const auto released = last.find(action.object);
    if (released == last.end()) return;
    const SubId by = released->second.by;
    SubId& so_far = let_go_by_[sub];
    if (recording_.subs[by].thread == recording_.subs[sub].thread) return;
    if (so_far == kNone || EndOf(recording_.subs[by]) > EndOf(recording_.subs[so_far])) so_far = by;
  };
  recorder::Replay(recording_, visitor);
}

void Writer::FindHolds() {
  RecordedHolds holds;
  for (const ThreadFacts& thread : recording_.threads) {
    for (SubId sub = thread.subs.begin; sub < thread.subs.end; ++sub) {
      const SubComputation& facts = recording_.subs[sub];
      for (uint32_t i = facts.actions.begin; i < facts.actions.end; ++i) {
        const Action& action = recording_.actions[i];
        if (action.object == kNone || !IsLock(recording_.objects[action.object].kind)) continue;
        if (recorder::IsRelease(action.role)) {
          if (const auto number = holds.Release(thread.id, action.object))
            holds_.push_back(
                {*number, thread.id, action.object, EventType::kLockRelease, EndOf(facts), sub});
        } else if (sub + 1 < thread.subs.end) {
          const auto number = holds.Acquire(thread.id, action.object);
          if (!number) continue;
          // After a condition the lock is taken again: what was waited for is the condition.
          if (facts.object == action.object)
            holds_.push_back(
                {*number, thread.id, action.object, EventType::kLockRequest, EndOf(facts), sub});
          holds_.push_back({*number, thread.id, action.object, EventType::kLockAcquire,
                            recording_.subs[sub + 1].start_ns, sub + 1});
        }
      }
    }
  }
}

void Writer::WriteHolds() {
  for (const Hold& hold : holds_) {
    const ThreadFacts& thread = recording_.threads[hold.thread];
    // All in the recording's own trace: `explain` finds those of a request's threads there, as it finds watched ones.
    body_.Event(hold.type, own_trace_, Id(5, hold.number), LifeBlock(thread.id), Unix(hold.time_ns),
                {}, hold.type == EventType::kLockAcquire ? 3 : 2);
    Label("label:lock", NameOfObject(hold.object));
    ThreadId(thread, own_trace_);
    if (hold.type == EventType::kLockAcquire) Label("label:function", FunctionOf(hold.sub));
  }
}

void Writer::WriteWait(const ThreadFacts& thread, SubId sub) {
  const SubComputation& facts = recording_.subs[sub];
  const SubId next = sub + 1;
  const SubId by = let_go_by_[next];
  const bool lock = facts.object != kNone && IsLock(recording_.objects[facts.object].kind);
  if (facts.wait_ns == 0 && by == kNone) return;
  const int64_t begin = EndOf(facts), end = std::max(begin, recording_.subs[next].start_ns);
  const Stretch& stretch = At(thread, begin);
  // In the recording's own trace the lock events make it.
  if (lock && stretch.trace == own_trace_) return;
  const uint64_t wait = WaitAfter(sub);
  std::string name = std::string(recorder::NameOf(facts.op));
  if (facts.object != kNone) name += " " + NameOfObject(facts.object);
  body_.Event(EventType::kBlockBegin, stretch.trace, wait, stretch.unit, Unix(begin), name, 2,
              ++sequence_);
  ThreadId(thread, stretch.trace);
  Label("label:wherefore.wait", "true");
  const auto [sender_trace, sender] =
      by != kNone ? LastPiece(by) : std::pair<TraceId, uint64_t>(TraceId(), 0);
  if (by != kNone && sender_trace == stretch.trace) {
    const int64_t sent = std::min(EndOf(recording_.subs[by]), end);
    const uint64_t edge = Id(6, next);
    const char* const type = facts.op == recorder::Op::kJoin ? "join" : "resource";
    body_.Event(EventType::kEdgeBegin, stretch.trace, edge, sender, Unix(sent), {}, 1);
    Label("label:type", type);
    body_.Event(EventType::kEdgeEnd, stretch.trace, edge, wait, Unix(end), {}, 1);
    Label("label:type", type);
  }
  body_.Event(EventType::kBlockEnd, stretch.trace, wait, stretch.unit, Unix(end), {}, 0,
              ++sequence_);
}

std::pair<TraceId, uint64_t> Writer::LastPiece(SubId sub) const {
  const SubComputation& facts = recording_.subs[sub];
  const std::vector<Stretch>& stretches = stretches_[facts.thread];
  const Stretch& first = At(recording_.threads[facts.thread], facts.start_ns);
  const int64_t end = EndOf(facts);
  const Stretch* last = &first;
  uint64_t piece = 0;
  while (last != &stretches.back() && last->end_ns < end) {
    ++last;
    ++piece;
  }
  return {last->trace, PieceOf(sub, piece)};
}

void Writer::WriteSub(const ThreadFacts& thread, SubId sub) {
  const SubComputation& facts = recording_.subs[sub];
  const int64_t end = EndOf(facts);
  const std::string name = FunctionOf(sub);
  // Cut where the thread turned to another request; the first piece has the sub-computation's id.
  uint64_t id = BlockOf(sub);
  int64_t from = facts.start_ns;
  for (uint64_t piece = 0; from < end || piece == 0; ++piece) {
    const Stretch& stretch = At(thread, from);
    const int64_t until =
        &stretch == &stretches_[thread.id].back() ? end : std::min(end, stretch.end_ns);
    body_.Event(EventType::kBlockBegin, stretch.trace, id, stretch.unit, Unix(from), name, 2,
                ++sequence_);
    Label("label:sub_computation", recorder::SubName(facts));
    ThreadId(thread, stretch.trace);
    body_.Event(EventType::kBlockEnd, stretch.trace, id, stretch.unit, Unix(until), {}, 0,
                ++sequence_);
    if (until >= end) break;
    from = until;
    id = PieceOf(sub, piece + 1);
  }
}

void Writer::OpenBlock(const Stretch& stretch, uint64_t cause, int64_t begin_ns,
                       const ThreadFacts& thread, std::string_view name) {
  body_.Event(EventType::kUnitBegin, stretch.trace, stretch.unit, cause, Unix(begin_ns), {}, 1, 0);
  body_.TextRef(stretch.trace == own_trace_ ? "label:thread" : "label:recorded_thread");
  body_.IntValue(thread.tid);
  body_.Event(EventType::kBlockBegin, stretch.trace, stretch.block, stretch.unit, Unix(begin_ns),
              name, thread.id == 0 && stretch.trace == own_trace_ ? 4 : 1, 1);
  ThreadId(thread, stretch.trace);
}

void Writer::CloseBlock(const Stretch& stretch, int64_t end_ns) {
  body_.Event(EventType::kBlockEnd, stretch.trace, stretch.block, stretch.unit, Unix(end_ns), {}, 0,
              ++sequence_);
  body_.Event(EventType::kUnitEnd, stretch.trace, stretch.unit, 0, Unix(end_ns), {}, 0,
              ++sequence_);
}

Status Writer::WriteThread(const ThreadFacts& thread) {
  sequence_ = 1;
  const Stretch& life = stretches_[thread.id].front();
  const auto creation = creations_.find(thread.object);
  const bool main = thread.id == 0;
  const uint64_t cause = main                           ? 0
                         : creation != creations_.end() ? BlockOf(creation->second)
                                                        : LifeBlock(0);
  OpenBlock(life, cause, main ? 0 : thread.start_ns, thread,
            main ? Program() : NameOfThread(thread));
  if (main) {
    Label("label:recording", recording_.complete ? "complete" : "cut off");
    body_.TextRef("counter:threads");
    body_.IntValue(static_cast<int64_t>(recording_.threads.size()));
    body_.TextRef("counter:sub_computations");
    body_.IntValue(static_cast<int64_t>(recording_.subs.size()));
  }
  for (const Stretch& stretch : stretches_[thread.id]) {
    if (stretch.trace == own_trace_) continue;
    OpenBlock(stretch, stretch.cause, stretch.begin_ns, thread, NameOfThread(thread));
  }
  for (SubId sub = thread.subs.begin; sub < thread.subs.end; ++sub) {
    WriteSub(thread, sub);
    if (sub + 1 < thread.subs.end) WriteWait(thread, sub);
    WF_TRY(Offer());
  }
  for (const Stretch& stretch : stretches_[thread.id])
    if (stretch.trace != own_trace_) CloseBlock(stretch, stretch.end_ns);
  CloseBlock(life, LifeEnd(thread));
  return {};
}

Status Writer::Write() {
  for (const ThreadFacts& thread : recording_.threads) stretches_.push_back(StretchesOf(thread));
  FindEdges();
  FindHolds();
  StartBody();
  for (const ThreadFacts& thread : recording_.threads) WF_TRY(WriteThread(thread));
  WriteHolds();
  return take_(body_.Take());
}

}  // namespace

TraceId RecordingTraceId(const Recording& recording) {
  Hasher128 identity;
  identity.Add(recording.started_unix_ns);
  identity.Add(uint64_t{recording.pid});
  const Hash128 hash = identity.Finish();
  return {hash.hi, hash.lo != 0 ? hash.lo : 1};
}

bool IsRecording(std::string_view content) {
  return content.substr(0, sizeof(recorder::kMagic)) ==
         std::string_view(recorder::kMagic, sizeof(recorder::kMagic));
}

Status RecordingToEvents(const recorder::Recording& recording, const TakeEventsBody& take) {
  return Writer(recording, take).Write();
}

}  // namespace wf::recording
