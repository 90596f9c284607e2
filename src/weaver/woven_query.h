// One query, woven: its maps, programs and links, and the reading of what they count. Works on places that
// are already located; weaver.cc decides in which processes to look.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "advice/interpreter.h"
#include "advice/results.h"
#include "bpf/bpf_object.h"
#include "bpf/uprobe.h"
#include "weaver/event_program.h"
#include "weaver/linked_processes.h"
#include "weaver/probe_batch.h"
#include "weaver/probe_site.h"
#include "weaver/process_facts.h"
#include "weaver/record_event.h"
#include "weaver/request_programs.h"
#include "weaver/request_tracker.h"
#include "weaver/site_programs.h"
#include "weaver/tracepoint_file.h"
#include "weaver/weaver.h"
#include "weaver/woven_maps.h"

namespace wf::weaver {

class WovenQuery {
 public:
  static Result<std::unique_ptr<WovenQuery>> Create(const advice::Program& program,
                                                    const WeaveOptions& options);
  ~WovenQuery();
  WovenQuery(const WovenQuery&) = delete;
  WovenQuery& operator=(const WovenQuery&) = delete;

  // Prepares programs for every site that is not woven yet. `pid` 0: any process that runs the file, as far
  // as `filter` allows.
  Status Prepare(const LocatedTracepoint& located, pid_t pid, const ProcessFilter& filter,
                 Handoff handoff = Handoff::kNone);
  // Attaches the probes for what was prepared, all together.
  Status AttachWaiting();
  // Patterns of executables, one of which a process must match; returns the filter's number.
  uint32_t AddFilter(std::vector<std::string> executables);

  Status Poll(int milliseconds);
  Result<WeaveCounters> Collect(advice::Results& results);
  Status Detach();

  const advice::Program& program() const { return program_; }
  const std::vector<WovenPlace>& places() const { return places_; }
  // Problems that did not end the query.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // What a record's `place` stands for.
  struct Source {
    std::string tracepoint;
    RecordLayout layout;
    std::optional<uint32_t> filter;
    Handoff handoff = Handoff::kNone;
    uint32_t predicted_ns = 0;  // per hit
  };
  // What the programs of one SiteGroup share.
  struct Shared {
    const advice::Advice* advice = nullptr;  // null: user space does everything
    KernelPlan plan;
    std::optional<CallMaps> calls;
    std::optional<GroupMaps> groups;
    uint32_t predicted_ns = 0;  // per hit
  };
  class Emission;

  WovenQuery(const advice::Program& program, const WeaveOptions& options);
  Status Start();
  Status PrepareGroup(const LocatedTracepoint& located, SiteGroup group, pid_t pid,
                      Handoff handoff);
  Status PrepareProgram(const Source& source, const SiteProgram& program, const Shared& shared,
                        pid_t pid);
  Status StartHandOver();
  bool Belongs(pid_t process) const;
  const advice::Advice* OnlyAdvice(const std::string& tracepoint) const;
  void Take(std::string_view record);
  void Run(const RecordEvent& event, const Source& source);
  bool Wanted(const Source& source, uint32_t process);
  bool Matches(uint32_t filter, const std::string& executable) const;
  // Judges processes again: they may have executed another program, or their numbers may have been reused.
  void JudgeAgain();
  std::string LastName(uint32_t process) const;
  void SetControl();
  void ReadGroups(const Shared& shared, size_t which, advice::Results& results);
  WeaveCounters TakeCounters();

  const advice::Program program_;
  const bool joins_;  // tuples travel with requests, which are followed
  const bool names_;  // procName or host is used
  const WeaveOptions options_;
  bool multi_ = false;
  uint64_t pid_namespace_device_ = 0, pid_namespace_inode_ = 0;
  WovenMaps maps_;
  Control control_;
  std::optional<RequestMaps> requests_;
  std::vector<bpf::RawTracepoint> following_;
  RequestTracker tracker_;
  std::optional<bpf::BpfRingReader> reader_;
  std::vector<std::unique_ptr<Shared>> shared_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::vector<std::string>> filters_;
  std::set<std::string> attached_;  // sites, so that none is woven twice
  std::set<FileIdentity> files_;    // files that contain them
  ProbeBatch batch_;
  std::vector<FileDescriptor> links_;
  std::vector<WovenPlace> places_;
  ProcessFacts processes_;
  std::unique_ptr<LinkedProcesses> linked_;  // null: no events are passed on
  std::vector<std::string> notes_;
  advice::Results pending_;
  uint64_t events_ = 0, overflowed_ = 0, unjudged_ = 0, grouped_ = 0;
  uint64_t advice_ns_ = 0;
  std::vector<uint64_t> counted_;  // by Counter, what Collect has already reported
};

}  // namespace wf::weaver
