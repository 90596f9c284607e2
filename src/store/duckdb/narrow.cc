#include "store/duckdb/narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "store/match.h"

namespace wf::store::duckdb {
namespace {

constexpr size_t kManyRanges = 48;  // more ranges of shapes than this are not worth telling SQL

std::string BlobLiteral(std::string_view text) {
  std::string out = "'";
  for (unsigned char c : text) out += fmt::format("\\x{:02X}", c);
  return out + "'::BLOB";
}

bool PackedHas(const EventBatch& base, std::string_view packed, std::string_view key,
               std::string_view text) {
  const uint32_t code = base.strings.Find(key);
  AttributeReader reader(packed);
  uint32_t at;
  Value value;
  while (code != UINT32_MAX && reader.Next(at, value)) {
    if (at == code && ValueHasText(value, text)) return true;
  }
  return false;
}

// "column = value" for a stored type under which the text may stand; empty when it cannot.
std::string ColumnHasText(const LayoutEntry& entry, std::string_view text) {
  const std::string& name = EventTable()[entry.column].name;
  if (entry.type == static_cast<uint8_t>(ValueType::kString))
    return fmt::format("{} = {}", name, BlobLiteral(text));
  uint64_t id;
  if (entry.type == static_cast<uint8_t>(StoredType::kHex16)) {
    return ParseHex16(text, id) ? fmt::format("{} = {}", name, static_cast<int64_t>(id)) : "";
  }
  if (entry.type == static_cast<uint8_t>(ValueType::kBool)) {
    return text == "true" ? name + " = 1" : text == "false" ? name + " = 0" : "";
  }
  int64_t number = 0;
  if (entry.type == static_cast<uint8_t>(ValueType::kInt)) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return "";
    return fmt::format("{} = {}", name, number);
  }
  return "true";  // doubles: C++ compares their text
}

}  // namespace

std::string Ranges(const char* column, const std::vector<uint32_t>& numbers, size_t most) {
  std::string out;
  size_t ranges = 0;
  for (size_t i = 0; i < numbers.size();) {
    size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (++ranges > most) return "";
    out += fmt::format("{}{} BETWEEN {} AND {}", out.empty() ? "(" : " OR ", column, numbers[i],
                       numbers[j]);
    i = j + 1;
  }
  return out + ")";
}

Result<Place> NarrowSegment(const Segment& segment, const SegmentDictionary& dictionary,
                            const TraceQuery& query, const std::optional<std::string>& host) {
  Place place;
  place.segment = &segment;
  const EventBatch& base = dictionary.base;
  const size_t attributes = query.attributes.size();

  // Which processes and scopes have the attribute themselves; which layouts have its key, and where.
  std::vector<std::vector<bool>> process_has(attributes), scope_has(attributes),
      layout_may(attributes);
  std::vector<bool> shared(attributes, false);
  for (size_t a = 0; a < attributes; ++a) {
    const auto& [key, text] = query.attributes[a];
    for (const Process& p : base.processes) {
      process_has[a].push_back(PackedHas(base, base.Slice(p.attrs_begin, p.attrs_end), key, text));
    }
    for (const Scope& s : base.scopes) {
      scope_has[a].push_back(PackedHas(base, base.Slice(s.attrs_begin, s.attrs_end), key, text));
    }
    const uint32_t code = base.strings.Find(key);
    std::set<std::string> conditions;
    for (size_t l = 0; l < dictionary.layouts.size(); ++l) {
      bool may = l == 0;
      if (l == 0 && std::find(dictionary.loose_keys.begin(), dictionary.loose_keys.end(), code) !=
                        dictionary.loose_keys.end()) {
        conditions.insert("octet_length(more) > 0");
      }
      for (const LayoutEntry& entry : dictionary.layouts[l]) {
        if (entry.key != code) continue;
        if (entry.column == kNoColumn) {
          conditions.insert("octet_length(more) > 0");
          may = true;
          continue;
        }
        std::string condition = ColumnHasText(entry, text);
        if (condition.empty()) continue;
        conditions.insert(std::move(condition));
        may = true;
      }
      layout_may[a].push_back(may);
    }
    shared[a] =
        std::find(process_has[a].begin(), process_has[a].end(), true) != process_has[a].end() ||
        std::find(scope_has[a].begin(), scope_has[a].end(), true) != scope_has[a].end();
    if (!shared[a] && conditions.empty()) {
      place.nothing = true;
      return place;
    }
    if (!shared[a]) {
      place.condition += fmt::format("{}({})", place.condition.empty() ? "" : " AND ",
                                     fmt::join(conditions, " OR "));
    }
  }
  for (uint32_t i = 0; i < dictionary.shapes.size(); ++i) {
    const Shape& shape = dictionary.shapes[i];
    bool may = true;
    if (query.status) {
      may = shape.type == static_cast<uint8_t>(EventType::kSpan) &&
            shape.status == static_cast<uint8_t>(*query.status);
    }
    if (may && query.service)
      may = base.str(base.processes[shape.process].service) == *query.service;
    if (may && host) may = base.str(base.processes[shape.process].host) == *host;
    if (may && query.operation) may = base.str(shape.name) == *query.operation;
    for (size_t a = 0; may && a < attributes; ++a) {
      may =
          process_has[a][shape.process] || scope_has[a][shape.scope] || layout_may[a][shape.layout];
    }
    if (may) place.shapes.push_back(i);
  }
  place.all_shapes = place.shapes.size() == dictionary.shapes.size();
  if (place.shapes.empty()) {
    place.nothing = true;
    return place;
  }

  // Blocks, by the filters of the attributes that only rows can have.
  std::vector<bool> may_block(segment.blocks(), true);
  for (size_t a = 0; a < attributes; ++a) {
    if (shared[a]) continue;
    const IndexFile& index = segment.part->index();
    WF_ASSIGN(const IndexFile::Place at, index.Find(segment.index_at));
    const uint64_t bucket_bytes = (at.end - at.attribute_filter) / kFilterBuckets;
    std::vector<bool> marked(segment.blocks(), false);
    for (uint64_t hash :
         FilterHashesOfText(query.attributes[a].first, query.attributes[a].second)) {
      WF_ASSIGN(const std::string bits,
                index.Read(at.attribute_filter + FilterBucket(hash) * bucket_bytes, bucket_bytes));
      MarkBlocks(bits, segment.blocks(), hash, marked);
    }
    for (size_t i = 0; i < marked.size(); ++i) may_block[i] = may_block[i] && marked[i];
  }
  for (uint32_t i = 0; i < may_block.size(); ++i) {
    if (may_block[i]) place.blocks.push_back(i);
  }
  place.all_blocks = place.blocks.size() == may_block.size();
  place.nothing = place.blocks.empty();
  return place;
}

std::string RowCondition(const Place& place, const TraceQuery& query) {
  std::vector<std::string> parts;
  if (!place.condition.empty()) parts.push_back(place.condition);
  if (!place.all_shapes) {
    std::string shapes = Ranges("shape", place.shapes, kManyRanges);
    if (shapes.empty() && place.shapes.size() <= 4096) {
      shapes = fmt::format("shape IN ({})", fmt::join(place.shapes, ","));
    }
    if (!shapes.empty()) parts.push_back(std::move(shapes));
  }
  const auto raw_duration = [&](const char* op, Nanos limit) {
    // A row without a usable end has no length.
    return limit <= 0 ? std::string("true") : fmt::format("duration_ns {} {}", op, limit);
  };
  if (query.min_span_duration_ns) parts.push_back(raw_duration(">=", *query.min_span_duration_ns));
  return parts.empty() ? "true" : fmt::format("{}", fmt::join(parts, " AND "));
}

}  // namespace wf::store::duckdb
