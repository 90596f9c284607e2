#include "import/watch/io_probe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bpf/raw_tracepoint.h"

namespace wf::watch {
namespace {

// Of the machine's first process, as the kernel numbers it (linux/proc_ns.h); there is one such namespace.
constexpr uint64_t kFirstPidNamespace = 0xEFFFFFFCu;

class AttachedIoProbe : public IoProbe {
 public:
  AttachedIoProbe(IoMaps maps, Take take) : maps_(std::move(maps)), take_(std::move(take)) {}

  Status Attach(const std::vector<uint32_t>& only) {
    const auto keep = [this](std::string_view bytes) {
      if (bytes.size() < kShortIoRecord) return;
      std::memcpy(&batch_.emplace_back(), bytes.data(), std::min(bytes.size(), sizeof(IoRecord)));
    };
    for (const bpf::BpfMap* ring : {&maps_.opened, &maps_.ring}) {
      WF_ASSIGN(bpf::BpfRingReader reader, bpf::BpfRingReader::Open(*ring, keep));
      readers_.push_back(std::move(reader));
    }
    IoProgramSettings settings;
    struct stat own {};
    if (::stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != kFirstPidNamespace) {
      settings.pid_namespace_device = own.st_dev;
      settings.pid_namespace_inode = own.st_ino;
    }
    maps_.IgnoreProcess(static_cast<uint32_t>(::getpid()));
    for (const uint32_t process : only) maps_.WantProcess(process);
    if (!only.empty()) settings.unknown = IoProgramSettings::Unknown::kIgnored;
    const auto load = [](const char* name, const std::vector<bpf_insn>& text) {
      return bpf::BpfProgram::Load(name, bpf::BpfProgramType::kTracepoint, text);
    };
    WF_ASSIGN(const bpf::BpfProgram enter, load("wf_io_enter", EnterProgram(maps_, settings)));
    WF_ASSIGN(const bpf::BpfProgram leave, load("wf_io_leave", LeaveProgram(maps_, settings)));
    // The end first: a call that is seen to begin is seen to end.
    for (const auto& [program, name] :
         {std::pair(&leave, "sys_exit"), std::pair(&enter, "sys_enter")}) {
      WF_ASSIGN(bpf::RawTracepoint tracepoint, bpf::RawTracepoint::Attach(*program, name));
      tracepoints_.push_back(std::move(tracepoint));
    }
    return {};
  }

  Status Poll(int milliseconds) override {
    WF_TRY(readers_[0].Poll(milliseconds));
    WF_TRY(readers_[1].Poll(0));
    order_.clear();
    for (uint32_t i = 0; i < batch_.size(); ++i) order_.emplace_back(batch_[i].time, i);
    std::sort(order_.begin(), order_.end());
    for (const auto& [time, i] : order_) take_(batch_[i]);
    batch_.clear();
    return {};
  }
  void IgnoreProcess(uint32_t process) override { maps_.IgnoreProcess(process); }
  void IgnoreDescriptor(uint32_t process, int fd) override { maps_.IgnoreDescriptor(process, fd); }
  void KnowDescriptor(uint32_t process, int fd) override { maps_.KnowDescriptor(process, fd); }
  IoCounters Counters() const override { return maps_.Counters(); }
  void Detach() override { tracepoints_.clear(); }

 private:
  IoMaps maps_;
  const Take take_;
  std::vector<bpf::BpfRingReader> readers_;  // of what opens, and of the rest
  std::vector<IoRecord> batch_;
  std::vector<std::pair<uint64_t, uint32_t>> order_;  // of the batch: time and place
  std::vector<bpf::RawTracepoint> tracepoints_;       // detached first
};

}  // namespace

Result<std::unique_ptr<IoProbe>> IoProbe::Attach(const std::vector<uint32_t>& only, Take take) {
  WF_ASSIGN(IoMaps maps, IoMaps::Create());
  auto probe = std::make_unique<AttachedIoProbe>(std::move(maps), std::move(take));
  WF_TRY(probe->Attach(only));
  return std::unique_ptr<IoProbe>(std::move(probe));
}

}  // namespace wf::watch
