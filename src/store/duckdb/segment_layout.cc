#include "store/duckdb/segment_layout.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace wf::store::duckdb {
namespace {

constexpr size_t kMaxLayoutEntries = 256;  // rows with more attributes are loose

bool IsTextType(uint8_t type) { return type == static_cast<uint8_t>(ValueType::kString); }
bool IsNumberType(uint8_t type) {
  return type == static_cast<uint8_t>(ValueType::kInt) ||
         type == static_cast<uint8_t>(ValueType::kBool) ||
         type == static_cast<uint8_t>(ValueType::kDouble) ||
         type == static_cast<uint8_t>(StoredType::kHex16);
}

void HashAttributes(const EventBatch& batch, std::string_view packed, Hasher128& hasher) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  std::string scratch;
  while (reader.Next(key, value)) {
    hasher.Add(batch.str(key));
    scratch.clear();
    PutValue(value, scratch);
    hasher.Add(scratch);
  }
}

uint64_t HashShape(const Shape& s) {
  const uint64_t a = static_cast<uint64_t>(s.process) << 32 | s.name;
  const uint64_t b = static_cast<uint64_t>(s.layout) << 32 | s.flags;
  const uint64_t c =
      static_cast<uint64_t>(s.scope) << 48 ^
      (static_cast<uint64_t>(s.type) << 40 | static_cast<uint64_t>(s.kind) << 32 |
       static_cast<uint64_t>(s.status) << 24 | static_cast<uint64_t>(s.parent_ref) << 16 |
       static_cast<uint64_t>(s.marks) << 8 | s.source);
  return MixBits(a ^ MixBits(b ^ MixBits(c)));
}

}  // namespace

uint8_t StoredTypeOf(const Value& value) {
  uint64_t ignored;
  if (value.type == ValueType::kString && ParseHex16(value.text, ignored)) {
    return static_cast<uint8_t>(StoredType::kHex16);
  }
  return static_cast<uint8_t>(value.type);
}

SegmentLayout::SegmentLayout(const BatchList& batches, SlotHomes& homes)
    : homes_(homes), contexts_(batches.size()), used_(kEventColumns, false), shape_slots_(1024, 0) {
  for (size_t i = 0; i < batches.size(); ++i) AddBatch(*batches[i], contexts_[i]);
  SortShapes();
}

void SegmentLayout::AddBatch(const EventBatch& b, Context& context) {
  EventBatch& base = dictionary_.base;
  context.copier = std::make_unique<RowCopier>(b, base);
  for (const Process& p : b.processes) {
    Hasher128 hasher;
    hasher.Add(b.str(p.service));
    hasher.Add(b.str(p.host));
    HashAttributes(b, b.Slice(p.attrs_begin, p.attrs_end), hasher);
    const auto [it, added] = process_index_.emplace(hasher.Finish(), base.processes.size());
    if (added) {
      const uint32_t begin = base.ArenaSize();
      context.copier->CopyAttributes(b.Slice(p.attrs_begin, p.attrs_end));
      base.processes.push_back(
          {context.copier->Code(p.service), context.copier->Code(p.host), begin, base.ArenaSize()});
    }
    context.processes.push_back(it->second);
  }
  for (const Scope& s : b.scopes) {
    Hasher128 hasher;
    hasher.Add(b.str(s.name));
    hasher.Add(b.str(s.version));
    HashAttributes(b, b.Slice(s.attrs_begin, s.attrs_end), hasher);
    const auto [it, added] = scope_index_.emplace(hasher.Finish(), base.scopes.size());
    if (added) {
      const uint32_t begin = base.ArenaSize();
      context.copier->CopyAttributes(b.Slice(s.attrs_begin, s.attrs_end));
      base.scopes.push_back(
          {context.copier->Code(s.name), context.copier->Code(s.version), begin, base.ArenaSize()});
    }
    context.scopes.push_back(it->second);
  }
  context.shapes.resize(b.size());
  bool message = false, state = false, points = false, links = false;
  for (size_t row = 0; row < b.size(); ++row) {
    Shape shape;
    shape.process = context.processes[b.process[row]];
    shape.scope = context.scopes[b.scope[row]];
    shape.name = context.copier->Code(b.name[row]);
    shape.layout = LayoutOf(b, context, b.attrs(row));
    shape.flags = b.flags[row];
    shape.type = static_cast<uint8_t>(b.type[row]);
    shape.kind = static_cast<uint8_t>(b.kind[row]);
    shape.status = static_cast<uint8_t>(b.status[row]);
    shape.parent_ref = static_cast<uint8_t>(b.parent_ref[row]);
    shape.marks = b.marks[row];
    shape.source = static_cast<uint8_t>(b.source_of(row));
    context.shapes[row] = ShapeOf(shape);
    message |= b.status_message[row] != 0;
    state |= b.tracestate[row] != 0;
    points |= b.points_end[row] != b.attrs_end[row];
    links |= b.links_end[row] != b.points_end[row];
  }
  if (message) used_[kColStatusMessage] = true;
  if (state) used_[kColTracestate] = true;
  if (points) used_[kColPoints] = true;
  if (links) used_[kColLinks] = true;
  if (!b.sequence.empty()) used_[kColSequence] = true;
  if (!b.probability.empty()) used_[kColProbability] = true;
}

uint32_t SegmentLayout::LayoutOf(const EventBatch&, Context& context, std::string_view attrs) {
  scratch_.clear();
  AttributeReader reader(attrs);
  uint32_t key;
  Value value;
  uint64_t hash = 0;
  while (reader.Next(key, value)) {
    const LayoutEntry entry{context.copier->Code(key), StoredTypeOf(value), kNoColumn};
    hash = (hash ^ (static_cast<uint64_t>(entry.key) << 8 | entry.type)) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
    scratch_.push_back(entry);
  }
  const auto [first, last] = layout_index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Layout& known = dictionary_.layouts[it->second];
    if (known.size() == scratch_.size() &&
        std::equal(known.begin(), known.end(), scratch_.begin(),
                   [](const LayoutEntry& a, const LayoutEntry& b) {
                     return a.key == b.key && a.type == b.type;
                   })) {
      return it->second;
    }
  }
  if (scratch_.size() > kMaxLayoutEntries || dictionary_.layouts.size() >= kMaxLayouts) {
    is_loose_key_.resize(dictionary_.base.strings.size(), false);
    for (const LayoutEntry& entry : scratch_) {
      if (!is_loose_key_[entry.key]) dictionary_.loose_keys.push_back(entry.key);
      is_loose_key_[entry.key] = true;
    }
    if (!scratch_.empty()) used_[kColMore] = true;
    return 0;
  }
  const uint32_t made = MakeLayout(scratch_);
  layout_index_.emplace(hash, made);
  return made;
}

uint32_t SegmentLayout::MakeLayout(Layout layout) {
  std::vector<bool> taken(kEventColumns, false);
  const auto take = [&](LayoutEntry& entry, uint8_t column) {
    if (taken[column]) return false;
    taken[column] = used_[column] = true;
    entry.column = column;
    return true;
  };
  const auto home = [&](std::map<std::string, uint8_t, std::less<>>& homes, uint8_t& next,
                        std::string_view key, uint8_t slots) {
    const auto known = homes.find(key);
    if (known != homes.end()) return known->second;
    // A sender that invents keys must not fill memory: later keys go where there is room.
    if (homes.size() >= 4096) return static_cast<uint8_t>(HashBytes(key) % slots);
    const uint8_t slot = next;
    next = static_cast<uint8_t>((next + 1) % slots);
    homes.emplace(key, slot);
    return slot;
  };
  for (LayoutEntry& entry : layout) {
    const std::string_view key = dictionary_.base.str(entry.key);
    if (IsTextType(entry.type)) {
      if (key == "messaging.destination.partition.id" && take(entry, kColPartition)) continue;
      if (key == "db.client.connection.pool.name" && take(entry, kColPool)) continue;
      if (key == "wherefore.resource" && take(entry, kColResource)) continue;
      const uint8_t first = home(homes_.text, homes_.next_text, key, kTextSlots);
      for (size_t i = 0; i < kTextSlots; ++i) {
        if (take(entry, static_cast<uint8_t>(kColText0 + (first + i) % kTextSlots))) break;
      }
    } else if (IsNumberType(entry.type)) {
      if (key == "thread.id" && entry.type == static_cast<uint8_t>(ValueType::kInt) &&
          take(entry, kColThread))
        continue;
      const uint8_t first = home(homes_.number, homes_.next_number, key, kNumberSlots);
      for (size_t i = 0; i < kNumberSlots; ++i) {
        if (take(entry, static_cast<uint8_t>(kColNumber0 + (first + i) % kNumberSlots))) break;
      }
    }
    if (entry.column == kNoColumn) used_[kColMore] = true;
  }
  dictionary_.layouts.push_back(std::move(layout));
  return static_cast<uint32_t>(dictionary_.layouts.size() - 1);
}

uint32_t SegmentLayout::ShapeOf(const Shape& shape) {
  std::vector<Shape>& shapes = dictionary_.shapes;
  size_t mask = shape_slots_.size() - 1;
  size_t i = HashShape(shape) & mask;
  for (; shape_slots_[i] != 0; i = (i + 1) & mask) {
    if (shapes[shape_slots_[i] - 1] == shape) return shape_slots_[i] - 1;
  }
  shapes.push_back(shape);
  shape_slots_[i] = static_cast<uint32_t>(shapes.size());
  const auto made = static_cast<uint32_t>(shapes.size() - 1);
  if (shapes.size() * 2 > shape_slots_.size()) {
    shape_slots_.assign(shape_slots_.size() * 4, 0);
    mask = shape_slots_.size() - 1;
    for (size_t s = 0; s < shapes.size(); ++s) {
      size_t at = HashShape(shapes[s]) & mask;
      while (shape_slots_[at] != 0) at = (at + 1) & mask;
      shape_slots_[at] = static_cast<uint32_t>(s + 1);
    }
  }
  return made;
}

// By service, then name: a search for either reads one range of shape numbers.
void SegmentLayout::SortShapes() {
  std::vector<Shape>& shapes = dictionary_.shapes;
  const EventBatch& base = dictionary_.base;
  std::vector<uint32_t> order(shapes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    const Shape &a = shapes[x], &b = shapes[y];
    const auto service_a = base.str(base.processes[a.process].service),
               service_b = base.str(base.processes[b.process].service);
    if (service_a != service_b) return service_a < service_b;
    return base.str(a.name) < base.str(b.name);
  });
  std::vector<Shape> sorted(shapes.size());
  place_.resize(shapes.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    sorted[i] = shapes[order[i]];
    place_[order[i]] = i;
  }
  shapes = std::move(sorted);
}

}  // namespace wf::store::duckdb
