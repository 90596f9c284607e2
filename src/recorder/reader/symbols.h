// Names for the addresses in a recording: functions and lines of call sites, variables, allocations. Programs
// and libraries are opened when first needed, as they are on disk now; files that are gone have no names.
// Thread safety: one thread (libdw keeps caches).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "elf/elf_image.h"
#include "recorder/reader/recording.h"

namespace wf::recorder {

// Empty: unknown.
struct SitePlace {
  std::optional<std::string> function, file, module;
  std::optional<uint32_t> line;
  std::optional<uint64_t> offset;  // of the call in its module, in the addresses of its symbols
};

class Symbols {
 public:
  // The recording must outlive this.
  explicit Symbols(const Recording& recording);

  // `address` is the address of the instruction after the call.
  const SitePlace& Site(uint64_t address, int64_t time_ns);
  // The variable at an address: "table", "table+16".
  std::optional<std::string> VariableAt(uint64_t address);
  // The largest variable that is at least partly in the page.
  std::optional<std::string> VariableOn(uint64_t page);
  // Parses "table", "table+16", "ns::table+0x10". NotFound, BadInput.
  Result<uint64_t> AddressOf(std::string_view text);
  // The last allocation there before `time_ns`, live or not.
  const AllocationFacts* AllocationAt(uint64_t address, int64_t time_ns) const;

 private:
  const elf::ElfImage* Image(uint32_t path);
  const ModuleFacts* ModuleAt(uint64_t address, int64_t time_ns) const;
  struct Loaded {
    const elf::ElfImage* image = nullptr;
    uint64_t bias = 0;  // added to the file's addresses
  };
  // The program or library whose memory contains the address, zeroed data included.
  std::optional<Loaded> LoadedAt(uint64_t address);
  std::optional<Loaded> LoadedOf(const ModuleFacts& module);

  const Recording& recording_;
  std::vector<const ModuleFacts*> by_begin_;
  std::map<uint32_t, std::unique_ptr<elf::ElfImage>> images_;  // null: cannot be opened
  std::map<std::pair<uint64_t, const ModuleFacts*>, SitePlace> sites_;
  std::unordered_map<uint64_t, std::optional<std::string>> pages_;
};

}  // namespace wf::recorder
