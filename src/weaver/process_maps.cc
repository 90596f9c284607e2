#include "weaver/process_maps.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

namespace wf::weaver {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// The word at `at`, which moves behind it and the blanks that follow.
std::string_view NextWord(std::string_view line, size_t& at) {
  const size_t end = std::min(line.find(' ', at), line.size());
  const std::string_view word = line.substr(at, end - at);
  at = std::min(line.find_first_not_of(' ', end), line.size());
  return word;
}

template <int kBase>
bool ParseNumber(std::string_view text, uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, kBase);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::string ReadLink(const std::string& path) {
  std::array<char, 4096> target;
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<size_t>(size)) : std::string();
}

enum class Seen : uint8_t { kNothing, kAnother, kSame };

// Whether a path leads to the same file from here as it does through the process's root.
Seen Compare(const std::string& here, const std::string& there) {
  struct stat a {
  }, b{};
  if (stat(there.c_str(), &b) != 0) return Seen::kNothing;
  const bool same = stat(here.c_str(), &a) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  return same ? Seen::kSame : Seen::kAnother;
}

}  // namespace

std::vector<MappedFile> ParseMaps(std::string_view text) {
  std::vector<MappedFile> out;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    size_t at = 0;
    const std::string_view range = NextWord(line, at);
    const std::string_view rights = NextWord(line, at);
    NextWord(line, at);  // offset
    MappedFile file;
    file.device = std::string(NextWord(line, at));
    const std::string_view inode = NextWord(line, at);
    std::string_view path = line.substr(at);
    if (!ParseNumber<10>(inode, file.inode) || !path.starts_with('/') || rights.size() != 4)
      continue;
    if (!ParseNumber<16>(range.substr(0, range.find('-')), file.lowest)) continue;
    file.executable = rights[2] == 'x';
    if (path.ends_with(kDeleted)) {
      file.deleted = true;
      path.remove_suffix(kDeleted.size());
    }
    file.path = std::string(path);
    // The kernel writes a newline within a name as \012; such a name we would not find again.
    const auto same = std::find_if(out.begin(), out.end(), [&](const MappedFile& other) {
      return other.path == file.path && other.inode == file.inode && other.device == file.device;
    });
    if (same == out.end()) {
      out.push_back(std::move(file));
    } else {
      same->executable |= file.executable;
      same->lowest = std::min(same->lowest, file.lowest);
    }
  }
  return out;
}

Result<LoadedObjects> FindLoadedObjects(pid_t pid) {
  const std::string base = fmt::format("/proc/{}", pid);
  const std::string exe = ReadLink(base + "/exe");
  if (exe.empty()) {
    const int code = errno;
    if (code == EACCES || code == EPERM) {
      return Denied(fmt::format("process {}: {}", pid, std::strerror(code)),
                    "reading another user's process needs root or CAP_SYS_PTRACE");
    }
    return NotFound(fmt::format("process {}: {}", pid,
                                code == ENOENT && access(base.c_str(), F_OK) == 0
                                    ? "is a thread of the kernel or has ended"
                                    : "no such process"),
                    "ps -e lists processes");
  }
  std::ifstream maps(base + "/maps");
  if (!maps) {
    return Denied(fmt::format("{}/maps: {}", base, std::strerror(errno)),
                  "reading another user's process needs root or CAP_SYS_PTRACE");
  }
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  // Paths through the process's own root: in a container the same name is another file here. Where the roots agree the
  // plain path serves, and stays good when the process has gone.
  const std::string root = base + "/root";
  LoadedObjects out;
  std::string_view exe_path = exe;
  if (exe_path.ends_with(kDeleted)) exe_path.remove_suffix(kDeleted.size());
  for (const MappedFile& file : ParseMaps(text)) {
    if (!file.executable) continue;
    LoadedObject object;
    object.seen_as = file.path;
    object.executable = file.path == exe_path;
    const Seen seen = file.deleted ? Seen::kNothing : Compare(file.path, root + file.path);
    if (seen == Seen::kSame) {
      object.file = file.path;
    } else if (seen == Seen::kAnother) {
      object.file = root + file.path;
    } else if (object.executable) {
      object.file = base + "/exe";  // works even when the file was deleted
    } else {
      out.notes.push_back(fmt::format(
          "{}: loaded by process {}, but replaced or deleted since; start it anew to look into it",
          file.path, pid));
      continue;
    }
    out.objects.push_back(std::move(object));
  }
  std::stable_sort(
      out.objects.begin(), out.objects.end(),
      [](const LoadedObject& a, const LoadedObject& b) { return a.executable && !b.executable; });
  return out;
}

}  // namespace wf::weaver
