#include "bpf/uprobe.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

namespace wf::bpf {
namespace {

constexpr char kUnit[] = "/sys/bus/event_source/devices/uprobe";

// The number in a file that holds one, after `prefix`.
std::optional<uint32_t> ReadNumber(const std::string& path, const char* format) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return std::nullopt;
  uint32_t number = 0;
  const int read = std::fscanf(file, format, &number);
  std::fclose(file);
  if (read != 1) return std::nullopt;
  return number;
}

// Of the union bpf_attr, for BPF_LINK_CREATE with many uprobes; this system's headers may be older than its kernel.
struct LinkCreate {
  uint32_t program, target, attach_type, flags;
  uint64_t path, offsets, reference_counters, cookies;
  uint32_t count, probe_flags, pid, padding;
};
static_assert(sizeof(LinkCreate) == 64);
constexpr uint32_t kReturnFlag = 1;  // BPF_F_UPROBE_MULTI_RETURN

std::string Whose(const UprobePlaces& places) {
  return places.pid == 0 ? "all processes" : fmt::format("process {}", places.pid);
}

Result<FileDescriptor> AttachLink(const BpfProgram& program, const UprobePlaces& places,
                                  ProbeSite site) {
  LinkCreate attr{};
  attr.program = static_cast<uint32_t>(program.fd());
  attr.attach_type = kUprobeMultiAttachType;
  attr.path = reinterpret_cast<uint64_t>(places.file.c_str());
  attr.offsets = reinterpret_cast<uint64_t>(places.offsets.data());
  if (!places.cookies.empty()) attr.cookies = reinterpret_cast<uint64_t>(places.cookies.data());
  attr.count = static_cast<uint32_t>(places.offsets.size());
  attr.probe_flags = site == ProbeSite::kReturn ? kReturnFlag : 0;
  attr.pid = static_cast<uint32_t>(places.pid);
  const auto fd = static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr));
  if (fd < 0)
    return BpfError(fmt::format("uprobes in {} of {}", places.file, Whose(places)), errno);
  return FileDescriptor(fd);
}

Result<FileDescriptor> AttachEvent(const BpfProgram& program, const UprobePlaces& places,
                                   uint64_t offset, ProbeSite site) {
  const auto type = ReadNumber(std::string(kUnit) + "/type", "%u");
  const auto return_bit = ReadNumber(std::string(kUnit) + "/format/retprobe", "config:%u");
  if (!type || !return_bit || *return_bit > 63) {
    return EnvironmentError(fmt::format("{}: not there", kUnit),
                            "this kernel was built without CONFIG_UPROBE_EVENTS, or /sys is not "
                            "mounted");
  }
  const std::string what =
      fmt::format("uprobe at {}+{:#x} of {}", places.file, offset, Whose(places));
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = *type;
  attr.config = site == ProbeSite::kReturn ? uint64_t{1} << *return_bit : 0;
  attr.config1 = reinterpret_cast<uint64_t>(places.file.c_str());
  attr.config2 = offset;
  // Of all processes: the event must name a processor, but the program runs on every one.
  const pid_t pid = places.pid == 0 ? -1 : places.pid;
  FileDescriptor event(static_cast<int>(syscall(
      SYS_perf_event_open, &attr, pid, places.pid == 0 ? 0 : -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid()) return BpfError(what, errno);
  if (ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program.fd()) != 0) return BpfError(what, errno);
  if (ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return BpfError(what, errno);
  return event;
}

}  // namespace

Result<Uprobe> Uprobe::Attach(const BpfProgram& program, const UprobePlaces& places,
                              ProbeSite site) {
  if (!HasUprobeMulti()) return AttachOneByOne(program, places, site);
  Uprobe probe;
  WF_ASSIGN(FileDescriptor link, AttachLink(program, places, site));
  probe.attachments_.push_back(std::move(link));
  return probe;
}

Result<Uprobe> Uprobe::AttachOneByOne(const BpfProgram& program, const UprobePlaces& places,
                                      ProbeSite site) {
  Uprobe probe;
  for (const uint64_t offset : places.offsets) {
    WF_ASSIGN(FileDescriptor event, AttachEvent(program, places, offset, site));
    probe.attachments_.push_back(std::move(event));
  }
  return probe;
}

}  // namespace wf::bpf
