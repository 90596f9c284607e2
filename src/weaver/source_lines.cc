#include "weaver/source_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "weaver/dwarf_function.h"
#include "weaver/dwarf_types.h"

namespace wf::weaver {
namespace {

constexpr size_t kMaxPlaces = 1000;

bool PathEndsWith(std::string_view path, std::string_view end) {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || path[path.size() - end.size() - 1] == '/' ||
         end.starts_with('/');
}

// The innermost function or inlined copy at an address, as a key.
const void* InnermostScope(const Dwarf_Die& scope, uint64_t address, int depth) {
  const void* own = scope.addr;
  if (depth > 32) return own;
  for (const Dwarf_Die& child : Children(scope)) {
    const int tag = TagOf(child);
    if (tag != DW_TAG_lexical_block && tag != DW_TAG_inlined_subroutine) continue;
    Dwarf_Die copy = child;
    if (dwarf_haspc(&copy, address) != 1) continue;
    const void* inner = InnermostScope(child, address, depth + 1);
    // A block is no function of its own.
    return tag == DW_TAG_lexical_block && inner == child.addr ? own : inner;
  }
  return own;
}

// Of a run of instructions for one column of the line.
struct Beginning {
  uint64_t address;
  int column;
};

struct Search {
  std::string_view file;
  uint32_t line;
  bool file_known = false;
  std::vector<Beginning> addresses;
  std::optional<uint32_t> before, after;  // nearest lines with code
};

void SearchUnit(Dwarf_Die unit, Search& search) {
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  if (dwarf_getsrcfiles(&unit, &files, &file_count) != 0) return;
  std::vector<bool> ours(file_count, false);
  bool any = false;
  for (size_t i = 0; i < file_count; ++i) {
    const char* name = dwarf_filesrc(files, i, nullptr, nullptr);
    if (name == nullptr || !PathEndsWith(name, search.file)) continue;
    ours[i] = any = true;
  }
  if (!any) return;
  search.file_known = true;
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
  Beginning last{0, -1};  // the row before, if it was of the same line
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Line* row = dwarf_onesrcline(lines, i);
    int number = 0, column = 0;
    Dwarf_Addr address = 0;
    bool statement = false, end = false;
    if (row == nullptr || dwarf_lineno(row, &number) != 0 || dwarf_lineaddr(row, &address) != 0 ||
        dwarf_linebeginstatement(row, &statement) != 0 || dwarf_lineendsequence(row, &end) != 0)
      continue;
    if (end) last.column = -1;
    if (end || !statement || number <= 0) continue;
    dwarf_linecol(row, &column);
    const char* name = dwarf_linesrc(row, nullptr, nullptr);
    if (name == nullptr || !PathEndsWith(name, search.file)) continue;
    const auto own = static_cast<uint32_t>(number);
    if (own == search.line && last.column != column && search.addresses.size() < kMaxPlaces * 16)
      search.addresses.push_back({address, column});
    last.column = own == search.line ? column : -1;
    if (own < search.line && own > search.before.value_or(0)) search.before = own;
    if (own > search.line && own < search.after.value_or(UINT32_MAX)) search.after = own;
  }
}

}  // namespace

Result<std::vector<uint64_t>> FindLine(const elf::ElfImage& image, std::string_view file,
                                       uint32_t line) {
  if (image.dwarf() == nullptr) {
    return NotFound(
        fmt::format("{}: has no debug information, so its lines are not known", image.file()),
        "build with -g, or install its debug symbols");
  }
  Search search{file, line, false, {}, {}, {}};
  for (const Dwarf_Die& unit : image.Units()) SearchUnit(unit, search);
  if (!search.file_known)
    return NotFound(
        fmt::format("{}: no source file {} in its debug information", image.file(), file));
  if (search.addresses.empty()) {
    std::string nearest;
    if (search.before) nearest = std::to_string(*search.before);
    if (search.after) nearest += (nearest.empty() ? "" : ", ") + std::to_string(*search.after);
    return NotFound(
        fmt::format("{}: {}:{} has no code", image.file(), file, line),
        nearest.empty() ? "no line of this file has" : "nearest lines with code: " + nearest);
  }
  std::map<std::pair<uint64_t, const void*>, std::vector<Beginning>> copies;
  for (const Beginning& beginning : search.addresses) {
    if (!image.OffsetOf(beginning.address)) continue;  // a function that the linker dropped
    const auto function = DwarfFunctionAround(image, beginning.address);
    if (!function) continue;
    copies[{function->ranges.empty() ? 0 : function->ranges[0].begin,
            InnermostScope(function->die, beginning.address, 0)}]
        .push_back(beginning);
  }
  std::vector<uint64_t> out;
  for (auto& [scope, beginnings] : copies) {
    const auto first = std::min_element(
        beginnings.begin(), beginnings.end(),
        [](const Beginning& a, const Beginning& b) { return a.address < b.address; });
    for (const Beginning& one : beginnings) {
      if (one.column == first->column) out.push_back(one.address);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (out.empty())
    return NotFound(fmt::format("{}: {}:{} belongs to no function", image.file(), file, line));
  if (out.size() > kMaxPlaces)
    return BadInput(fmt::format("{}:{} has code in more than {} places", file, line, kMaxPlaces));
  return out;
}

}  // namespace wf::weaver
