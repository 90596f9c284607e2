#include "weaver/woven_query.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <thread>

#include "weaver/record_event.h"

namespace wf::weaver {
namespace {

// Of the machine's first process, as the kernel numbers it (linux/proc_ns.h); there is one such namespace.
constexpr uint64_t kFirstPidNamespace = 0xEFFFFFFCu;
// Ringfuls that one Collect takes at most: programs that fill it faster than it is read would keep us here for ever.
constexpr int kMostRingfuls = 8;

uint64_t NanosOf(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

Error WithAlternative(Error error) {
  if (error.code == ErrorCode::kDenied) {
    error.hint =
        "weaving needs root, or CAP_BPF and CAP_PERFMON (and CAP_SYS_PTRACE for others' "
        "processes); tracepoints compiled in with libwherefore need no privilege";
  }
  return error;
}

// Of queries that join nothing.
class NoBaggage : public advice::Baggage {
 public:
  advice::PackedTuples Unpack(const advice::Program& program, uint32_t slot) override {
    return advice::PackedTuples(program.slots[slot]);
  }
  void Pack(const advice::Program&, uint32_t, int64_t, std::string_view, advice::Rows) override {}
};

bool UnpacksAnything(const advice::Program& program) {
  for (const advice::Advice& advice : program.advice) {
    for (const advice::Step& step : advice.steps)
      if (std::holds_alternative<advice::Unpack>(step)) return true;
  }
  return false;
}

// For all advice at this tracepoint together: for lack of room, only what none of them needs may be dropped.
std::optional<WhenFull> PacksAt(const advice::Program& program, const std::string& tracepoint) {
  std::optional<WhenFull> when_full;
  for (const advice::Advice& advice : program.advice) {
    const auto& names = advice.tracepoints;
    if (std::find(names.begin(), names.end(), tracepoint) == names.end()) continue;
    const auto* pack = std::get_if<advice::Pack>(&advice.steps.back());
    if (pack == nullptr) continue;
    WhenFull own = WhenFull::kLost;
    // The room may be taken by others, unless there are none.
    if (pack->keep == advice::Keep::kFirst && pack->limit == 1 && program.slots.size() == 1)
      own = WhenFull::kDropped;
    if (pack->keep == advice::Keep::kMostRecent && pack->limit == 1) own = WhenFull::kReplacesLast;
    // One that may leave an event out has to see whether it does.
    for (const advice::Step& step : advice.steps)
      if (std::holds_alternative<advice::RequireTuples>(step)) own = WhenFull::kLost;
    when_full = when_full && *when_full != own ? WhenFull::kLost : own;
  }
  return when_full;
}

bool NamesProcesses(const advice::Program& program) {
  for (const advice::Advice& advice : program.advice) {
    for (const advice::Step& step : advice.steps) {
      const auto* observe = std::get_if<advice::Observe>(&step);
      if (observe == nullptr) continue;
      for (const std::string& name : observe->variables)
        if (name == "procName" || name == "host") return true;
    }
  }
  return false;
}

// The export that a hand-off is by.
constexpr char kHandoffKey[] = "key";

std::string HandoffKey(const RecordEvent& event) {
  const advice::Value value = event.Variable(kHandoffKey);
  std::string key = fmt::format("{}:", event.header().process);
  if (const auto* number = std::get_if<int64_t>(&value)) return key + std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return key + "'" + *text;
  return {};
}

// The kernel waits some ten milliseconds at each: side by side that is once.
void CloseSideBySide(std::vector<FileDescriptor> links) {
  constexpr size_t kThreads = 16;
  std::vector<std::thread> threads;
  const size_t count = std::min(kThreads, links.size());
  for (size_t first = 1; first < count; ++first) {
    threads.emplace_back([&links, first, count] {
      for (size_t i = first; i < links.size(); i += count) links[i].Close();
    });
  }
  for (size_t i = 0; i < links.size(); i += std::max<size_t>(count, 1)) links[i].Close();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

class WovenQuery::Emission : public advice::Emitter {
 public:
  explicit Emission(advice::Results& results) : results_(results) {}
  void EmitTuples(const advice::Program&, advice::Rows rows) override { results_.Add(rows); }

 private:
  advice::Results& results_;
};

WovenQuery::WovenQuery(const advice::Program& program, const WeaveOptions& options)
    : program_(program),
      joins_(UnpacksAnything(program)),
      names_(NamesProcesses(program)),
      options_(options),
      tracker_(program_, options.limits),
      processes_([this](uint32_t process) { return LastName(process); }),
      pending_(program_),
      counted_(static_cast<size_t>(Counter::kCount)) {}

WovenQuery::~WovenQuery() { CloseSideBySide(std::move(links_)); }

Result<std::unique_ptr<WovenQuery>> WovenQuery::Create(const advice::Program& program,
                                                       const WeaveOptions& options) {
  std::unique_ptr<WovenQuery> woven(new WovenQuery(program, options));
  const Status started = woven->Start();
  if (!started.ok()) return WithAlternative(started.error());
  return woven;
}

Status WovenQuery::Start() {
  WF_ASSIGN(maps_, WovenMaps::Create(options_.ring_bytes));
  WF_ASSIGN(
      bpf::BpfRingReader reader,
      bpf::BpfRingReader::Open(maps_.ring, [this](std::string_view record) { Take(record); }));
  reader_.emplace(std::move(reader));
  multi_ = options_.link != LinkChoice::kPerf && bpf::HasUprobeMulti();
  if (options_.link == LinkChoice::kMulti && !multi_) {
    return EnvironmentError("--link multi: this kernel has no multi-uprobe links (Linux 6.10)",
                            "--link perf, or auto");
  }
  struct stat own {};
  if (::stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != kFirstPidNamespace) {
    pid_namespace_device_ = own.st_dev;
    pid_namespace_inode_ = own.st_ino;
  }
  SetControl();
  if (joins_) {
    WF_ASSIGN(requests_, RequestMaps::Create());
    if (options_.hand_over == HandOver::kToLinkedProcesses) {
      // Without it the query still runs, and joins what is woven.
      if (const Status started = StartHandOver(); !started.ok())
        notes_.push_back(started.error().message + " (" + started.error().hint + ")");
    }
    WF_ASSIGN(following_, FollowRequests(maps_, *requests_, linked_ ? &linked_->maps() : nullptr));
  }
  return {};
}

Status WovenQuery::StartHandOver() {
  WF_ASSIGN(LinkedMaps maps, MakeLinkedMaps(program_, options_.string_bytes, pid_namespace_device_,
                                            pid_namespace_inode_));
  WF_ASSIGN(linked_, LinkedProcesses::Open(program_.query, std::move(maps),
                                           [this](pid_t process) { return Belongs(process); }));
  return {};
}

bool WovenQuery::Belongs(pid_t process) const {
  const auto file = IdentityOf(fmt::format("/proc/{}/exe", process));
  if (!file) return false;
  if (files_.count(*file) != 0) return true;
  // Woven in a library that it may use.
  const std::string executable = ExecutableOf(process);
  for (uint32_t filter = 0; filter < filters_.size(); ++filter)
    if (Matches(filter, executable)) return true;
  return false;
}

void WovenQuery::SetControl() {
  control_.clock_offset = NanosOf(CLOCK_REALTIME) - NanosOf(CLOCK_MONOTONIC);
  const uint32_t first = 0;
  maps_.control.Put(&first, &control_);
}

uint32_t WovenQuery::AddFilter(std::vector<std::string> executables) {
  const auto known = std::find(filters_.begin(), filters_.end(), executables);
  if (known != filters_.end()) return static_cast<uint32_t>(known - filters_.begin());
  filters_.push_back(std::move(executables));
  return static_cast<uint32_t>(filters_.size() - 1);
}

const advice::Advice* WovenQuery::OnlyAdvice(const std::string& tracepoint) const {
  const advice::Advice* only = nullptr;
  for (const advice::Advice& advice : program_.advice) {
    const auto& names = advice.tracepoints;
    if (std::find(names.begin(), names.end(), tracepoint) == names.end()) continue;
    if (only != nullptr) return nullptr;
    only = &advice;
  }
  // Whether a request is sampled is for user space to find out.
  return program_.sample ? nullptr : only;
}

Status WovenQuery::Prepare(const LocatedTracepoint& located, pid_t pid, const ProcessFilter& filter,
                           Handoff handoff) {
  // Sites that are woven already for another process of the same file.
  LocatedTracepoint fresh = located;
  const auto is_new = [&](const LocatedFunction& function, const ProbeSite& site) {
    const auto file = IdentityOf(function.file).value_or(FileIdentity{});
    files_.insert(file);
    return attached_
        .insert(fmt::format("{}:{}:{:x}:{}:{}", file.device, file.inode, site.offset, pid,
                            located.name))
        .second;
  };
  for (LocatedFunction& function : fresh.functions)
    std::erase_if(function.sites, [&](const ProbeSite& site) { return !is_new(function, site); });
  std::erase_if(fresh.functions, [](const LocatedFunction& f) { return f.sites.empty(); });
  if (fresh.functions.empty()) return {};

  std::vector<std::string> wanted;
  if (handoff != Handoff::kNone) wanted.emplace_back(kHandoffKey);
  for (const advice::Advice& advice : program_.advice) {
    const auto& names = advice.tracepoints;
    if (std::find(names.begin(), names.end(), located.name) == names.end()) continue;
    for (const advice::Step& step : advice.steps) {
      if (const auto* observe = std::get_if<advice::Observe>(&step))
        wanted.insert(wanted.end(), observe->variables.begin(), observe->variables.end());
    }
  }
  for (SiteGroup& group : PlanSites(fresh, wanted, options_.string_bytes, filter)) {
    const Status attached = PrepareGroup(fresh, std::move(group), pid, handoff);
    if (!attached.ok()) return WithAlternative(attached.error());
  }
  return {};
}

Status WovenQuery::PrepareGroup(const LocatedTracepoint& located, SiteGroup group, pid_t pid,
                                Handoff handoff) {
  auto shared = std::make_unique<Shared>();
  if (handoff == Handoff::kNone) shared->advice = OnlyAdvice(located.name);
  if (shared->advice != nullptr)
    shared->plan = PlanKernel(*shared->advice, group.layout, located.name);
  if (shared->plan.groups) {
    WF_ASSIGN(shared->groups, GroupMaps::Create(*shared->plan.groups, options_.groups));
  }
  if (group.calls) {
    const CallExceptions exceptions =
        group.exceptions ? CallExceptions::kTold : CallExceptions::kNotTold;
    WF_ASSIGN(shared->calls, CallMaps::Create(group.layout, exceptions));
  }
  // Ends before entries: a call that is seen to begin is seen to end.
  std::stable_sort(group.programs.begin(), group.programs.end(),
                   [](const SiteProgram& a, const SiteProgram& b) {
                     return (a.kind == SiteKind::kEntry) < (b.kind == SiteKind::kEntry);
                   });
  shared_.push_back(std::move(shared));
  for (const SiteProgram& program : group.programs) {
    uint32_t predicted = 0;
    for (const SitePlace& place : program.places)
      predicted = std::max(predicted, PredictedNanos(place.cost));
    shared_.back()->predicted_ns = std::max(shared_.back()->predicted_ns, predicted);
    sources_.push_back(std::make_unique<Source>(
        Source{located.name, group.layout, program.filter, handoff, predicted}));
    WF_TRY(PrepareProgram(*sources_.back(), program, *shared_.back(), pid));
  }
  return {};
}

Status WovenQuery::PrepareProgram(const Source& source, const SiteProgram& program,
                                  const Shared& shared, pid_t pid) {
  ProgramSpec spec;
  spec.maps = &maps_;
  spec.layout = &source.layout;
  spec.tracepoint = source.tracepoint;
  spec.place = static_cast<uint32_t>(sources_.size() - 1);
  spec.kind = program.kind;
  spec.happens = program.happens;
  spec.frame = &program.frame;
  spec.values = &program.values;
  spec.calls = shared.calls ? &*shared.calls : nullptr;
  spec.advice = shared.advice;
  spec.plan = shared.advice != nullptr ? &shared.plan : nullptr;
  spec.groups = shared.groups ? &*shared.groups : nullptr;
  spec.filter = program.filter;
  spec.names = names_;
  spec.involved = requests_ ? &requests_->involved : nullptr;
  if (const auto packs = PacksAt(program_, source.tracepoint);
      packs && linked_ && program.happens) {
    if (linked_->Describe(spec.place, source.tracepoint, source.layout)) {
      spec.linked = &linked_->maps();
      spec.when_full = *packs;
    } else {
      notes_.push_back(fmt::format(
          "tracepoint '{}': its variables are too large to be handed to processes linked with "
          "libwherefore (--strings makes them smaller)",
          source.tracepoint));
    }
  }
  spec.pid_namespace_device = pid_namespace_device_;
  spec.pid_namespace_inode = pid_namespace_inode_;
  std::map<std::string, std::vector<uint64_t>> files;
  for (const SitePlace& place : program.places) {
    files[place.file].push_back(place.offset);
    places_.push_back({source.tracepoint, place.file, place.function, place.instruction,
                       place.offset, PredictedNanos(place.cost)});
  }
  for (auto& [file, offsets] : files) batch_.Add(EventProgram(spec), file, std::move(offsets), pid);
  return {};
}

Status WovenQuery::AttachWaiting() {
  const Status attached =
      batch_.Attach(multi_ ? ProbeBatch::Links::kMulti : ProbeBatch::Links::kOneByOne, links_);
  if (!attached.ok()) return WithAlternative(attached.error());
  return {};
}

Status WovenQuery::Detach() {
  // Each returns when no thread runs its program any more.
  CloseSideBySide(std::move(links_));
  links_.clear();
  following_.clear();
  linked_.reset();
  return {};
}

Status WovenQuery::Poll(int milliseconds) {
  if (linked_) linked_->Serve();
  WF_TRY(reader_->Poll(milliseconds));
  return {};
}

bool WovenQuery::Matches(uint32_t filter, const std::string& executable) const {
  const auto& patterns = filters_[filter];
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ExecutableMatches(pattern, executable);
  });
}

void WovenQuery::JudgeAgain() {
  std::vector<VerdictKey> keys;
  VerdictKey key, next;
  for (bool more = maps_.verdicts.NextKey(nullptr, &next); more;
       more = maps_.verdicts.NextKey(&key, &next)) {
    keys.push_back(next);
    key = next;
  }
  for (const VerdictKey& each : keys) {
    const std::string executable = ExecutableOf(static_cast<pid_t>(each.process));
    const uint32_t verdict = Matches(each.filter, executable) ? kWanted : kUnwanted;
    if (executable.empty()) {
      maps_.verdicts.Erase(&each);
    } else {
      maps_.verdicts.Put(&each, &verdict);
    }
  }
}

std::string WovenQuery::LastName(uint32_t process) const {
  const uint64_t key = process;
  char name[kThreadNameBytes] = {};
  if (!maps_.names.Lookup(&key, name)) return {};
  return std::string(name, strnlen(name, sizeof name));
}

bool WovenQuery::Wanted(const Source& source, uint32_t process) {
  if (!source.filter) return true;
  const std::string executable = ExecutableOf(static_cast<pid_t>(process));
  if (executable.empty()) {
    ++unjudged_;
    return false;
  }
  const bool wanted = Matches(*source.filter, executable);
  const VerdictKey key{process, *source.filter};
  const uint32_t verdict = wanted ? kWanted : kUnwanted;
  maps_.verdicts.Put(&key, &verdict);
  return wanted;
}

void WovenQuery::Take(std::string_view record) {
  RecordHeader header;
  if (record.size() < sizeof header) return;
  std::memcpy(&header, record.data(), sizeof header);
  if (header.kind > static_cast<uint32_t>(RecordKind::kUnknownProcess)) {
    MessageRecord message;
    if (record.size() < sizeof message) return;
    std::memcpy(&message, record.data(), sizeof message);
    tracker_.Take(message);
    return;
  }
  if (header.place >= sources_.size()) return;
  const Source& source = *sources_[header.place];
  if (record.size() < source.layout.bytes) return;
  if (header.kind == static_cast<uint32_t>(RecordKind::kUnknownProcess) &&
      !Wanted(source, static_cast<uint32_t>(header.process)))
    return;
  const RecordEvent event(record, source.layout, source.tracepoint, processes_, ++events_);
  if (source.handoff == Handoff::kTake) tracker_.TakeOver(header.thread, HandoffKey(event));
  const uint64_t begin = NanosOf(CLOCK_MONOTONIC);
  Run(event, source);
  advice_ns_ += NanosOf(CLOCK_MONOTONIC) - begin + source.predicted_ns;
  if (source.handoff == Handoff::kGive) tracker_.Give(header.thread, HandoffKey(event));
}

void WovenQuery::Run(const RecordEvent& event, const Source& source) {
  Emission emission(pending_);
  bool within = false;
  if (joins_) {
    const uint64_t thread = event.header().thread;
    if (program_.sample) {
      const std::string request = fmt::format("{:016x}", tracker_.StartRequest(thread));
      if (!advice::Sampled(request, *program_.sample)) return;
    }
    RequestTracker::ThreadBaggage baggage(tracker_, thread);
    within = advice::RunAdvice(program_, source.tracepoint, event, baggage, emission);
  } else {
    if (program_.sample && !advice::Sampled(event.id(), *program_.sample)) return;
    NoBaggage baggage;
    within = advice::RunAdvice(program_, source.tracepoint, event, baggage, emission);
  }
  if (!within) ++overflowed_;
}

void WovenQuery::ReadGroups(const Shared& shared, size_t which, advice::Results& results) {
  if (!shared.groups) return;
  const GroupMaps& groups = *shared.groups;
  const bpf::BpfMap& map = groups.maps[which];
  const bool keyed = groups.shape.key_bytes != 0;
  std::vector<std::string> keys;
  std::string key(map.shape().key_bytes, '\0'), next = key;
  for (bool more = map.NextKey(nullptr, next.data()); more;
       more = map.NextKey(key.data(), next.data())) {
    keys.push_back(next);
    key = next;
  }
  const size_t stride = (map.shape().value_bytes + 7) / 8 * 8;
  std::string values(map.value_size(), '\0');
  const std::string zeros(map.value_size(), '\0');
  advice::Rows rows(groups.shape.key.size(), groups.shape.cells.size());
  for (const std::string& each : keys) {
    if (!map.Lookup(each.data(), values.data())) continue;
    for (size_t at = 0; at + stride <= values.size(); at += stride) {
      const uint64_t hits = ReadGroup(
          groups.shape, each, std::string_view(values).substr(at, stride), processes_, rows);
      grouped_ += hits;
      advice_ns_ += hits * shared.predicted_ns;
    }
    if (keyed) {
      map.Erase(each.data());
    } else {
      map.Put(each.data(), zeros.data());
    }
  }
  if (!rows.empty()) results.Add(rows);
}

WeaveCounters WovenQuery::TakeCounters() {
  const uint32_t first = 0;
  std::vector<uint64_t> now(counted_.size());
  maps_.counters.Lookup(&first, now.data());
  const auto since = [&](Counter counter) {
    const auto i = static_cast<size_t>(counter);
    return now[i] - counted_[i];
  };
  WeaveCounters counters;
  counters.lost = since(Counter::kLost) + std::exchange(unjudged_, 0);
  counters.singly = since(Counter::kSingly);
  counters.inexact = since(Counter::kInexact);
  counters.cut_strings = since(Counter::kCutStrings);
  counters.unread = since(Counter::kUnread);
  counters.unpaired = since(Counter::kUnpaired);
  counters.hits =
      since(Counter::kFiltered) + counters.singly + counters.inexact + std::exchange(grouped_, 0);
  counters.overflowed = std::exchange(overflowed_, 0);
  // Which place filtered them is not known: the dearest is taken.
  uint32_t dearest = 0;
  for (const auto& source : sources_) dearest = std::max(dearest, source->predicted_ns);
  counters.advice_ns = std::exchange(advice_ns_, 0) + since(Counter::kFiltered) * dearest;
  counters.unfollowed = since(Counter::kUnfollowed);
  const RequestTracker::Counters requests = tracker_.TakeCounters();
  counters.ambiguous = requests.ambiguous;
  counters.packed_tuples_max = requests.packed_tuples_max;
  counters.baggage_bytes_max = requests.baggage_bytes_max;
  counters.marked = requests.marked;
  counters.overflowed += requests.refused;
  counted_ = std::move(now);
  return counters;
}

Result<WeaveCounters> WovenQuery::Collect(advice::Results& results) {
  if (linked_) linked_->Serve();
  processes_.ForgetReused();
  JudgeAgain();
  const size_t which = control_.active;
  control_.active = 1 - which;
  SetControl();
  // All readers of the old value are done: nothing writes to what is read now, and what was sent is in the
  // ring.
  WF_TRY(bpf::WaitForRunningPrograms());
  for (int i = 0; i < kMostRingfuls; ++i) {
    WF_ASSIGN(const int taken, reader_->Poll(0));
    if (taken == 0) break;
  }
  for (const auto& shared : shared_) ReadGroups(*shared, which, results);
  if (!pending_.empty()) {
    results.Merge(pending_.Encode());
    pending_.Clear();
  }
  return TakeCounters();
}

}  // namespace wf::weaver
