#include "recorder/reader/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "elf/source_place.h"

namespace wf::recorder {
namespace {

std::optional<uint64_t> ParseOffset(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

Symbols::Symbols(const Recording& recording) : recording_(recording) {
  for (const ModuleFacts& module : recording.modules) by_begin_.push_back(&module);
  std::stable_sort(by_begin_.begin(), by_begin_.end(),
                   [](const ModuleFacts* a, const ModuleFacts* b) { return a->begin < b->begin; });
}

const elf::ElfImage* Symbols::Image(uint32_t path) {
  const auto it = images_.find(path);
  if (it != images_.end()) return it->second.get();
  std::unique_ptr<elf::ElfImage>& image = images_[path];
  auto opened = elf::ElfImage::Open(recording_.names[path]);
  if (opened.ok()) image = std::move(opened).value();
  return image.get();
}

// The one mapped at that time; else any that ever was there: a site may be told before its module.
const ModuleFacts* Symbols::ModuleAt(uint64_t address, int64_t time_ns) const {
  const ModuleFacts* found = nullptr;
  auto it = std::upper_bound(by_begin_.begin(), by_begin_.end(), address,
                             [](uint64_t a, const ModuleFacts* m) { return a < m->begin; });
  constexpr int kMostTried = 4096;
  for (int i = 0; i < kMostTried && it != by_begin_.begin(); ++i) {
    const ModuleFacts* const module = *--it;
    if (address >= module->end) {
      if (found != nullptr) break;
      continue;
    }
    if (time_ns >= module->from_ns && time_ns < module->until_ns) return module;
    if (found == nullptr) found = module;
  }
  return found;
}

const SitePlace& Symbols::Site(uint64_t address, int64_t time_ns) {
  const ModuleFacts* const module = address == 0 ? nullptr : ModuleAt(address - 1, time_ns);
  const auto [it, added] = sites_.try_emplace({address, module});
  SitePlace& place = it->second;
  if (!added || module == nullptr) return place;
  place.module = recording_.names[module->path];
  const uint64_t in_file = address - 1 - module->begin + module->offset;
  const elf::ElfImage* const image = Image(module->path);
  const auto own = image == nullptr ? std::nullopt : image->AddressOf(in_file);
  place.offset = own.value_or(in_file);
  if (!own) return place;
  place.function = elf::FunctionAt(*image, *own);
  if (const auto line = elf::LineAt(*image, *own)) {
    place.file = line->file;
    place.line = line->line;
  }
  return place;
}

std::optional<Symbols::Loaded> Symbols::LoadedOf(const ModuleFacts& module) {
  const elf::ElfImage* const image = Image(module.path);
  if (image == nullptr) return std::nullopt;
  // Two segments may share a page of the file, so a mapping in the middle does not say which it is of. The one that the
  // file begins with does, and the others stand at fixed distances from it.
  const ModuleFacts* first = &module;
  auto it = std::upper_bound(by_begin_.begin(), by_begin_.end(), module.begin,
                             [](uint64_t a, const ModuleFacts* m) { return a < m->begin; });
  while (first->offset != 0 && it != by_begin_.begin()) {
    --it;
    if ((*it)->path != module.path) break;
    if ((*it)->offset == 0) first = *it;
  }
  const auto own = image->AddressOf(first->offset);
  if (!own || *own > first->begin) return std::nullopt;
  return Loaded{image, first->begin - *own};
}

std::optional<Symbols::Loaded> Symbols::LoadedAt(uint64_t address) {
  auto it = std::upper_bound(by_begin_.begin(), by_begin_.end(), address,
                             [](uint64_t a, const ModuleFacts* m) { return a < m->begin; });
  // Zeroed data stands behind the file's last mapping, so the nearest below is the one, or what is mapped over it.
  for (int i = 0; i < 8 && it != by_begin_.begin(); ++i) {
    const auto loaded = LoadedOf(**--it);
    if (!loaded) continue;
    const elf::AddressRange range = loaded->image->MemoryRange();
    constexpr uint64_t kMask = kPageBytes - 1;
    if (address - loaded->bias < ((range.end + kMask) & ~kMask) && address >= loaded->bias)
      return loaded;
  }
  return std::nullopt;
}

std::optional<std::string> Symbols::VariableAt(uint64_t address) {
  const auto loaded = LoadedAt(address);
  if (!loaded) return std::nullopt;
  const uint64_t own = address - loaded->bias;
  const auto& variables = loaded->image->variables();
  auto it = std::upper_bound(variables.begin(), variables.end(), own,
                             [](uint64_t a, const elf::DataSymbol& s) { return a < s.address; });
  // Among names of one address the first is the largest; one that lies inside another is the nearer name.
  constexpr int kMostTried = 64;
  const elf::DataSymbol* found = nullptr;
  for (int i = 0; i < kMostTried && it != variables.begin(); ++i) {
    --it;
    if (found != nullptr && it->address != found->address) break;
    if (own - it->address < it->size) found = &*it;
  }
  if (found == nullptr) return std::nullopt;
  std::string name = elf::Demangled(std::string(found->name));
  if (own != found->address) name += fmt::format("+{}", own - found->address);
  return name;
}

std::optional<std::string> Symbols::VariableOn(uint64_t page) {
  const auto [cached, added] = pages_.try_emplace(page);
  if (!added) return cached->second;
  const auto loaded = LoadedAt(page * kPageBytes);
  if (!loaded || page * kPageBytes < loaded->bias) return std::nullopt;
  const uint64_t begin = page * kPageBytes - loaded->bias, end = begin + kPageBytes;
  const auto& variables = loaded->image->variables();
  auto it = std::lower_bound(variables.begin(), variables.end(), end,
                             [](const elf::DataSymbol& s, uint64_t a) { return s.address < a; });
  const elf::DataSymbol* best = nullptr;
  uint64_t best_bytes = 0;
  // One that begins far before the page is met among those just before it, unless thousands lie inside it.
  for (int below = 0; it != variables.begin() && below < 64;) {
    --it;
    if (it->address < begin) ++below;
    const uint64_t last = std::min(end, it->address + std::min(it->size, end - it->address));
    const uint64_t first = std::max(begin, it->address);
    const uint64_t bytes = last > first ? last - first : 0;
    if (bytes > 0 && bytes >= best_bytes) {
      best = &*it;
      best_bytes = bytes;
    }
  }
  if (best != nullptr) cached->second = elf::Demangled(std::string(best->name));
  return cached->second;
}

Result<uint64_t> Symbols::AddressOf(std::string_view text) {
  std::string_view name = text;
  uint64_t offset = 0;
  // "operator+" has a plus of its own; what follows the last one is a number or there is none.
  const size_t plus = text.rfind('+');
  if (plus != std::string_view::npos && plus > 0) {
    if (const auto number = ParseOffset(text.substr(plus + 1))) {
      name = text.substr(0, plus);
      offset = *number;
    }
  }
  for (const ModuleFacts& module : recording_.modules) {  // the program is mapped first
    const auto loaded = LoadedOf(module);
    if (!loaded) continue;
    for (const elf::DataSymbol& variable : loaded->image->variables()) {
      const size_t version = variable.name.find('@');
      if (variable.name.substr(0, version) == name ||
          (variable.name.starts_with("_Z") && elf::Demangled(std::string(variable.name)) == name))
        return loaded->bias + variable.address + offset;
    }
  }
  return NotFound(fmt::format("{}: no variable of the recorded program has this name", text),
                  "give an address as 0x…, or a variable with its namespaces, as in ns::table+16; "
                  "a stripped program has no names");
}

const AllocationFacts* Symbols::AllocationAt(uint64_t address, int64_t time_ns) const {
  const AllocationFacts* found = nullptr;
  for (const AllocationFacts& one : recording_.allocations) {
    if (one.address > address) break;
    if (address - one.address >= std::max<uint64_t>(one.size, 1) || one.from_ns > time_ns) continue;
    if (found == nullptr || one.from_ns >= found->from_ns) found = &one;
  }
  return found;
}

}  // namespace wf::recorder
