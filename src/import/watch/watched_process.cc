#include "import/watch/watched_process.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "bpf/elf_functions.h"

namespace wf::watch {
namespace {

std::string ReadProc(const std::string& path, size_t most = SIZE_MAX) {
  std::string text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (file == nullptr) return text;
  char buffer[4096];
  for (size_t n; text.size() < most && (n = std::fread(buffer, 1, sizeof buffer, file.get())) > 0;)
    text.append(buffer, n);
  return text;
}

std::string_view TakeLine(std::string_view& text, char end) {
  const size_t at = text.find(end);
  const std::string_view line = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return line;
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool TakeHex(std::string_view& text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// The fields after the command in /proc/PID/stat; the command may hold spaces and parentheses, so count from its end.
uint64_t StartTicks(const std::string& stat) {
  const size_t command_end = stat.rfind(')');
  if (command_end == std::string::npos) return 0;
  std::string_view rest = std::string_view(stat).substr(command_end + 1);
  if (!rest.empty()) rest.remove_prefix(1);
  for (int field = 3; field < 22; ++field) TakeLine(rest, ' ');
  uint64_t ticks = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
  return ticks;
}

std::string ServiceOf(const std::string& folder) {
  const std::string environment = ReadProc(folder + "/environ");
  constexpr std::string_view kKey = "OTEL_SERVICE_NAME=";
  for (std::string_view rest = environment; !rest.empty();) {
    const std::string_view entry = TakeLine(rest, '\0');
    if (entry.substr(0, kKey.size()) == kKey && entry.size() > kKey.size())
      return std::string(entry.substr(kKey.size()));
  }
  const std::string command = ReadProc(folder + "/cmdline");
  const std::string_view program =
      FileName(std::string_view(command).substr(0, command.find('\0')));
  if (!program.empty()) return std::string(program);
  std::string name = ReadProc(folder + "/comm");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

// The last number of "NSpid:	4711	12".
pid_t InnermostPid(const std::string& status, pid_t pid) {
  for (std::string_view rest = status; !rest.empty();) {
    std::string_view line = TakeLine(rest, '\n');
    if (line.substr(0, 6) != "NSpid:") continue;
    line.remove_prefix(line.find_last_of("\t ") + 1);
    std::from_chars(line.data(), line.data() + line.size(), pid);
  }
  return pid;
}

// What follows a file's last mapping may be its zeroed data or other memory; only the file shows it.
std::vector<WatchedProcess::Image> ImagesOf(const WatchedProcess& process) {
  std::vector<WatchedProcess::Image> images;
  std::string_view last;
  for (const ProcessMapping& mapping : process.mappings) {
    if (mapping.file.empty() || mapping.file[0] != '/' || mapping.file == last) continue;
    last = mapping.file;
    const std::string head =
        ReadProc(fmt::format("/proc/{}/root{}", process.pid, mapping.file), 4096);
    const uint64_t bytes = bpf::ElfMemoryBytes(head);
    if (bytes == 0 || bytes > UINT64_MAX - mapping.begin) continue;  // a font, a cache, …
    images.push_back({mapping.begin, mapping.begin + bytes, std::string(FileName(mapping.file))});
  }
  return images;
}

}  // namespace

std::vector<ProcessMapping> ParseMappings(std::string_view text) {
  std::vector<ProcessMapping> mappings;
  while (!text.empty()) {
    // 7f0c12000000-7f0c12021000 r-xp 00001000 fe:00 1234   /usr/lib/libc.so.6
    std::string_view line = TakeLine(text, '\n');
    ProcessMapping mapping;
    if (!TakeHex(line, mapping.begin) || line.empty() || line[0] != '-') continue;
    line.remove_prefix(1);
    if (!TakeHex(line, mapping.end) || line.size() < 5) continue;
    mapping.executable = line[3] == 'x';
    for (int field = 0; field < 5; ++field)
      TakeLine(line, ' ');  // "", rights, offset, device, inode
    const size_t path = line.find_first_not_of(' ');
    if (path != std::string_view::npos) mapping.file = std::string(line.substr(path));
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

Result<WatchedProcess> WatchedProcess::Look(pid_t pid) {
  WatchedProcess process;
  process.pid = pid;
  const std::string folder = fmt::format("/proc/{}", pid);
  const std::string stat = pid > 0 ? ReadProc(folder + "/stat") : std::string();
  if (stat.empty()) {
    return BadInput(fmt::format("--pid {}: no such process", pid),
                    "pgrep -a NAME finds its number");
  }
  process.started = StartTicks(stat);
  struct stat space {};
  if (::stat((folder + "/ns/pid").c_str(), &space) != 0) {
    return Error{ErrorCode::kDenied, fmt::format("process {}: {}", pid, std::strerror(errno)),
                 "run it as root, or as the owner of the process with CAP_SYS_PTRACE"};
  }
  // As the kernel writes a device number inside, which is not what stat returns.
  process.pid_namespace_device =
      static_cast<uint64_t>(major(space.st_dev)) << 20 | minor(space.st_dev);
  process.pid_namespace_inode = space.st_ino;
  process.own_pid = InnermostPid(ReadProc(folder + "/status"), pid);
  process.mappings = ParseMappings(ReadProc(folder + "/maps"));
  process.images = ImagesOf(process);
  process.service = ServiceOf(folder);
  utsname host{};
  if (uname(&host) == 0) process.host = host.nodename;
  return process;
}

std::vector<std::string> WatchedProcess::CodeFiles() const {
  std::vector<std::string> files;
  for (const ProcessMapping& mapping : mappings) {
    if (!mapping.executable || mapping.file.empty() || mapping.file[0] != '/') continue;
    // Through its root, because it may see other files than we do (a container).
    std::string seen = fmt::format("/proc/{}/root{}", pid, mapping.file);
    if (std::find(files.begin(), files.end(), seen) == files.end())
      files.push_back(std::move(seen));
  }
  return files;
}

std::string WatchedProcess::NameOf(uint64_t address) const {
  for (const Image& image : images) {
    if (address >= image.begin && address < image.end)
      return fmt::format("{}+{:#x}", image.name, address - image.begin);
  }
  return fmt::format("{:#x}", address);
}

std::string WatchedProcess::ThreadName(uint32_t thread) const {
  std::string name = ReadProc(fmt::format("/proc/{}/task/{}/comm", pid, thread));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

}  // namespace wf::watch
