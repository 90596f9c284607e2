#include "recorder/launch/embedded_library.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/hash.h"

__asm__(
    ".section .rodata\n"
    ".balign 16\n"
    "wf_record_library:\n"
    ".incbin \"" WF_RECORD_LIBRARY
    "\"\n"
    "wf_record_library_end:\n"
    ".byte 0\n"
    ".balign 16\n"
    "wf_qemu_plugin:\n"
    ".incbin \"" WF_QEMU_PLUGIN
    "\"\n"
    "wf_qemu_plugin_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const char wf_record_library[], wf_record_library_end[];
extern "C" const char wf_qemu_plugin[], wf_qemu_plugin_end[];

namespace wf::recorder {
namespace {

// One of the two.
struct Embedded {
  std::string name;  // without .so
  std::string_view bytes;
};

// LD_PRELOAD separates names by spaces and colons, the emulator its options by commas, and neither knows quotes. A folder mounted noexec cannot be loaded from.
bool FitForPreload(const std::string& folder) {
  if (folder.find_first_of(" :,\t\n") != std::string::npos) return false;
  struct statvfs mount;
  return ::statvfs(folder.c_str(), &mount) != 0 || (mount.f_flag & ST_NOEXEC) == 0;
}

// Owned by us or root, and not writable for others.
bool Trusted(const struct stat& facts) {
  return (facts.st_uid == ::geteuid() || facts.st_uid == 0) &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool Holds(const std::string& path, std::string_view wanted) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  struct stat facts;
  bool same = false;
  if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && Trusted(facts) &&
      static_cast<size_t>(facts.st_size) == wanted.size()) {
    void* at = ::mmap(nullptr, wanted.size(), PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) {
      same = std::memcmp(at, wanted.data(), wanted.size()) == 0;
      ::munmap(at, wanted.size());
    }
  }
  ::close(fd);
  return same;
}

// Installed: PREFIX/lib/libwherefore_record.so (or lib/wherefore) of PREFIX/bin/wherefore; built: lib beside the binary.
std::string Installed(const Embedded& library) {
  char self[4096];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (length <= 0) return {};
  std::string folder(self, static_cast<size_t>(length));
  folder.resize(folder.rfind('/'));
  const std::string above = folder.substr(0, folder.rfind('/'));
  for (const std::string& place : {above + "/lib/wherefore", above + "/lib", folder + "/lib"}) {
    const std::string path = place + "/" + library.name + ".so";
    if (FitForPreload(place) && Holds(path, library.bytes)) return path;
  }
  return {};
}

// The folder, made if it is not there; empty if it cannot be trusted or written.
bool MakeFolder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return false;
  struct stat facts;
  return ::lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && Trusted(facts);
}

bool Unpack(const std::string& path, std::string_view left) {
  const std::string fresh = path + "." + std::to_string(::getpid());
  ::unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  if (fd < 0) return false;
  while (!left.empty()) {
    const ssize_t wrote = ::write(fd, left.data(), left.size());
    if (wrote <= 0) break;
    left.remove_prefix(static_cast<size_t>(wrote));
  }
  const bool whole = left.empty() && ::fchmod(fd, 0755) == 0;
  ::close(fd);
  if (whole && ::rename(fresh.c_str(), path.c_str()) == 0) return true;
  ::unlink(fresh.c_str());
  return false;
}

Result<std::string> OnDisk(const Embedded& library) {
  std::string installed = Installed(library);
  if (!installed.empty()) return installed;
  std::vector<std::string> folders;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && cache[0] == '/') {
    folders.push_back(std::string(cache) + "/wherefore");
  } else if (home != nullptr && home[0] == '/') {
    ::mkdir((std::string(home) + "/.cache").c_str(), 0700);
    folders.push_back(std::string(home) + "/.cache/wherefore");
  }
  for (const char* common : {"/tmp", "/var/tmp", "/dev/shm"})
    folders.push_back(std::string(common) + "/wherefore-" + std::to_string(::geteuid()));
  char hash[17];
  std::snprintf(hash, sizeof(hash), "%016llx",
                static_cast<unsigned long long>(HashBytes(library.bytes)));
  for (const std::string& folder : folders) {
    if (!MakeFolder(folder) || !FitForPreload(folder)) continue;
    const std::string path = folder + "/" + library.name + "-" + hash + ".so";
    if (Holds(path, library.bytes) || (Unpack(path, library.bytes) && Holds(path, library.bytes)))
      return path;
  }
  return EnvironmentError("no place to unpack the recorder's library",
                          "set XDG_CACHE_HOME to a writable folder on a disk without noexec");
}

}  // namespace

std::string_view EmbeddedLibrary() {
  return {wf_record_library, static_cast<size_t>(wf_record_library_end - wf_record_library)};
}
std::string_view EmbeddedPlugin() {
  return {wf_qemu_plugin, static_cast<size_t>(wf_qemu_plugin_end - wf_qemu_plugin)};
}

Result<std::string> LibraryOnDisk() { return OnDisk({"libwherefore_record", EmbeddedLibrary()}); }
Result<std::string> PluginOnDisk() { return OnDisk({"libwherefore_qemu", EmbeddedPlugin()}); }

}  // namespace wf::recorder
