#include "import/watch/lock_probe.h"

#include <fmt/format.h>

#include <cstring>

#include "bpf/uprobe.h"
#include "import/watch/lock_functions.h"
#include "import/watch/lock_programs.h"

namespace wf::watch {
namespace {

// The places of one file that do the same.
struct SameCall {
  LockCall call;
  bpf::UprobePlaces at;
};

// In the order in which probes are attached: a release that is seen without its acquisition is counted, an acquisition
// without its release would stay for ever.
std::vector<SameCall> ByFileAndCall(const std::vector<LockFunctionPlace>& found, pid_t pid) {
  std::vector<SameCall> groups;
  for (const LockCall call : {LockCall::kUnlocks, LockCall::kWaits, LockCall::kLocks,
                              LockCall::kReadLocks, LockCall::kWriteLocks}) {
    for (const LockFunctionPlace& place : found) {
      if (kLockFunctions[place.function].call != call) continue;
      if (groups.empty() || groups.back().call != call || groups.back().at.file != place.file)
        groups.push_back({call, {place.file, {}, pid}});
      groups.back().at.offsets.push_back(place.offset);
    }
  }
  return groups;
}

class AttachedLockProbe : public LockProbe {
 public:
  AttachedLockProbe(LockMaps maps, bpf::BpfRingReader reader)
      : maps_(std::move(maps)), reader_(std::move(reader)) {}

  Status Attach(const WatchedProcess& process, const LockProbeOptions& options) {
    const LockProgramSettings settings{options.at_least, process.pid_namespace_device,
                                       process.pid_namespace_inode};
    const auto load = [](const char* name, const std::vector<bpf_insn>& text) {
      return bpf::BpfProgram::Load(name, bpf::BpfProgramType::kProbe, text);
    };
    WF_ASSIGN(const bpf::BpfProgram ask,
              load("wf_ask", AskProgram(maps_, settings, LockMode::kMutex)));
    WF_ASSIGN(const bpf::BpfProgram ask_read,
              load("wf_ask_read", AskProgram(maps_, settings, LockMode::kRead)));
    WF_ASSIGN(const bpf::BpfProgram ask_write,
              load("wf_ask_write", AskProgram(maps_, settings, LockMode::kWrite)));
    WF_ASSIGN(const bpf::BpfProgram got, load("wf_got", GotProgram(maps_, settings)));
    WF_ASSIGN(const bpf::BpfProgram release, load("wf_release", ReleaseProgram(maps_, settings)));
    WF_ASSIGN(const bpf::BpfProgram condition,
              load("wf_condition", ConditionProgram(maps_, settings)));

    const std::vector<SameCall> places = ByFileAndCall(FindLockFunctions(process), process.pid);
    if (places.empty()) {
      return BadInput(
          fmt::format("process {}: no pthread_mutex_lock in any of its files", process.pid),
          "it may use other locks (as Go does), or its static binary is stripped");
    }
    for (const SameCall& place : places) {
      const auto attach = [&](const bpf::BpfProgram& program, bpf::ProbeSite site) -> Status {
        WF_ASSIGN(bpf::Uprobe probe, bpf::Uprobe::Attach(program, place.at, site));
        probes_.push_back(std::move(probe));
        places_ += place.at.offsets.size();
        return {};
      };
      switch (place.call) {
        case LockCall::kUnlocks:
          WF_TRY(attach(release, bpf::ProbeSite::kEntry));
          break;
        case LockCall::kWaits:
          WF_TRY(attach(condition, bpf::ProbeSite::kEntry));
          break;
        case LockCall::kLocks:
          WF_TRY(attach(got, bpf::ProbeSite::kReturn));
          WF_TRY(attach(ask, bpf::ProbeSite::kEntry));
          break;
        case LockCall::kReadLocks:
          WF_TRY(attach(got, bpf::ProbeSite::kReturn));
          WF_TRY(attach(ask_read, bpf::ProbeSite::kEntry));
          break;
        case LockCall::kWriteLocks:
          WF_TRY(attach(got, bpf::ProbeSite::kReturn));
          WF_TRY(attach(ask_write, bpf::ProbeSite::kEntry));
          break;
      }
    }
    return {};
  }

  Status Poll(int milliseconds) override {
    WF_TRY(reader_.Poll(milliseconds));
    return {};
  }
  std::vector<LockHolding> Unfinished() const override { return maps_.Unfinished(); }
  LockProbeCounters Counters() const override { return maps_.Counters(); }
  size_t probes() const override { return places_; }

 private:
  LockMaps maps_;
  bpf::BpfRingReader reader_;
  size_t places_ = 0;
  // Detached first; programs live as long as what they are attached to.
  std::vector<bpf::Uprobe> probes_;
};

}  // namespace

Result<std::unique_ptr<LockProbe>> LockProbe::Attach(const WatchedProcess& process,
                                                     const LockProbeOptions& options, Take take) {
  WF_ASSIGN(LockMaps maps, LockMaps::Create());
  WF_ASSIGN(bpf::BpfRingReader reader,
            bpf::BpfRingReader::Open(maps.ring, [take = std::move(take)](std::string_view bytes) {
              LockRecord record;
              if (bytes.size() < sizeof record) return;
              std::memcpy(&record, bytes.data(), sizeof record);
              take(HoldingOf(record));
            }));
  auto probe = std::make_unique<AttachedLockProbe>(std::move(maps), std::move(reader));
  WF_TRY(probe->Attach(process, options));
  return std::unique_ptr<LockProbe>(std::move(probe));
}

}  // namespace wf::watch
