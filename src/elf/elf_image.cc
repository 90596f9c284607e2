#include "elf/elf_image.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>

namespace wf::elf {
namespace {

// A segment of code larger than this we do not hold in memory; nobody's is.
constexpr uint64_t kMaxSegment = uint64_t{4} << 30;

std::string HexBuildId(Elf* elf) {
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);
  std::string out;
  for (ssize_t i = 0; i < size && i < 64; ++i)
    out += fmt::format("{:02x}", static_cast<const uint8_t*>(bytes)[i]);
  return out;
}

// libdw trusts that what it reads as strings ends; a section of strings whose last byte is no zero would lead it beyond.
// False: it must not be given this file.
bool StringsEnd(Elf* elf) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return true;  // no sections at all
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::strncmp(name, ".debug_", 7) != 0 ||
        std::strstr(name, "str") == nullptr || std::strstr(name, "str_offsets") != nullptr)
      continue;
    if ((header.sh_flags & SHF_COMPRESSED) != 0 && elf_compress(section, 0, 0) < 0) return false;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr || data->d_size == 0) continue;
    if (static_cast<const char*>(data->d_buf)[data->d_size - 1] != 0) return false;
  }
  return true;
}

// CRC-32 as .gnu_debuglink has it (that of zip), of a whole file.
std::optional<uint32_t> FileCrc(int fd) {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  std::vector<uint8_t> block(1 << 16);
  uint32_t crc = ~0U;
  for (off_t at = 0;;) {
    const ssize_t got = pread(fd, block.data(), block.size(), at);
    if (got < 0) return std::nullopt;
    if (got == 0) return ~crc;
    for (ssize_t i = 0; i < got; ++i)
      crc = table[(crc ^ block[static_cast<size_t>(i)]) & 0xFF] ^ (crc >> 8);
    at += got;
  }
}

}  // namespace

ElfImage::~ElfImage() {
  if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
  if (dwarf_ != nullptr) dwarf_end(dwarf_);
  if (debug_elf_ != nullptr) elf_end(debug_elf_);
  if (elf_ != nullptr) elf_end(elf_);
}

Result<std::unique_ptr<ElfImage>> ElfImage::Open(const std::string& file,
                                                 const std::string& debug_root) {
  elf_version(EV_CURRENT);
  std::unique_ptr<ElfImage> image(new ElfImage);
  image->file_ = file;
  image->fd_ = FileDescriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!image->fd_.valid() || fstat(image->fd_.get(), &status) != 0)
    return EnvironmentError(fmt::format("{}: {}", file, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return BadInput(fmt::format("{}: is not a file", file));
  // Read, not mapped: whoever cuts the file short while we look must not kill us.
  image->elf_ = elf_begin(image->fd_.get(), ELF_C_READ, nullptr);
  GElf_Ehdr header;
  if (image->elf_ == nullptr || elf_kind(image->elf_) != ELF_K_ELF ||
      gelf_getehdr(image->elf_, &header) == nullptr)
    return BadInput(fmt::format("{}: is not an ELF file", file));
  if (header.e_machine != EM_X86_64 || gelf_getclass(image->elf_) != ELFCLASS64 ||
      (header.e_type != ET_EXEC && header.e_type != ET_DYN)) {
    return BadInput(fmt::format("{}: is not a program or library for x86-64", file));
  }
  WF_TRY(image->ReadSegments());
  image->build_id_ = HexBuildId(image->elf_);
  image->cfi_ = dwarf_getcfi_elf(image->elf_);
  image->OpenDebugInformation(debug_root);
  image->ReadSymbols(image->elf_);
  if (image->debug_elf_ != nullptr) image->ReadSymbols(image->debug_elf_);
  auto& symbols = image->symbols_;
  std::sort(symbols.begin(), symbols.end(), [](const FunctionSymbol& a, const FunctionSymbol& b) {
    return std::tie(a.address, a.name, b.size) < std::tie(b.address, b.name, a.size);
  });
  symbols.erase(std::unique(symbols.begin(), symbols.end(),
                            [](const FunctionSymbol& a, const FunctionSymbol& b) {
                              return a.address == b.address && a.name == b.name;
                            }),
                symbols.end());
  auto& variables = image->variables_;
  std::sort(variables.begin(), variables.end(), [](const DataSymbol& a, const DataSymbol& b) {
    return std::tie(a.address, b.size, a.name) < std::tie(b.address, a.size, b.name);
  });
  variables.erase(std::unique(variables.begin(), variables.end(),
                              [](const DataSymbol& a, const DataSymbol& b) {
                                return a.address == b.address && a.name == b.name;
                              }),
                  variables.end());
  return image;
}

Status ElfImage::ReadSegments() {
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) count = 0;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD)
      continue;
    Segment segment{header.p_vaddr,
                    header.p_filesz,
                    header.p_offset,
                    header.p_memsz,
                    (header.p_flags & PF_X) != 0,
                    {}};
    if (segment.executable) {
      struct stat status {};
      if (fstat(fd_.get(), &status) != 0)
        return EnvironmentError(file_ + ": " + std::strerror(errno));
      const auto file_size = static_cast<uint64_t>(status.st_size);
      if (segment.offset >= file_size || segment.size > kMaxSegment)
        return BadInput(fmt::format("{}: its code lies outside the file", file_));
      segment.size = std::min(segment.size, file_size - segment.offset);
      segment.bytes.resize(segment.size);
      size_t done = 0;
      while (done < segment.size) {
        const ssize_t got = pread(fd_.get(), segment.bytes.data() + done, segment.size - done,
                                  static_cast<off_t>(segment.offset + done));
        if (got <= 0) return EnvironmentError(fmt::format("{}: cannot be read", file_));
        done += static_cast<size_t>(got);
      }
    }
    segments_.push_back(std::move(segment));
  }
  return {};
}

void ElfImage::ReadSymbols(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0 ||
        (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
      continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;  // SHT_NOBITS in a debug file
    if (header.sh_type == SHT_SYMTAB) has_full_symbols_ = true;
    const size_t count = data->d_size / sizeof(Elf64_Sym);
    for (size_t i = 0; i < count && i < size_t{1} << 30; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      const auto type = GELF_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT) ||
          symbol.st_shndx == SHN_UNDEF)
        continue;
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (type == STT_OBJECT) {
        if (name != nullptr && *name != '\0' && symbol.st_size > 0)
          variables_.push_back({name, symbol.st_value, symbol.st_size});
        continue;
      }
      if (name == nullptr || *name == '\0' || !OffsetOf(symbol.st_value)) continue;
      symbols_.push_back({name, symbol.st_value, symbol.st_size, type == STT_GNU_IFUNC});
    }
  }
}

std::vector<const FunctionSymbol*> ElfImage::SymbolsAt(uint64_t address) const {
  std::vector<const FunctionSymbol*> out;
  auto it = std::lower_bound(symbols_.begin(), symbols_.end(), address,
                             [](const FunctionSymbol& s, uint64_t a) { return s.address < a; });
  for (; it != symbols_.end() && it->address == address; ++it) out.push_back(&*it);
  return out;
}

std::optional<uint64_t> ElfImage::OffsetOf(uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (address >= segment.address && address - segment.address < segment.size)
      return address - segment.address + segment.offset;
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfImage::AddressOf(uint64_t offset) const {
  for (const Segment& segment : segments_) {
    if (offset >= segment.offset && offset - segment.offset < segment.size)
      return offset - segment.offset + segment.address;
  }
  // A mapping begins at a page, its segment perhaps inside it.
  for (const Segment& segment : segments_) {
    constexpr uint64_t kPage = 4096;
    if (offset < segment.offset && segment.offset - offset < kPage &&
        segment.address >= segment.offset - offset)
      return segment.address - (segment.offset - offset);
  }
  return std::nullopt;
}

AddressRange ElfImage::MemoryRange() const {
  AddressRange out{UINT64_MAX, 0};
  for (const Segment& segment : segments_) {
    out.begin = std::min(out.begin, segment.address);
    const uint64_t size = std::min(segment.memory_size, UINT64_MAX - segment.address);
    out.end = std::max(out.end, segment.address + size);
  }
  return out.end == 0 ? AddressRange{} : out;
}

std::string_view ElfImage::Text(uint64_t address, uint64_t size) const {
  for (const Segment& segment : segments_) {
    if (!segment.executable || address < segment.address ||
        address - segment.address >= segment.size)
      continue;
    return std::string_view(segment.bytes).substr(address - segment.address, size);
  }
  return {};
}

std::vector<AddressRange> ElfImage::ExecutableRanges() const {
  std::vector<AddressRange> out;
  for (const Segment& segment : segments_) {
    if (segment.executable) out.push_back({segment.address, segment.address + segment.size});
  }
  return out;
}

ElfImage::Section ElfImage::FindSection(std::string_view name) const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* own = elf_strptr(elf_, names, header.sh_name);
    if (own == nullptr || name != own || header.sh_type == SHT_NOBITS) continue;
    Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {{static_cast<const char*>(data->d_buf), data->d_size}, header.sh_addr};
  }
  return {};
}

std::string_view ElfImage::RelocationAt(uint64_t slot) const {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    Elf_Scn* symbols = elf_getscn(elf_, header.sh_link);
    GElf_Shdr symbols_header;
    if (data == nullptr || symbols == nullptr || gelf_getshdr(symbols, &symbols_header) == nullptr)
      continue;
    Elf_Data* symbol_data = elf_getdata(symbols, nullptr);
    const size_t count = data->d_buf == nullptr ? 0 : data->d_size / sizeof(Elf64_Rela);
    for (size_t i = 0; i < count; ++i) {
      GElf_Rela relocation;
      if (gelf_getrela(data, static_cast<int>(i), &relocation) == nullptr) break;
      if (relocation.r_offset != slot || symbol_data == nullptr) continue;
      GElf_Sym symbol;
      if (gelf_getsym(symbol_data, static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) ==
          nullptr)
        return {};
      const char* name = elf_strptr(elf_, symbols_header.sh_link, symbol.st_name);
      return name == nullptr ? std::string_view() : std::string_view(name);
    }
  }
  return {};
}

void ElfImage::OpenDebugInformation(const std::string& debug_root) {
  dwarf_ = StringsEnd(elf_) ? dwarf_begin_elf(elf_, DWARF_C_READ, nullptr) : nullptr;
  if (dwarf_ != nullptr) {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    // An ELF file without units is accepted by libdw if it has, say, a line table.
    if (dwarf_get_units(dwarf_, nullptr, &unit, nullptr, nullptr, &die, nullptr) == 0) return;
    dwarf_end(dwarf_);
    dwarf_ = nullptr;
  }
  std::vector<std::string> roots{debug_root};
  if (!debug_root.empty()) roots.emplace_back();
  for (const std::string& root : roots) {
    if (build_id_.size() < 4) break;
    if (OpenDebugFile(fmt::format("{}/usr/lib/debug/.build-id/{}/{}.debug", root,
                                  build_id_.substr(0, 2), build_id_.substr(2))))
      return;
  }
  GElf_Word crc = 0;
  const char* link = dwelf_elf_gnu_debuglink(elf_, &crc);
  if (link == nullptr || *link == '\0' || std::strchr(link, '/') != nullptr) return;
  const std::string folder = file_.substr(0, file_.rfind('/') + 1);
  std::string inner = folder;  // the folder as the process sees it
  if (!debug_root.empty() && inner.starts_with(debug_root)) inner = inner.substr(debug_root.size());
  std::vector<std::string> places{folder + link, folder + ".debug/" + link};
  for (const std::string& root : roots) places.push_back(root + "/usr/lib/debug" + inner + link);
  for (const std::string& place : places) {
    const FileDescriptor fd(open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat a {
    }, b{};
    if (!fd.valid() || fstat(fd.get(), &a) != 0 || !S_ISREG(a.st_mode)) continue;
    if (fstat(fd_.get(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) continue;
    if (FileCrc(fd.get()) == crc && OpenDebugFile(place)) return;
  }
}

bool ElfImage::OpenDebugFile(const std::string& path) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  Elf* elf = elf_begin(fd.get(), ELF_C_READ, nullptr);
  if (elf == nullptr) return false;
  // The debug information of another build would send probes to the wrong places.
  const std::string id = HexBuildId(elf);
  if (elf_kind(elf) != ELF_K_ELF || !StringsEnd(elf) ||
      (!id.empty() && !build_id_.empty() && id != build_id_)) {
    elf_end(elf);
    return false;
  }
  debug_elf_ = elf;
  debug_fd_ = std::move(fd);
  debug_file_ = path;
  dwarf_ = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  return true;
}

void ElfImage::ListUnits() const {
  if (units_listed_) return;
  units_listed_ = true;
  if (dwarf_ == nullptr) return;
  Dwarf_CU* unit = nullptr;
  uint8_t type = 0;
  Dwarf_Die die, split;
  while (dwarf_get_units(dwarf_, unit, &unit, nullptr, &type, &die, &split) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton && type != DW_UT_partial) continue;
    const bool is_split = type == DW_UT_skeleton && split.addr != nullptr;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;)
      unit_ranges_.push_back({{begin, end}, units_.size()});
    units_.push_back(is_split ? split : die);
  }
  std::sort(unit_ranges_.begin(), unit_ranges_.end(),
            [](const UnitRange& a, const UnitRange& b) { return a.range.begin < b.range.begin; });
}

const std::vector<Dwarf_Die>& ElfImage::Units() const {
  ListUnits();
  return units_;
}

std::optional<Dwarf_Die> ElfImage::UnitAt(uint64_t address) const {
  ListUnits();
  auto it = std::upper_bound(unit_ranges_.begin(), unit_ranges_.end(), address,
                             [](uint64_t a, const UnitRange& r) { return a < r.range.begin; });
  // Ranges of different units do not overlap in honest files; a few steps back find what a dishonest one hides.
  for (int i = 0; i < 8 && it != unit_ranges_.begin(); ++i) {
    --it;
    if (it->range.Contains(address)) return units_[it->unit];
  }
  return std::nullopt;
}

}  // namespace wf::elf
