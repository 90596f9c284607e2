// No number in the file is trusted: whatever points outside of the file is skipped.
#include "bpf/elf_functions.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

namespace wf::bpf {
namespace {

class ElfFile {
 public:
  explicit ElfFile(std::string_view bytes) : bytes_(bytes) {}

  // Headers may lie at any offset, aligned or not.
  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  // Entry `index` of a table; nothing if it lies outside, 64-bit overflow included.
  template <typename T>
  std::optional<T> Entry(uint64_t table, uint64_t index, uint64_t entry_bytes) const {
    if (entry_bytes < sizeof(T) || entry_bytes > bytes_.size()) return std::nullopt;
    if (index > bytes_.size() / entry_bytes || table > bytes_.size()) return std::nullopt;
    return At<T>(table + index * entry_bytes);
  }
  std::string_view TextAt(uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest = bytes_.substr(offset);
    return rest.substr(0, rest.find('\0'));
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

// A symbol's address in the process is relative to where segments were mapped from; probes want the place in the file.
std::optional<uint64_t> FileOffset(const ElfFile& file, const Elf64_Ehdr& head, uint64_t address) {
  for (uint64_t i = 0; i < head.e_phnum; ++i) {
    const auto segment = file.Entry<Elf64_Phdr>(head.e_phoff, i, head.e_phentsize);
    if (!segment) break;
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    if (address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_filesz) continue;
    const uint64_t within = address - segment->p_vaddr;
    if (segment->p_offset > file.size() || within >= file.size() - segment->p_offset) continue;
    return segment->p_offset + within;
  }
  return std::nullopt;
}

std::optional<Elf64_Ehdr> HeadOf(const ElfFile& file) {
  const auto head = file.At<Elf64_Ehdr>(0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
      head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;
  return head;
}

}  // namespace

uint64_t ElfMemoryBytes(std::string_view bytes) {
  const ElfFile file(bytes);
  const auto head = HeadOf(file);
  if (!head) return 0;
  uint64_t low = UINT64_MAX, high = 0;
  for (uint64_t i = 0; i < head->e_phnum; ++i) {
    const auto segment = file.Entry<Elf64_Phdr>(head->e_phoff, i, head->e_phentsize);
    if (!segment) break;
    if (segment->p_type != PT_LOAD || segment->p_memsz > UINT64_MAX - segment->p_vaddr) continue;
    low = std::min(low, segment->p_vaddr);
    high = std::max(high, segment->p_vaddr + segment->p_memsz);
  }
  return high > low ? high - low : 0;
}

Result<std::vector<ElfFunction>> FindElfFunctions(std::string_view bytes,
                                                  const std::vector<std::string_view>& names) {
  const ElfFile file(bytes);
  const auto head = HeadOf(file);
  if (!head) {
    return BadInput("not a 64-bit little-endian ELF file", "probes need the program's own code");
  }
  std::vector<ElfFunction> found;
  // Real files have two tables of symbols; a forged one could point at the same bytes 65,535 times.
  uint64_t symbols_left = 16'000'000;
  for (uint64_t s = 0; s < head->e_shnum; ++s) {
    const auto section = file.Entry<Elf64_Shdr>(head->e_shoff, s, head->e_shentsize);
    if (!section) break;
    if (section->sh_type != SHT_DYNSYM && section->sh_type != SHT_SYMTAB) continue;
    if (section->sh_entsize < sizeof(Elf64_Sym)) continue;
    const auto texts = file.Entry<Elf64_Shdr>(head->e_shoff, section->sh_link, head->e_shentsize);
    if (!texts) continue;
    const uint64_t count = section->sh_size / section->sh_entsize;
    for (uint64_t i = 0; i < count && symbols_left > 0; ++i, --symbols_left) {
      const auto symbol = file.Entry<Elf64_Sym>(section->sh_offset, i, section->sh_entsize);
      if (!symbol) break;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
      if (symbol->st_name >= texts->sh_size || texts->sh_offset > file.size()) continue;
      const std::string_view text = file.TextAt(texts->sh_offset + symbol->st_name);
      const auto name = std::find(names.begin(), names.end(), text);
      if (name == names.end()) continue;
      if (const auto offset = FileOffset(file, *head, symbol->st_value))
        found.push_back({static_cast<uint32_t>(name - names.begin()), *offset});
    }
  }
  const auto key = [](const ElfFunction& f) { return std::make_tuple(f.name, f.offset); };
  std::sort(found.begin(), found.end(),
            [&](const ElfFunction& a, const ElfFunction& b) { return key(a) < key(b); });
  found.erase(
      std::unique(found.begin(), found.end(),
                  [&](const ElfFunction& a, const ElfFunction& b) { return key(a) == key(b); }),
      found.end());
  return found;
}

}  // namespace wf::bpf
