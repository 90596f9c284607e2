// One ELF file with code: its functions, its bytes, and the debug information that belongs to it, in the file itself or
// beside it. libelf and libdw do the reading; what they hand out stays valid as long as the image.
//
// "Address" is always the file's own, as its symbols have it; the kernel wants file offsets (OffsetOf).
// Thread safety: one thread. libdw keeps caches inside.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace wf::elf {

struct AddressRange {
  uint64_t begin = 0, end = 0;
  bool Contains(uint64_t address) const { return address >= begin && address < end; }
};

struct FunctionSymbol {
  std::string_view name;  // mangled; borrowed from the image
  uint64_t address = 0;
  uint64_t size = 0;                // 0: the file does not say
  bool chosen_at_run_time = false;  // IFUNC: here is the function that chooses
};

// A variable of static storage. Those of threads have no address and are left out.
struct DataSymbol {
  std::string_view name;  // mangled; borrowed from the image
  uint64_t address = 0;
  uint64_t size = 0;
};

// A function with code, of one unit of the debug information; one for each range of it.
struct UnitFunction {
  AddressRange range;
  Dwarf_Die die;
};

class ElfImage {
 public:
  // `debug_root` is put before the directories that debug files are looked for in, besides none: "/proc/PID/root".
  static Result<std::unique_ptr<ElfImage>> Open(const std::string& file,
                                                const std::string& debug_root = {});
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  const std::string& file() const { return file_; }
  const std::string& build_id() const { return build_id_; }      // hex
  const std::string& debug_file() const { return debug_file_; }  // empty: none apart

  // By address, then name. Of the file and of its debug file.
  const std::vector<FunctionSymbol>& symbols() const { return symbols_; }
  bool has_full_symbols() const { return has_full_symbols_; }
  // The symbols at this very address.
  std::vector<const FunctionSymbol*> SymbolsAt(uint64_t address) const;

  // By address, larger ones first, then name.
  const std::vector<DataSymbol>& variables() const { return variables_; }

  std::optional<uint64_t> OffsetOf(uint64_t address) const;
  // The address that a byte of the file is loaded at.
  std::optional<uint64_t> AddressOf(uint64_t offset) const;
  // From the lowest address to the highest, zeroed data included.
  AddressRange MemoryRange() const;
  // The bytes from an address to the end of its segment or `size`; executable segments only.
  std::string_view Text(uint64_t address, uint64_t size) const;
  std::vector<AddressRange> ExecutableRanges() const;
  // A section's bytes, and where it is loaded. Empty if there is none.
  struct Section {
    std::string_view bytes;
    uint64_t address = 0;
  };
  Section FindSection(std::string_view name) const;
  // The name of the dynamic symbol whose address the loader writes into this slot.
  std::string_view RelocationAt(uint64_t slot) const;

  Dwarf* dwarf() const { return dwarf_; }           // null: none
  Dwarf_CFI* unwind_table() const { return cfi_; }  // .eh_frame; null: none
  // The unit that holds an address, if it has debug information.
  std::optional<Dwarf_Die> UnitAt(uint64_t address) const;
  const std::vector<Dwarf_Die>& Units() const;
  // Where dwarf_function.cc keeps the functions of a unit once it has walked it; empty before.
  std::vector<UnitFunction>& FunctionCache(const void* unit) const { return functions_[unit]; }

 private:
  ElfImage() = default;
  Status ReadSegments();
  void ReadSymbols(Elf* elf);
  void OpenDebugInformation(const std::string& debug_root);
  bool OpenDebugFile(const std::string& path);
  void ListUnits() const;

  struct Segment {
    uint64_t address = 0, size = 0, offset = 0;
    uint64_t memory_size = 0;
    bool executable = false;
    std::string bytes;  // of executable ones
  };
  struct UnitRange {
    AddressRange range;
    size_t unit = 0;
  };
  std::string file_, build_id_, debug_file_;
  FileDescriptor fd_, debug_fd_;
  Elf* elf_ = nullptr;
  Elf* debug_elf_ = nullptr;
  Dwarf* dwarf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
  std::vector<Segment> segments_;
  std::vector<FunctionSymbol> symbols_;
  std::vector<DataSymbol> variables_;
  bool has_full_symbols_ = false;
  mutable bool units_listed_ = false;
  mutable std::vector<Dwarf_Die> units_;
  mutable std::vector<UnitRange> unit_ranges_;  // by begin
  mutable std::map<const void*, std::vector<UnitFunction>> functions_;
};

}  // namespace wf::elf
