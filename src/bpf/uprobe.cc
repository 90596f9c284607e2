#include "bpf/uprobe.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdio>
#include <optional>

namespace wf {
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

}  // namespace

Result<Uprobe> Uprobe::Attach(const BpfProgram& program, const UprobePlace& place, ProbeSite site) {
  const auto type = ReadNumber(std::string(kUnit) + "/type", "%u");
  const auto return_bit = ReadNumber(std::string(kUnit) + "/format/retprobe", "config:%u");
  if (!type || !return_bit || *return_bit > 63) {
    return EnvironmentError(fmt::format("{}: not there", kUnit),
                            "this kernel was built without CONFIG_UPROBE_EVENTS, or /sys is not "
                            "mounted");
  }
  const std::string what =
      fmt::format("uprobe at {}+{:#x} of process {}", place.file, place.offset, place.pid);
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = *type;
  attr.config = site == ProbeSite::kReturn ? uint64_t{1} << *return_bit : 0;
  attr.config1 = reinterpret_cast<uint64_t>(place.file.c_str());
  attr.config2 = place.offset;
  const auto fd = static_cast<int>(
      syscall(SYS_perf_event_open, &attr, place.pid, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return BpfError(what, errno);
  Uprobe probe;
  probe.event_ = FileDescriptor(fd);
  if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program.fd()) != 0) return BpfError(what, errno);
  if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0) return BpfError(what, errno);
  return probe;
}

}  // namespace wf
