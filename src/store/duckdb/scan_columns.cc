#include "store/duckdb/scan_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "store/duckdb/narrow.h"

namespace wf::store::duckdb {
namespace {

constexpr uint64_t Bit(uint8_t column) { return uint64_t{1} << column; }
constexpr size_t kMostShapeRanges = 64;  // beyond, the condition costs more than it saves

// Neither a whole span nor one whose times can be trusted: whoever asked must look at the trace.
bool IsOdd(const Shape& shape) {
  return static_cast<EventType>(shape.type) != EventType::kSpan || (shape.marks & kHasEnd) == 0 ||
         (shape.marks & kHasStart) == 0;
}

// The columns that hold the keys in rows of this layout.
uint64_t AttributeColumns(const SegmentDictionary& dictionary, uint32_t layout,
                          const std::unordered_set<uint32_t>& keys) {
  if (keys.empty()) return 0;
  if (layout == 0) return Bit(kColMore);
  uint64_t columns = 0;
  for (const LayoutEntry& entry : dictionary.layouts[layout])
    if (keys.count(entry.key) != 0)
      columns |= Bit(entry.column == kNoColumn ? uint8_t{kColMore} : entry.column);
  return columns;
}

}  // namespace

ScanColumns ChooseColumns(const Segment& segment, const SegmentDictionary& dictionary,
                          const ScanOptions& options) {
  ScanColumns out;
  if (!options.select) return out;
  const EventSelection& select = *options.select;
  const TimeRange time = select.overlaps;
  if (std::max(segment.max_end, segment.max_start) < time.from || segment.min_start >= time.until) {
    out.nothing = true;
    return out;
  }
  const StringTable& strings = dictionary.base.strings;
  std::unordered_set<uint32_t> names, keys;
  for (const std::string& name : select.names) names.insert(strings.Find(name));
  for (const std::string& key : select.attributes) keys.insert(strings.Find(key));
  names.erase(UINT32_MAX);
  keys.erase(UINT32_MAX);

  std::vector<uint32_t> shapes, endless;
  uint64_t columns = 0;
  for (uint32_t i = 0; i < dictionary.shapes.size(); ++i) {
    const Shape& shape = dictionary.shapes[i];
    const bool is_span = static_cast<EventType>(shape.type) == EventType::kSpan;
    if (is_span && IsOdd(shape)) endless.push_back(i);
    if (!IsOdd(shape) && names.count(shape.name) == 0) continue;
    shapes.push_back(i);
    columns |= AttributeColumns(dictionary, shape.layout, keys);
  }
  // A text of the dictionary may be the name of a point; which rows have one, only the points themselves tell.
  const bool points = (segment.columns & Bit(kColPoints)) != 0 && !names.empty();
  if (shapes.empty() && !points) {
    out.nothing = true;
    return out;
  }
  columns |= Bit(kColTraceHi) | Bit(kColTraceLo) | Bit(kColId1) | Bit(kColStart) |
             Bit(kColDuration) | Bit(kColShape) | Bit(kColReceipt);
  if (points) columns |= Bit(kColPoints);
  out.columns = columns;

  const std::string wanted = shapes.empty() ? "" : Ranges("shape", shapes, kMostShapeRanges);
  if (shapes.empty()) {
    out.condition = " AND octet_length(points) > 0";
  } else if (!wanted.empty()) {
    out.condition = points ? fmt::format(" AND ({} OR octet_length(points) > 0)", wanted)
                           : fmt::format(" AND {}", wanted);
  }
  // When a span without an end ended, only the rest of its trace tells. Events that are no spans have one time.
  const std::string always = endless.empty() ? "" : Ranges("shape", endless, kMostShapeRanges);
  if (!endless.empty() && always.empty()) return out;
  const std::string or_odd = always.empty() ? "" : " OR " + always;
  if (time.from > segment.min_start)
    out.condition += fmt::format(
        " AND (start_ns >= {0} OR start_ns::HUGEINT + duration_ns >= {0}{1})", time.from, or_odd);
  if (time.until <= segment.max_start)
    out.condition += fmt::format(" AND (start_ns < {}{})", time.until, or_odd);
  return out;
}

}  // namespace wf::store::duckdb
