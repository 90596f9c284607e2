// Finds the processes to weave, and weaves them: processes by number, or every process that runs a file of
// some name, now and later. Probes belong to files, so one link serves all processes of a program, including
// those that start later.
#include "weaver/weaver.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "weaver/constant_pages.h"
#include "weaver/locator.h"
#include "weaver/process_facts.h"
#include "weaver/woven_query.h"

namespace wf::weaver {
namespace {

std::vector<std::string> TracepointsOf(const advice::Program& program) {
  std::vector<std::string> names;
  for (const advice::Advice& advice : program.advice) {
    for (const std::string& name : advice.tracepoints)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool HasLibrary(const TracepointDefinition& definition) {
  return std::any_of(definition.locations.begin(), definition.locations.end(),
                     [](const Location& location) { return !location.library.empty(); });
}

bool Joins(const advice::Program& program) {
  return std::any_of(program.advice.begin(), program.advice.end(), [](const advice::Advice& a) {
    return std::any_of(a.steps.begin(), a.steps.end(), [](const advice::Step& step) {
      return std::holds_alternative<advice::Unpack>(step);
    });
  });
}

bool IsPlainPath(const std::string& pattern) {
  return pattern.find('/') != std::string::npos &&
         pattern.find_first_of("*?[") == std::string::npos;
}

class Weaving : public Woven {
 public:
  Weaving(std::vector<TracepointDefinition> definitions, WeaveTarget target)
      : definitions_(std::move(definitions)), target_(std::move(target)) {}

  Status Start(const advice::Program& program, const WeaveOptions& options) {
    WF_TRY(CheckTarget());
    WF_ASSIGN(query_, WovenQuery::Create(program, options));
    if (!target_.pids.empty()) {
      for (const pid_t pid : target_.pids) {
        if (ExecutableOf(pid).empty()) {
          return NotFound(fmt::format("process {}: no such process, or no permission", pid),
                          "ps lists processes; those of others need root or CAP_SYS_PTRACE");
        }
        TouchConstants(pid);
        WF_TRY(WeaveProcess(pid));
      }
    } else {
      WF_TRY(WeaveMatching(Failure::kIsError));
      WF_TRY(WeaveFiles());
    }
    images_.Close();
    WF_TRY(query_->AttachWaiting());
    if (Joins(program)) {
      Note(
          "joins follow requests through threads and the TCP and Unix stream sockets of this host; "
          "not "
          "through io_uring, splice, sendfile, shared memory, pipes, datagrams, nor from thread to "
          "thread "
          "without hand-off points");
    }
    for (const std::string& note : query_->notes()) Note(note);
    return CheckFound();
  }

  Status Poll(int milliseconds) override { return query_->Poll(milliseconds); }

  Result<WeaveCounters> Collect(advice::Results& results) override {
    if (!unwoven_ && target_.pids.empty()) {
      WF_TRY(WeaveMatching(Failure::kIsNote));
      images_.Close();
      if (const Status attached = query_->AttachWaiting(); !attached.ok())
        Note(attached.error().message);
    }
    for (const std::string& note : query_->notes()) Note(note);
    return query_->Collect(results);
  }

  Status Unweave() override {
    unwoven_ = true;
    return query_->Detach();
  }

  const advice::Program& program() const override { return query_->program(); }
  const std::vector<WovenPlace>& places() const override { return query_->places(); }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  enum class Failure : uint8_t { kIsError, kIsNote };

  Status CheckTarget() const {
    if (!target_.pids.empty() || !target_.exes.empty()) return {};
    for (const TracepointDefinition& definition : definitions_) {
      for (const Location& location : definition.locations) {
        if (location.exe.empty()) {
          return BadInput(
              fmt::format("tracepoint '{}': a location names no executable", definition.name),
              "limit it: \"exe\" in the definition, or --pid or --exe");
        }
      }
    }
    return {};
  }

  // Of the tracepoints that are nowhere: an error if that cannot change by itself.
  Status CheckFound() const {
    const std::vector<std::string> named = TracepointsOf(query_->program());
    for (const TracepointDefinition& definition : definitions_) {
      if (found_.count(definition.name) != 0) continue;
      // A hand-off that the query does not name may be another program's.
      if (std::find(named.begin(), named.end(), definition.name) == named.end()) continue;
      const auto why = missing_.find(definition.name);
      if (why != missing_.end() && (!target_.pids.empty() || !target_.exes.empty()))
        return why->second;
      if (target_.exes.empty()) continue;
      return NotFound(fmt::format("tracepoint '{}': no process runs {}", definition.name,
                                  fmt::join(target_.exes, ", ")),
                      "start it, name another with --exe, or give the path of its executable");
    }
    return {};
  }

  Status WeaveProcess(pid_t pid) {
    for (const TracepointDefinition& definition : definitions_) {
      LocateTarget where;
      where.pid = pid;
      WF_TRY(WeaveLocated(definition, where, pid, Failure::kIsError));
    }
    return {};
  }

  bool Matches(const TracepointDefinition& definition, const std::string& executable) const {
    if (!target_.exes.empty()) {
      return std::any_of(target_.exes.begin(), target_.exes.end(),
                         [&](const std::string& p) { return ExecutableMatches(p, executable); });
    }
    return std::any_of(definition.locations.begin(), definition.locations.end(),
                       [&](const Location& l) { return ExecutableMatches(l.exe, executable); });
  }

  // Every process of a wanted program that runs now and was not looked at yet. Of processes of one file one is enough,
  // unless libraries matter: each may have loaded others.
  Status WeaveMatching(Failure failure) {
    std::set<pid_t> alive;
    for (const pid_t pid : AllProcesses()) {
      alive.insert(pid);
      const std::string executable = ExecutableOf(pid);
      if (executable.empty()) continue;
      for (size_t i = 0; i < definitions_.size(); ++i) {
        if (!Matches(definitions_[i], executable)) continue;
        const auto file = IdentityOf(fmt::format("/proc/{}/exe", pid));
        if (!file) continue;
        if (touched_.insert(pid).second) TouchConstants(pid);
        const pid_t whose = HasLibrary(definitions_[i]) ? pid : 0;
        if (!looked_at_.emplace(i, *file, whose).second) continue;
        LocateTarget where;
        where.pid = pid;
        WF_TRY(WeaveLocated(definitions_[i], where, 0, failure));
      }
    }
    std::erase_if(looked_at_, [&](const auto& entry) {
      return std::get<2>(entry) != 0 && alive.count(std::get<2>(entry)) == 0;
    });
    std::erase_if(touched_, [&](pid_t pid) { return alive.count(pid) == 0; });
    return {};
  }

  // Programs that do not run yet, given by their path.
  Status WeaveFiles() {
    for (const std::string& path : target_.exes) {
      const auto file = IsPlainPath(path) ? IdentityOf(path) : std::nullopt;
      if (!file) continue;
      for (size_t i = 0; i < definitions_.size(); ++i) {
        if (found_.count(definitions_[i].name) != 0) continue;
        LocateTarget where;
        where.exe = path;
        WF_TRY(WeaveLocated(definitions_[i], where, 0, Failure::kIsError));
      }
    }
    return {};
  }

  Status WeaveLocated(const TracepointDefinition& definition, const LocateTarget& where, pid_t pid,
                      Failure failure) {
    const auto located = Locate(definition, where, images_);
    if (!located.ok()) {
      if (located.error().code == ErrorCode::kNotFound) {
        missing_.emplace(definition.name, located.error());
        return {};
      }
      if (failure == Failure::kIsError) return located.error();
      Note(located.error().message);
      return {};
    }
    const auto filter = [&](const LocatedFunction& function) -> std::optional<uint32_t> {
      const Location& location = definition.locations[function.location];
      if (pid != 0 || location.library.empty()) return std::nullopt;
      return query_->AddFilter(target_.exes.empty() ? std::vector{location.exe} : target_.exes);
    };
    const Status attached = query_->Prepare(*located, pid, filter, HandoffOf(definition));
    if (!attached.ok()) {
      if (failure == Failure::kIsError) return attached;
      Note(attached.error().message);
      return {};
    }
    found_.insert(definition.name);
    for (const std::string& note : located->notes) Note(note);
    for (const LocatedFunction& function : located->functions)
      for (const std::string& note : function.notes) Note(note);
    return {};
  }

  // Hand-offs matter only where tuples go with requests.
  Handoff HandoffOf(const TracepointDefinition& definition) const {
    return Joins(query_->program()) ? definition.handoff : Handoff::kNone;
  }

  void Note(const std::string& note) {
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
  }

  // Those that the program names, and hand-offs.
  const std::vector<TracepointDefinition> definitions_;
  const WeaveTarget target_;
  std::unique_ptr<WovenQuery> query_;
  OpenImages images_;            // while it is looked for tracepoints
  std::set<std::string> found_;  // tracepoints that are somewhere
  std::map<std::string, Error> missing_;
  std::set<std::tuple<size_t, FileIdentity, pid_t>> looked_at_;
  std::set<pid_t> touched_;
  std::vector<std::string> notes_;
  bool unwoven_ = false;
};

}  // namespace

Result<LinkChoice> ParseLinkChoice(std::string_view text) {
  if (text == "auto") return LinkChoice::kAuto;
  if (text == "multi") return LinkChoice::kMulti;
  if (text == "perf") return LinkChoice::kPerf;
  return BadInput(fmt::format("--link {}: not known", text), "auto, multi or perf");
}

Result<std::unique_ptr<Woven>> Woven::Weave(const advice::Program& program,
                                            const std::vector<TracepointDefinition>& definitions,
                                            const WeaveTarget& target,
                                            const WeaveOptions& options) {
  if (options.string_bytes < 8 || options.string_bytes > 256)
    return BadInput(fmt::format("strings of {} bytes", options.string_bytes), "8 to 256");
  std::vector<TracepointDefinition> used;
  for (const std::string& name : TracepointsOf(program)) {
    const auto definition =
        std::find_if(definitions.begin(), definitions.end(),
                     [&](const TracepointDefinition& d) { return d.name == name; });
    if (definition == definitions.end()) {
      std::vector<std::string> known;
      for (const TracepointDefinition& d : definitions) known.push_back(d.name);
      return BadInput(fmt::format("tracepoint '{}': not defined", name),
                      known.empty() ? "define it: --tracepoint-file FILE"
                                    : fmt::format("defined are: {}", fmt::join(known, ", ")));
    }
    used.push_back(*definition);
  }
  if (Joins(program)) {
    for (const TracepointDefinition& d : definitions) {
      const bool is_used = std::any_of(used.begin(), used.end(),
                                       [&](const auto& each) { return each.name == d.name; });
      if (d.handoff != Handoff::kNone && !is_used) used.push_back(d);
    }
  }
  auto weaving = std::make_unique<Weaving>(std::move(used), target);
  WF_TRY(weaving->Start(program, options));
  return std::unique_ptr<Woven>(std::move(weaving));
}

}  // namespace wf::weaver
