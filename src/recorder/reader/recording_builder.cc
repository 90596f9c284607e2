#include "recorder/reader/recording_builder.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "recorder/format/varint_cursor.h"
#include "recorder/reader/page_runs.h"
#include "recorder/reader/slot_base.h"

namespace wf::recorder {
namespace {

constexpr uint32_t kMostThreads = 1 << 20;
constexpr uint64_t kMostWritten = uint64_t{1} << 26;  // 256 MB

template <typename T>
bool Take(std::string_view record, T& to) {
  if (record.size() < sizeof(T)) return false;
  std::memcpy(&to, record.data(), sizeof(T));
  return true;
}

int64_t Time(uint64_t ns) { return static_cast<int64_t>(std::min<uint64_t>(ns, INT64_MAX - 1)); }

// The text of `size` bytes that stands at `at`; nothing if the record is shorter.
std::optional<std::string_view> TextAt(std::string_view record, size_t at, size_t size) {
  if (record.size() < at || record.size() - at < size) return std::nullopt;
  return record.substr(at, size);
}

}  // namespace

void RecordingBuilder::ExpectSlots(Before before) {
  slots_ = true;
  base_open_ = before == Before::kOthers;
}

void RecordingBuilder::Add(const Chunk& chunk) {
  if (chunk.kind != ChunkKind::kThread && chunk.kind != ChunkKind::kProcess &&
      chunk.kind != ChunkKind::kCheckpoint)
    return;
  std::string_view left = chunk.payload;
  while (!left.empty()) {
    RecordHead head;
    if (!Take(left, head) || head.size < sizeof head || head.size % 8 != 0 ||
        head.size > left.size()) {
      Count("bytes_of_broken_chunks", left.size());
      return;
    }
    AddRecord(left.substr(0, head.size), chunk);
    left.remove_prefix(head.size);
  }
}

void RecordingBuilder::AddRecord(std::string_view record, const Chunk& chunk) {
  RecordHead head;
  if (!Take(record, head)) return;
  const uint32_t thread = chunk.kind == ChunkKind::kThread ? chunk.thread : kNoThread;
  switch (head.kind) {
    case RecordKind::kThreadStart:
      return AddThreadStart(record);
    case RecordKind::kCut:
      return AddCut(record, thread);
    case RecordKind::kThreadEnd:
      return AddThreadEnd(record, thread);
    case RecordKind::kObject:
      return AddObject(record);
    case RecordKind::kModule:
      return AddModule(record);
    case RecordKind::kPages:
      return AddPages(record, thread);
    case RecordKind::kTransfer:
      return AddTransfer(record, thread);
    case RecordKind::kCrash:
      return AddCrash(record);
    case RecordKind::kThreadBase:
      return AddThreadBase(record);
    case RecordKind::kInside:
      return AddInside(record);
    case RecordKind::kSettled:
      if (base_open_) base_ = EndedOfAll();
      base_open_ = false;
      return;
    case RecordKind::kSnapshot:
      return AddSnapshot(record, chunk.kind);
    case RecordKind::kObjectEnd: {
      ObjectEnd end;
      if (!Take(record, end)) break;
      const uint32_t place = ObjectAt(end.id);
      if (place != kNone) objects_[place].facts.end_ns = Time(end.time_ns);
      return;
    }
    case RecordKind::kThreadName: {
      ThreadName name;
      if (!Take(record, name)) break;
      const auto text = TextAt(record, sizeof name, head.detail);
      if (text && name.thread == kNoThread) {
        program_name_ = *text;
        return;
      }
      ThreadDraft* const named = text ? Thread(name.thread) : nullptr;
      if (named == nullptr) break;
      named->facts.name = *text;
      return;
    }
    case RecordKind::kHost: {
      const auto text = TextAt(record, sizeof(Host), head.detail);
      if (!text) break;
      host_ = *text;
      return;
    }
    case RecordKind::kMemory:
      return AddMemory(record, thread);
    case RecordKind::kAllocation: {
      Allocation one;
      if (!Take(record, one)) break;
      memory_.push_back(
          {Time(one.time_ns), one.address, one.size, one.site.address, thread, false});
      return;
    }
    case RecordKind::kRelease: {
      Release one;
      if (!Take(record, one)) break;
      memory_.push_back({Time(one.time_ns), one.address, 0, 0, thread, true});
      return;
    }
    case RecordKind::kFork: {
      Fork one;
      if (!Take(record, one)) break;
      forks_.push_back({one.number, one.pid});
      return;
    }
    case RecordKind::kTrace: {
      Trace one;
      ThreadDraft* const running = Running(thread);
      if (!Take(record, one) || running == nullptr) break;
      running->traces.push_back(
          {running->running.index, one.trace_high, one.trace_low, one.span, Time(one.time_ns)});
      return;
    }
    case RecordKind::kLost: {
      Lost one;
      if (!Take(record, one)) break;
      const auto text = TextAt(record, sizeof one, head.detail);
      if (!text) break;
      uint64_t& sum = lost_[std::string(*text)];
      sum = one.count > UINT64_MAX - sum ? UINT64_MAX : sum + one.count;
      return;
    }
    default:
      return;  // of a later version: to be skipped
  }
  Count("broken_records");
}

void RecordingBuilder::AddMemory(std::string_view record, uint32_t thread) {
  Memory packed;
  if (!Take(record, packed)) return Count("broken_records");
  VarintCursor cursor(record.substr(sizeof packed));
  uint64_t time = 0, address = 0, site = 0;
  for (uint16_t i = 0; i < packed.head.detail; ++i) {
    uint64_t first = 0, size = 0;
    if (!cursor.Read(first) || !cursor.ReadFrom(address, address)) return Count("broken_records");
    const bool release = (first & 1) != 0;
    if (!release && (!cursor.Read(size) || !cursor.ReadFrom(site, site)))
      return Count("broken_records");
    time += static_cast<uint64_t>(UnZigZag(first >> 1));
    memory_.push_back({Time(time), address, size, release ? 0 : site, thread, release});
  }
}

RecordingBuilder::ThreadDraft* RecordingBuilder::Thread(uint32_t id) {
  // Threads are numbered as they are created, so an id far beyond those seen is invalid and would cost
  // memory.
  ++thread_records_;
  // A file of slots may begin with any number. A million drafts take some hundred megabytes.
  if (id >= threads_.size() + 4096 + 64 * std::min<uint64_t>(thread_records_, 1 << 16) &&
      (!slots_ || id >= kMostThreads))
    return nullptr;
  while (threads_.size() <= id) {
    threads_.emplace_back();
    threads_.back().facts.id = static_cast<uint32_t>(threads_.size() - 1);
  }
  return &threads_[id];
}

RecordingBuilder::ThreadDraft* RecordingBuilder::Running(uint32_t id) {
  if (id >= threads_.size() || !threads_[id].facts.started || threads_[id].facts.ended)
    return nullptr;
  return &threads_[id];
}

uint32_t RecordingBuilder::ObjectAt(uint32_t id) {
  if (id == 0) return kNone;
  const auto [it, added] = object_places_.emplace(id, static_cast<uint32_t>(objects_.size()));
  if (added) {
    objects_.emplace_back();
    objects_.back().facts.id = id;
  }
  return it->second;
}

uint32_t RecordingBuilder::Name(std::string_view text) {
  const auto [it, added] =
      name_places_.emplace(std::string(text), static_cast<uint32_t>(names_.size()));
  if (added) names_.emplace_back(text);
  return it->second;
}

Slice RecordingBuilder::TakeActions(ThreadDraft& thread, std::string_view record, size_t at,
                                    size_t count) {
  Slice slice{static_cast<uint32_t>(thread.actions.size()), 0};
  for (size_t i = 0; i < count; ++i) {
    Action action;
    if (record.size() < at || !Take(record.substr(at), action)) {
      Count("broken_records");
      break;
    }
    at += sizeof action;
    const bool known = action.role >= Role::kReleaseAll && action.role <= Role::kAcquireRound;
    action.object = ObjectAt(action.object);
    if (!known || action.object == kNone) {
      Count("unknown_actions");
      continue;
    }
    thread.actions.push_back(action);
  }
  slice.end = static_cast<uint32_t>(thread.actions.size());
  return slice;
}

void RecordingBuilder::AddThreadStart(std::string_view record) {
  ThreadStart start;
  ThreadDraft* thread = nullptr;
  if (Take(record, start)) thread = Thread(start.thread);
  if (thread == nullptr || thread->facts.started) return Count("broken_records");
  thread->facts.started = true;
  thread->facts.parent = start.parent;
  thread->facts.tid = start.tid;
  thread->facts.start_ns = Time(start.start_ns);
  thread->facts.object = ObjectAt(start.object);
  thread->facts.actions = TakeActions(*thread, record, sizeof start, start.head.detail);
  thread->running = {};
  thread->running.thread = start.thread;
  thread->running.start_ns = Time(start.start_ns);
}

void RecordingBuilder::EndSub(ThreadDraft& thread) {
  NormalisePages(thread.running_pages);
  thread.running.pages = {static_cast<uint32_t>(thread.pages.size()),
                          static_cast<uint32_t>(thread.pages.size() + thread.running_pages.size())};
  thread.pages.insert(thread.pages.end(), thread.running_pages.begin(), thread.running_pages.end());
  thread.running_pages.clear();
  thread.running.transfers.end = static_cast<uint32_t>(thread.transfers.size());
  thread.subs.push_back(thread.running);
}

void RecordingBuilder::AddCut(std::string_view record, uint32_t id) {
  Cut cut;
  ThreadDraft* const thread = Running(id);
  if (!Take(record, cut) || thread == nullptr) return Count("broken_records");
  SubComputation& sub = thread->running;
  // Within a thread time does not run backwards; a damaged record must not make it.
  sub.end_ns = std::max(Time(cut.end_ns), sub.start_ns);
  sub.wait_ns = Time(cut.wait_ns);
  sub.site = cut.site.address;
  sub.object = ObjectAt(cut.object);
  sub.op = static_cast<Op>(cut.head.detail);
  sub.flags = cut.flags;
  sub.actions = TakeActions(*thread, record, sizeof cut, cut.actions);
  thread->inside.known = false;
  EndSub(*thread);
  SubComputation next;
  next.thread = id;
  next.index = next.written_index = sub.index + 1;
  next.start_ns = std::max(Time(cut.start_ns), sub.end_ns);
  next.transfers.begin = static_cast<uint32_t>(thread->transfers.size());
  thread->running = next;
}

void RecordingBuilder::AddThreadEnd(std::string_view record, uint32_t id) {
  ThreadEnd end;
  ThreadDraft* const thread = Running(id);
  if (!Take(record, end) || thread == nullptr) return Count("broken_records");
  SubComputation& sub = thread->running;
  sub.end_ns = std::max(Time(end.end_ns), sub.start_ns);
  sub.site = end.site.address;
  sub.object = ObjectAt(end.object);
  sub.op = static_cast<Op>(end.head.detail);
  sub.inside = end.inside != 0;
  sub.actions = TakeActions(*thread, record, sizeof end, end.actions);
  EndSub(*thread);
  thread->facts.ended = true;
}

void RecordingBuilder::AddObject(std::string_view record) {
  Object object;
  if (!Take(record, object)) return Count("broken_records");
  const uint32_t place = ObjectAt(object.id);
  if (place != kNone && objects_[place].known && slots_) return;  // each slot says it again
  if (place == kNone || objects_[place].known) return Count("broken_records");
  objects_[place].known = true;
  ObjectFacts& facts = objects_[place].facts;
  facts.kind = static_cast<ObjectKind>(object.head.detail);
  facts.thread = facts.kind == ObjectKind::kThread ? object.thread : kNoThread;
  facts.address = object.address;
  facts.begin_ns = Time(object.time_ns);
}

void RecordingBuilder::AddModule(std::string_view record) {
  Module module;
  if (!Take(record, module)) return Count("broken_records");
  const auto text = TextAt(record, sizeof module, module.head.detail);
  if (!text || module.begin >= module.end) return Count("broken_records");
  modules_.push_back({module.begin, module.end, module.offset, Time(module.time_ns), kNotEnded,
                      module.protection, Name(*text)});
}

void RecordingBuilder::AddPages(std::string_view record, uint32_t id) {
  Pages pages;
  ThreadDraft* const thread = Running(id);
  if (!Take(record, pages) || thread == nullptr ||
      pages.runs > (record.size() - sizeof pages) / sizeof(PageRun))
    return Count("broken_records");
  record.remove_prefix(sizeof pages);
  for (uint64_t i = 0; i < pages.runs; ++i) {
    PageRun run;
    if (!Take(record, run)) return;
    record.remove_prefix(sizeof run);
    const uint64_t count = run.count_and_written & ~kWritten;
    if (run.first_page >= kMaxPage || count > kMaxPage - run.first_page || count == 0) {
      Count("broken_page_runs");
      continue;
    }
    thread->running_pages.push_back(
        {run.first_page, count, (run.count_and_written & kWritten) != 0});
  }
}

void RecordingBuilder::AddTransfer(std::string_view record, uint32_t id) {
  Transfer transfer;
  ThreadDraft* const thread = Running(id);
  if (!Take(record, transfer) || thread == nullptr) return Count("broken_records");
  const auto text = TextAt(record, sizeof transfer, transfer.head.detail);
  if (!text || transfer.begin > transfer.end) return Count("broken_records");
  TransferFacts facts;
  facts.kind = transfer.kind;
  facts.flags = transfer.flags;
  facts.op = transfer.op;
  facts.begin = transfer.begin;
  facts.end = transfer.end;
  facts.address = transfer.address;
  facts.stream = transfer.stream;
  facts.time_ns = Time(transfer.time_ns);
  facts.name = Name(*text);
  thread->transfers.push_back(facts);
}

void RecordingBuilder::AddCrash(std::string_view record) {
  Crash crash;
  if (!Take(record, crash)) return Count("broken_records");
  ThreadDraft* const thread = Thread(crash.thread);
  if (thread == nullptr) return Count("broken_records");
  CrashDraft draft;
  draft.facts = {crash.head.detail, crash.thread,       kNone,
                 crash.address,     crash.site.address, Time(crash.time_ns)};
  draft.index = thread->facts.ended && !thread->subs.empty() ? thread->subs.back().index
                                                             : thread->running.index;
  crashes_.push_back(draft);
}

void RecordingBuilder::AddThreadBase(std::string_view record) {
  ThreadBase base;
  if (!Take(record, base)) return Count("broken_records");
  const auto text = TextAt(record, sizeof base, base.head.detail);
  ThreadDraft* const thread = text ? Thread(base.thread) : nullptr;
  if (thread == nullptr || base.index >= kNone / 2) return Count("broken_records");
  // The slots before have said it, and more.
  if (thread->facts.started || !base_open_) return;
  ThreadFacts& facts = thread->facts;
  facts.started = true;
  facts.parent = base.parent;
  facts.tid = base.tid;
  facts.start_ns = Time(base.start_ns);
  facts.object = ObjectAt(base.object);
  facts.name = *text;
  facts.first_index = base.index;
  thread->running = {};
  thread->running.thread = base.thread;
  thread->running.index = thread->running.written_index = base.index;
  thread->running.start_ns = Time(base.running_since_ns);
  if ((base.trace_high | base.trace_low) != 0)
    thread->traces.push_back(
        {base.index, base.trace_high, base.trace_low, base.span, Time(base.running_since_ns)});
}

void RecordingBuilder::AddInside(std::string_view record) {
  Inside inside;
  if (!Take(record, inside)) return Count("broken_records");
  ThreadDraft* const thread = Running(inside.thread);
  if (thread == nullptr) return;  // it began before the kept part
  thread->inside = {true,
                    static_cast<Op>(inside.head.detail),
                    ObjectAt(inside.object),
                    Time(inside.end_ns),
                    inside.site.address,
                    {}};
  // Kept apart: the Cut that comes yet has them too.
  const size_t had = thread->actions.size();
  TakeActions(*thread, record, sizeof inside, inside.actions);
  thread->inside.actions.assign(thread->actions.begin() + static_cast<ptrdiff_t>(had),
                                thread->actions.end());
  thread->actions.resize(had);
}

void RecordingBuilder::AddSnapshot(std::string_view record, ChunkKind where) {
  Snapshot one;
  if (!Take(record, one)) return Count("broken_records");
  snapshots_.push_back({one.number, Time(one.start_ns), Time(one.end_ns), {}});
  if (where != ChunkKind::kCheckpoint) return;
  // Too many snapshots of too many threads would fill the memory: for later ones only the times are kept.
  written_entries_ += threads_.size();
  if (written_entries_ > kMostWritten) return Count("snapshots_told_by_time");
  snapshots_.back().written = EndedOfAll();
}

std::vector<uint32_t> RecordingBuilder::EndedOfAll() const {
  std::vector<uint32_t> out;
  for (const ThreadDraft& thread : threads_) out.push_back(thread.Ended());
  return out;
}

// Nothing came any more: it ended where the call was entered.
void RecordingBuilder::EndInside(ThreadDraft& thread) {
  SubComputation& sub = thread.running;
  sub.end_ns = std::max(thread.inside.end_ns, sub.start_ns);
  sub.site = thread.inside.site;
  sub.object = thread.inside.object;
  sub.op = thread.inside.op;
  sub.inside = true;
  sub.actions.begin = static_cast<uint32_t>(thread.actions.size());
  thread.actions.insert(thread.actions.end(), thread.inside.actions.begin(),
                        thread.inside.actions.end());
  sub.actions.end = static_cast<uint32_t>(thread.actions.size());
}

void RecordingBuilder::LayOutThreads(Recording& recording) {
  for (ThreadDraft& thread : threads_) {
    if (!thread.facts.started || thread.facts.ended) continue;
    if (thread.inside.known) EndInside(thread);
    EndSub(thread);
  }
  // What never settled cannot be distinguished from what came before.
  if (base_open_) base_.assign(threads_.size(), UINT32_MAX);
  if (!base_.empty()) SlotBase(*this).Apply();
  size_t subs = 0, actions = 0, pages = 0, transfers = 0;
  for (ThreadDraft& thread : threads_) {
    subs += thread.subs.size(), actions += thread.actions.size();
    pages += thread.pages.size(), transfers += thread.transfers.size();
  }
  recording.subs.reserve(subs), recording.actions.reserve(actions);
  recording.pages.reserve(pages), recording.transfers.reserve(transfers);
  const auto moved = [](Slice slice, size_t by) {
    return Slice{static_cast<uint32_t>(slice.begin + by), static_cast<uint32_t>(slice.end + by)};
  };
  for (ThreadDraft& thread : threads_) {
    const size_t first = recording.subs.size();
    const size_t action = recording.actions.size(), page = recording.pages.size(),
                 transfer = recording.transfers.size();
    thread.facts.actions = moved(thread.facts.actions, action);
    thread.facts.subs = {static_cast<uint32_t>(first),
                         static_cast<uint32_t>(first + thread.subs.size())};
    for (SubComputation& sub : thread.subs) {
      sub.actions = moved(sub.actions, action);
      sub.pages = moved(sub.pages, page);
      for (uint32_t i = sub.transfers.begin; i < sub.transfers.end; ++i)
        thread.transfers[i].sub = static_cast<SubId>(recording.subs.size());
      sub.transfers = moved(sub.transfers, transfer);
      recording.subs.push_back(sub);
    }
    recording.actions.insert(recording.actions.end(), thread.actions.begin(), thread.actions.end());
    recording.pages.insert(recording.pages.end(), thread.pages.begin(), thread.pages.end());
    recording.transfers.insert(recording.transfers.end(), thread.transfers.begin(),
                               thread.transfers.end());
    for (TraceMark mark : thread.traces) {
      // One from before holds for what is here.
      mark.sub = static_cast<SubId>(first + std::max(mark.sub, thread.facts.first_index) -
                                    thread.facts.first_index);
      if (mark.sub == recording.subs.size()) continue;
      recording.traces.push_back(mark);
    }
    if (thread.facts.name.empty()) thread.facts.name = program_name_;
    if (!thread.facts.started && !slots_) ++recording.lost["threads_without_beginning"];
    recording.threads.push_back(std::move(thread.facts));
    thread = ThreadDraft();
  }
}

// Modules and allocations end where another begins in their place, or where the file says so.
void RecordingBuilder::LayOutMemory(Recording& recording) {
  std::stable_sort(
      modules_.begin(), modules_.end(),
      [](const ModuleFacts& a, const ModuleFacts& b) { return a.from_ns < b.from_ns; });
  std::map<uint64_t, size_t> mapped;  // by begin; those that stand now do not overlap
  for (const ModuleFacts& module : modules_) {
    auto it = mapped.upper_bound(module.begin);
    if (it != mapped.begin()) --it;
    while (it != mapped.end() && it->first < module.end) {
      ModuleFacts& old = recording.modules[it->second];
      if (old.end <= module.begin) {
        ++it;
        continue;
      }
      old.until_ns = module.from_ns;
      // What stays of it beside the new one lives on.
      const ModuleFacts whole = old;
      it = mapped.erase(it);
      if (whole.begin < module.begin) {
        ModuleFacts left = whole;
        left.end = module.begin, left.from_ns = module.from_ns, left.until_ns = kNotEnded;
        mapped[left.begin] = recording.modules.size();
        recording.modules.push_back(left);
      }
      if (whole.end > module.end) {
        ModuleFacts right = whole;
        right.begin = module.end, right.offset += module.end - whole.begin;
        right.from_ns = module.from_ns, right.until_ns = kNotEnded;
        it = mapped.emplace(right.begin, recording.modules.size()).first;
        recording.modules.push_back(right);
        break;
      }
    }
    if (names_[module.path].empty()) continue;
    mapped[module.begin] = recording.modules.size();
    recording.modules.push_back(module);
  }

  std::stable_sort(memory_.begin(), memory_.end(), [](const MemoryEvent& a, const MemoryEvent& b) {
    return std::tie(a.time_ns, b.release) < std::tie(b.time_ns, a.release);
  });
  std::unordered_map<uint64_t, size_t> live;
  for (const MemoryEvent& event : memory_) {
    const auto it = live.find(event.address);
    if (it != live.end()) {
      recording.allocations[it->second].until_ns = event.time_ns;
      live.erase(it);
    }
    if (event.release) continue;
    live[event.address] = recording.allocations.size();
    recording.allocations.push_back(
        {event.address, event.size, event.site, event.time_ns, kNotEnded, event.thread});
  }
  std::stable_sort(recording.allocations.begin(), recording.allocations.end(),
                   [](const AllocationFacts& a, const AllocationFacts& b) {
                     return std::tie(a.address, a.from_ns) < std::tie(b.address, b.from_ns);
                   });
}

void RecordingBuilder::Finish(Recording& recording) {
  recording.host = host_;
  // Places of objects follow their ids from here on.
  std::vector<uint32_t> order(objects_.size()), place(objects_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return objects_[a].facts.id < objects_[b].facts.id; });
  for (uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    if (!objects_[order[i]].known) ++recording.lost["objects_without_beginning"];
    recording.objects.push_back(objects_[order[i]].facts);
  }
  const auto at = [&](uint32_t object) { return object == kNone ? kNone : place[object]; };
  LayOutThreads(recording);
  for (ThreadFacts& thread : recording.threads) thread.object = at(thread.object);
  for (SubComputation& sub : recording.subs) sub.object = at(sub.object);
  for (Action& action : recording.actions) action.object = at(action.object);
  LayOutMemory(recording);
  if (!crashes_.empty()) {
    CrashDraft& first = *std::min_element(
        crashes_.begin(), crashes_.end(),
        [](const CrashDraft& a, const CrashDraft& b) { return a.facts.time_ns < b.facts.time_ns; });
    first.facts.sub = recording.Find(first.facts.thread, first.index);
    recording.crash = first.facts;
  }
  recording.forks = std::move(forks_);
  std::stable_sort(
      snapshots_.begin(), snapshots_.end(),
      [](const SnapshotFacts& a, const SnapshotFacts& b) { return a.number < b.number; });
  recording.snapshots = std::move(snapshots_);
  recording.names = std::move(names_);
  for (const auto& [name, count] : lost_) recording.lost[name] += count;
}

}  // namespace wf::recorder
