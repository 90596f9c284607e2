#include "weaver/needed_libraries.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/file_descriptor.h"
#include "elf/elf_image.h"

namespace wf::weaver {
namespace {

constexpr size_t kMaxLibraries = 1000;
constexpr std::array<std::string_view, 7> kFolders{"/lib/x86_64-linux-gnu",
                                                   "/usr/lib/x86_64-linux-gnu",
                                                   "/lib64",
                                                   "/usr/lib64",
                                                   "/lib",
                                                   "/usr/lib",
                                                   "/usr/local/lib"};

struct Needs {
  std::vector<std::string> libraries;
  std::vector<std::string> folders;  // its run path
};

Result<Needs> ReadNeeds(const std::string& file) {
  elf_version(EV_CURRENT);
  const FileDescriptor fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0)
    return NotFound(fmt::format("{}: {}", file, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return BadInput(fmt::format("{}: is not a file", file));
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd.get(), ELF_C_READ, nullptr), &elf_end);
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF)
    return BadInput(fmt::format("{}: is not an ELF file", file));
  Needs out;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    const size_t count =
        data == nullptr || data->d_buf == nullptr ? 0 : data->d_size / sizeof(Elf64_Dyn);
    for (size_t i = 0; i < count; ++i) {
      GElf_Dyn entry;
      if (gelf_getdyn(data, static_cast<int>(i), &entry) == nullptr) break;
      if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH)
        continue;
      const char* text = elf_strptr(elf.get(), header.sh_link, entry.d_un.d_val);
      if (text == nullptr) continue;
      if (entry.d_tag == DT_NEEDED) {
        out.libraries.emplace_back(text);
        continue;
      }
      std::string_view rest = text;
      while (!rest.empty()) {
        const size_t colon = std::min(rest.find(':'), rest.size());
        std::string folder(rest.substr(0, colon));
        for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
          const size_t at = folder.find(origin);
          if (at != std::string::npos)
            folder.replace(at, origin.size(), file.substr(0, file.rfind('/')));
        }
        out.folders.push_back(std::move(folder));
        rest.remove_prefix(std::min(colon + 1, rest.size()));
      }
    }
  }
  return out;
}

std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : std::string();
}

std::string FindLibrary(const std::string& name, const std::vector<std::string>& folders) {
  if (name.find('/') != std::string::npos) return RealPath(name);
  for (const std::string& folder : folders) {
    if (auto path = RealPath(folder + "/" + name); !path.empty()) return path;
  }
  for (const std::string_view folder : kFolders) {
    if (auto path = RealPath(std::string(folder) + "/" + name); !path.empty()) return path;
  }
  return {};
}

}  // namespace

Result<std::vector<LoadedObject>> FindNeededLibraries(const std::string& exe) {
  const std::string path = RealPath(exe);
  if (path.empty()) return NotFound(fmt::format("{}: {}", exe, std::strerror(errno)));
  std::vector<LoadedObject> out{{path, path, true}};
  for (size_t i = 0; i < out.size() && out.size() < kMaxLibraries; ++i) {
    const auto needs = ReadNeeds(out[i].file);
    if (!needs.ok()) {
      if (i == 0) return needs.error();
      continue;
    }
    for (const std::string& name : needs->libraries) {
      const std::string library = FindLibrary(name, needs->folders);
      const bool known = std::any_of(out.begin(), out.end(), [&](const LoadedObject& object) {
        return object.file == library;
      });
      if (!library.empty() && !known) out.push_back({library, library, false});
    }
  }
  return out;
}

}  // namespace wf::weaver
