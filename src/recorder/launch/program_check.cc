#include "recorder/launch/program_check.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace wf::recorder {
namespace {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat facts;
    if (::fstat(fd, &facts) == 0 && facts.st_size > 0) {
      void* at = ::mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (at != MAP_FAILED)
        bytes_ = {static_cast<const char*>(at), static_cast<size_t>(facts.st_size)};
    }
    ::close(fd);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// A structure of the file, or nothing if the file ends before it does.
template <typename T>
bool ReadAt(std::string_view file, uint64_t offset, T& value) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return true;
}

class ElfProgram {
 public:
  explicit ElfProgram(std::string_view file) : file_(file) {}

  bool Parse() { return ReadAt(file_, 0, head_) && head_.e_phentsize == sizeof(Elf64_Phdr); }

  template <typename Visit>
  void Segments(const Visit& visit) const {
    for (uint16_t i = 0; i < head_.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!ReadAt(file_, head_.e_phoff + uint64_t{i} * sizeof(segment), segment)) return;
      visit(segment);
    }
  }
  bool HasSegment(uint32_t type) const {
    bool has = false;
    Segments([&](const Elf64_Phdr& segment) { has = has || segment.p_type == type; });
    return has;
  }
  // An undefined symbol of the dynamic symbol table. Without section headers nothing is known, and nothing found.
  bool Imports(std::string_view name) const {
    for (uint16_t i = 0; i < head_.e_shnum; ++i) {
      Elf64_Shdr section, strings;
      if (!Section(i, section) || section.sh_type != SHT_DYNSYM ||
          !Section(section.sh_link, strings))
        continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        if (!ReadAt(file_, section.sh_offset + at, symbol)) break;
        if (symbol.st_shndx == SHN_UNDEF && NameAt(strings, symbol.st_name) == name) return true;
      }
    }
    return false;
  }
  // mov $clone or $clone3, %eax and, close behind, syscall: threads made by hand.
  bool CallsCloneByHand() const {
    bool found = false;
    Segments([&](const Elf64_Phdr& segment) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 ||
          segment.p_offset > file_.size())
        return;
      const std::string_view code = file_.substr(segment.p_offset, segment.p_filesz);
      for (const std::string_view move : {std::string_view("\xb8\x38\x00\x00\x00", 5),
                                          std::string_view("\xb8\xb3\x01\x00\x00", 5)}) {
        for (size_t at = code.find(move); at != code.npos && !found; at = code.find(move, at + 1))
          found = code.substr(at, 48).find("\x0f\x05") != code.npos;
      }
    });
    return found;
  }
  const Elf64_Ehdr& head() const { return head_; }

 private:
  bool Section(uint32_t index, Elf64_Shdr& section) const {
    return index < head_.e_shnum &&
           ReadAt(file_, head_.e_shoff + uint64_t{index} * sizeof(section), section);
  }
  std::string_view NameAt(const Elf64_Shdr& strings, uint32_t offset) const {
    const uint64_t at = strings.sh_offset + offset;
    if (at >= file_.size()) return {};
    const std::string_view rest = file_.substr(at);
    return rest.substr(0, rest.find('\0'));
  }

  std::string_view file_;
  Elf64_Ehdr head_ = {};
};

std::string WhyNotElf(std::string_view file) {
  if (file[EI_CLASS] == ELFCLASS32) return "it is a 32-bit program, and the recorder is 64-bit";
  ElfProgram program(file);
  if (!program.Parse()) return "its ELF header is damaged";
  if (program.head().e_machine != EM_X86_64) return "it is not a program for x86-64";
  if (!program.HasSegment(PT_INTERP))
    return "it is statically linked, so nothing can be preloaded into it; link it dynamically";
  if (program.Imports("clone"))
    return "it imports clone(): threads made so are not seen by the recorder; use pthread_create";
  if (program.CallsCloneByHand())
    return "it makes threads by a clone system call of its own, which the recorder does not see";
  return {};
}

// "#! /usr/bin/env -S python3" → "/usr/bin/env".
std::string InterpreterOf(std::string_view file) {
  std::string_view line = file.substr(2, 254);
  line = line.substr(0, line.find('\n'));
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == line.npos) return {};
  line.remove_prefix(begin);
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

}  // namespace

FoundProgram FindProgram(const std::string& name) {
  const auto judge = [](const std::string& path) {
    struct stat facts;
    if (::stat(path.c_str(), &facts) != 0) return errno == ENOTDIR ? ENOENT : errno;
    if (S_ISDIR(facts.st_mode) || ::access(path.c_str(), X_OK) != 0) return EACCES;
    return 0;
  };
  if (name.find('/') != std::string::npos) return {name, judge(name)};
  const char* path = std::getenv("PATH");
  std::string_view left = path != nullptr ? path : "/bin:/usr/bin";
  int error = ENOENT;
  while (true) {
    const size_t colon = left.find(':');
    const std::string folder(left.substr(0, colon));
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    const int found = name.empty() ? ENOENT : judge(candidate);
    if (found == 0) return {candidate, 0};
    if (found == EACCES) error = EACCES;
    if (colon == left.npos) return {name, error};
    left.remove_prefix(colon + 1);
  }
}

std::string WhyNotRecordable(const std::string& path) {
  std::string current = path;
  for (int depth = 0; depth < 5; ++depth) {
    struct stat facts;
    if (::stat(current.c_str(), &facts) == 0 && (facts.st_mode & (S_ISUID | S_ISGID)) != 0 &&
        !(S_ISREG(facts.st_mode) && (facts.st_mode & S_IXGRP) == 0 &&
          (facts.st_mode & S_ISUID) == 0))
      return "it is set-user-id or set-group-id, and the system lets nothing be preloaded into "
             "such programs";
    char capabilities[64];
    if (::getxattr(current.c_str(), "security.capability", capabilities, sizeof(capabilities)) > 0)
      return "it has file capabilities, and the system lets nothing be preloaded into such "
             "programs";
    const MappedFile file(current);
    const std::string_view bytes = file.bytes();
    if (bytes.size() > sizeof(Elf32_Ehdr) && bytes.substr(0, 4) == ELFMAG) return WhyNotElf(bytes);
    if (bytes.size() < 3 || bytes.substr(0, 2) != "#!")
      return {};  // exec says what is wrong with it
    current = InterpreterOf(bytes);
    if (current.empty()) return {};
  }
  return {};
}

bool ProgramImports(const std::string& path, const std::string& symbol) {
  const MappedFile file(path);
  if (file.bytes().substr(0, 4) != ELFMAG) return false;
  ElfProgram program(file.bytes());
  return program.Parse() && program.Imports(symbol);
}

std::vector<std::string> InterpreterOf(const std::string& path) {
  const MappedFile file(path);
  if (file.bytes().substr(0, 2) != "#!") return {};
  std::string_view line = file.bytes().substr(2, 254);
  line = line.substr(0, line.find('\n'));
  // As the kernel splits it: what follows the name is one argument.
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = line.find_first_not_of(kBlank);
  if (begin == line.npos) return {};
  line = line.substr(begin, line.find_last_not_of(kBlank) + 1 - begin);
  const size_t end = line.find_first_of(kBlank);
  std::vector<std::string> out = {std::string(line.substr(0, end))};
  if (end != line.npos) out.emplace_back(line.substr(line.find_first_not_of(kBlank, end)));
  return out;
}

}  // namespace wf::recorder
