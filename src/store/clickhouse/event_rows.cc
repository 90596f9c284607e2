#include "store/clickhouse/event_rows.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <unordered_set>

#include "store/clickhouse/sql_text.h"
#include "store/match.h"

namespace wf::store::clickhouse {
namespace {

constexpr ResourceKey kAttributeResources[] = {ResourceKey::kInstance, ResourceKey::kPid,
                                               ResourceKey::kThread,   ResourceKey::kPartition,
                                               ResourceKey::kPool,     ResourceKey::kResource};

// Can the value be made again from its type and text?
bool TextTells(ValueType type) {
  return type == ValueType::kString || type == ValueType::kInt || type == ValueType::kBool ||
         type == ValueType::kNull;
}

// Attributes as the four columns hold them.
struct AttributeColumns {
  std::vector<uint32_t> codes;
  std::vector<std::string_view> keys;
  std::vector<std::string> texts, rest;
  std::vector<uint8_t> types;

  AttributeColumns(const EventBatch& batch, std::string_view packed) {
    AttributeReader reader(packed);
    uint32_t key;
    Value value;
    while (reader.Next(key, value)) {
      codes.push_back(key);
      keys.push_back(batch.str(key));
      texts.push_back(ValueText(value));
      types.push_back(static_cast<uint8_t>(value.type));
      rest.emplace_back();
      if (!TextTells(value.type)) PutValue(value, rest.back());
    }
  }
  void Write(RowWriter& row) const {
    row.Count(keys.size());
    for (const std::string_view key : keys) row.Text(key);
    row.Count(texts.size());
    for (const std::string& text : texts) row.Text(text);
    row.Count(types.size());
    for (const uint8_t type : types) row.Number(type);
    row.Count(rest.size());
    for (const std::string& bytes : rest) row.Text(bytes);
  }
};

// Attributes of points and links: {length of key, key, value}, as packed maps are (packed.h).
std::string TextAttributes(const EventBatch& batch, std::string_view packed) {
  std::string out;
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    const std::string_view name = batch.str(key);
    PutVarint(name.size(), out);
    out.append(name);
    PutValue(value, out);
  }
  return out;
}

std::string CodedAttributes(EventBatch& batch, std::string_view text_attributes) {
  std::string out;
  MapReader reader(text_attributes);
  std::string_view name;
  Value value;
  while (reader.Next(name, value)) {
    PutVarint(batch.strings.Intern(name), out);
    PutValue(value, out);
  }
  return out;
}

void PutTextValue(uint8_t type, std::string_view text, std::string_view rest, std::string& out) {
  switch (static_cast<ValueType>(type)) {
    case ValueType::kString:
      PutString(text, out);
      return;
    case ValueType::kInt: {
      int64_t number = 0;
      bool negative = !text.empty() && text[0] == '-';
      uint64_t magnitude = 0;
      for (const char c : text.substr(negative ? 1 : 0))
        magnitude = magnitude * 10 + static_cast<uint64_t>(c - '0');
      number = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
      PutInt(number, out);
      return;
    }
    case ValueType::kBool:
      PutBool(text == "true", out);
      return;
    case ValueType::kNull:
      out.push_back(static_cast<char>(ValueType::kNull));
      return;
    default:
      out.append(rest);  // checked below
  }
}

// `rest` comes from elsewhere: only a whole value may enter a batch.
bool IsOneValue(std::string_view packed) {
  ArrayReader reader(packed);
  Value value;
  return reader.Next(value) && reader.done() && !reader.bad();
}

void AddAttribute(EventBatch& batch, std::string_view key, uint8_t type, std::string_view text,
                  std::string_view rest) {
  if (!TextTells(static_cast<ValueType>(type)) && !IsOneValue(rest)) return;
  PutVarint(batch.strings.Intern(key), batch.bytes);
  PutTextValue(type, text, rest, batch.bytes);
}

// What a row's process or scope gives to each of its rows.
struct SharedPart {
  uint64_t id = 0;
  std::string row;  // behind tenant and day
  std::vector<std::string> resources;
};

SharedPart Share(const EventBatch& batch, OriginKind kind, uint32_t title, uint32_t detail,
                 std::string_view packed) {
  SharedPart out;
  RowWriter row(out.row);
  row.Number(static_cast<uint8_t>(kind));
  row.Text(batch.str(title));
  row.Text(batch.str(detail));
  AttributeColumns(batch, packed).Write(row);
  Hasher128 hasher;
  hasher.Add(out.row);
  out.id = hasher.Finish().lo;
  return out;
}

// wherefore.resource may be given several times or as a list; so may any other key (match.cc).
void CollectResources(const EventBatch& batch, std::string_view packed,
                      const std::vector<std::pair<uint32_t, ResourceKey>>& codes,
                      std::vector<std::string>& out) {
  if (codes.empty()) return;
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    const auto found = std::find_if(codes.begin(), codes.end(),
                                    [&](const auto& code) { return code.first == key; });
    if (found == codes.end()) continue;
    out.push_back(ResourceText(found->second, ValueText(value)));
    if (value.type != ValueType::kArray) continue;
    ArrayReader elements(value.text);
    for (Value element; elements.Next(element);)
      out.push_back(ResourceText(found->second, ValueText(element)));
  }
  (void)batch;
}

void MakeDistinct(std::vector<std::string>& texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

}  // namespace

std::string ResourceText(ResourceKey key, std::string_view value) {
  static constexpr std::string_view kNames[] = {
      "host:", "instance:", "pid:", "thread:", "partition:", "pool:", "resource:"};
  return std::string(kNames[static_cast<size_t>(key)]) + std::string(value);
}

uint8_t LengthClass(Nanos length) {
  if (length <= 0) return 0;
  return static_cast<uint8_t>((std::bit_width(static_cast<uint64_t>(length)) + 1) / 2);
}

Nanos LongestOfClass(int length_class) {
  if (length_class >= 32) return INT64_MAX;
  return (Nanos{1} << (2 * length_class)) - 1;
}

uint16_t DayOf(Nanos time) {
  return static_cast<uint16_t>(std::clamp<Nanos>(time / kDay, 0, UINT16_MAX));
}

std::string EventInsertColumns() {
  return "events (tenant, day, trace_hi, trace_lo, start_ns, id1, content_hi, content_lo, "
         "received_ns, precedence, id2, end_ns, ends_ns, type, kind, status, parent_ref, marks, "
         "source, length_class, probability, sequence, flags, service, host, name, status_message, "
         "tracestate, process, scope, attr_keys, attr_texts, attr_types, attr_rest, point_names, "
         "points, links, resources, bytes)";
}

std::string InsertColumns(SideTable table) {
  switch (table) {
    case SideTable::kOrigins:
      return "origins (tenant, day, id, kind, title, detail, attr_keys, attr_texts, attr_types, "
             "attr_rest)";
    case SideTable::kOperations:
      return "operations (tenant, day, service, name, kind)";
    case SideTable::kAttributeKeys:
      return "attribute_keys (tenant, day, key)";
  }
  return "";
}

namespace {

// Side rows of one batch, each once for a shard and day.
class SideRows {
 public:
  SideRows(const EventBatch& batch, std::vector<EncodedEvents>& out) : batch_(batch), out_(out) {}

  void Origin(size_t shard, uint16_t day, const SharedPart& part) {
    if (!origins_.insert({shard, day, part.id}).second) return;
    RowWriter row = Begin(shard, day, SideTable::kOrigins);
    row.Number(part.id);
    out_[shard].side_rows.back().row += part.row;
  }
  void Operation(size_t shard, uint16_t day, size_t i) {
    const uint32_t service = batch_.processes[batch_.process[i]].service;
    const auto kind = static_cast<uint8_t>(batch_.kind[i]);
    if (!operations_.insert({shard, day, service, batch_.name[i], kind}).second) return;
    RowWriter row = Begin(shard, day, SideTable::kOperations);
    row.Text(batch_.str(service));
    row.Text(batch_.str(batch_.name[i]));
    row.Number(kind);
  }
  void Key(size_t shard, uint16_t day, uint32_t key) {
    if (!keys_
             .insert((static_cast<uint64_t>(shard) << 48) ^ (static_cast<uint64_t>(day) << 32) ^
                     key)
             .second)
      return;
    Begin(shard, day, SideTable::kAttributeKeys).Text(batch_.str(key));
  }

 private:
  RowWriter Begin(size_t shard, uint16_t day, SideTable table) {
    SideRow& side = out_[shard].side_rows.emplace_back(SideRow{table, day, {}});
    RowWriter row(side.row);
    row.Text(batch_.tenant);
    row.Number(day);
    return row;
  }

  const EventBatch& batch_;
  std::vector<EncodedEvents>& out_;
  std::set<std::tuple<size_t, uint16_t, uint64_t>> origins_;
  std::set<std::tuple<size_t, uint16_t, uint32_t, uint32_t, uint8_t>> operations_;
  std::unordered_set<uint64_t> keys_;
};

}  // namespace

void EncodeEvents(const EventBatch& b, const std::function<size_t(TraceId)>& shard_of,
                  std::vector<EncodedEvents>& out) {
  std::vector<std::pair<uint32_t, ResourceKey>> codes;
  for (const ResourceKey key : kAttributeResources) {
    const uint32_t code = b.strings.Find(ResourceKeyName(key));
    if (code != UINT32_MAX) codes.emplace_back(code, key);
  }
  std::vector<SharedPart> processes, scopes;
  for (const Process& p : b.processes) {
    const std::string_view attrs = b.Slice(p.attrs_begin, p.attrs_end);
    SharedPart part = Share(b, OriginKind::kProcess, p.service, p.host, attrs);
    if (!b.str(p.host).empty())
      part.resources.push_back(ResourceText(ResourceKey::kHost, b.str(p.host)));
    CollectResources(b, attrs, codes, part.resources);
    processes.push_back(std::move(part));
  }
  for (const Scope& s : b.scopes) {
    scopes.push_back(
        Share(b, OriginKind::kScope, s.name, s.version, b.Slice(s.attrs_begin, s.attrs_end)));
  }
  SideRows side(b, out);
  std::vector<std::string> resources;
  std::string points, links;
  for (size_t i = 0; i < b.size(); ++i) {
    const size_t shard = shard_of(b.trace_id(i));
    const Nanos received = b.received_of(i), ends = RepairedEnd(b, i);
    const uint16_t day = DayOf(received);
    const SharedPart& process = processes[b.process[i]];
    const SharedPart& scope = scopes[b.scope[i]];
    side.Origin(shard, day, process);
    side.Origin(shard, day, scope);
    if (b.type[i] == EventType::kSpan) side.Operation(shard, day, i);
    std::string& bytes = out[shard].events;
    const size_t begin = bytes.size();
    RowWriter row(bytes);
    row.Text(b.tenant);
    row.Number(day);
    row.Number(b.trace_hi[i]);
    row.Number(b.trace_lo[i]);
    row.Number(b.start_ns[i]);
    row.Number(b.id1[i]);
    const Hash128 content = ContentHash(b, i);
    row.Number(content.hi);
    row.Number(content.lo);
    row.Number(received);
    row.Number(~static_cast<uint64_t>(received));
    row.Number(b.id2[i]);
    row.Number(b.end_ns[i]);
    row.Number(ends);
    row.Number(static_cast<uint8_t>(b.type[i]));
    row.Number(static_cast<uint8_t>(b.kind[i]));
    row.Number(static_cast<uint8_t>(b.status[i]));
    row.Number(static_cast<uint8_t>(b.parent_ref[i]));
    row.Number(b.marks[i]);
    row.Number(static_cast<uint8_t>(b.source_of(i)));
    row.Number(LengthClass(SaturatingSub(ends, b.start_ns[i])));
    row.Number(b.probability_of(i));
    row.Number(b.sequence_of(i));
    row.Number(b.flags[i]);
    row.Text(b.str(b.processes[b.process[i]].service));
    row.Text(b.str(b.processes[b.process[i]].host));
    row.Text(b.str(b.name[i]));
    row.Text(b.str(b.status_message[i]));
    row.Text(b.str(b.tracestate[i]));
    row.Number(process.id);
    row.Number(scope.id);
    const AttributeColumns attributes(b, b.attrs(i));
    attributes.Write(row);
    for (const uint32_t code : attributes.codes) side.Key(shard, day, code);

    points.clear();
    std::vector<uint32_t> names;
    PointReader point_reader(b.points(i));
    for (PackedPoint point; point_reader.Next(point);) {
      names.push_back(point.name);
      PutFixed64(static_cast<uint64_t>(point.time_ns), points);
      RowWriter(points).Text(TextAttributes(b, point.attrs));
    }
    row.Count(names.size());
    for (const uint32_t code : names) row.Text(b.str(code));
    row.Text(points);

    links.clear();
    LinkReader link_reader(b.links(i));
    for (PackedLink link; link_reader.Next(link);) {
      RowWriter packed(links);
      packed.Number(link.trace_id.hi);
      packed.Number(link.trace_id.lo);
      packed.Number(link.span_id.value);
      packed.Number(link.ref);
      packed.Number(link.flags);
      packed.Text(b.str(link.tracestate));
      packed.Text(TextAttributes(b, link.attrs));
    }
    row.Text(links);

    resources = process.resources;
    CollectResources(b, b.attrs(i), codes, resources);
    MakeDistinct(resources);
    row.Count(resources.size());
    for (const std::string& resource : resources) row.Text(resource);
    row.Number(static_cast<uint32_t>(std::min<size_t>(bytes.size() + 4 - begin, UINT32_MAX)));
    ++out[shard].rows;
  }
}

std::string SelectList(const EventColumns& columns) {
  std::string out =
      "trace_hi, trace_lo, start_ns, id1, content_hi, content_lo, received_ns, id2, end_ns, type, "
      "kind, status, parent_ref, marks, service, host, name";
  if (columns.origins) out += ", process, scope";
  if (columns.attributes) {
    for (const char* column : {"attr_keys", "attr_texts", "attr_types", "attr_rest"}) {
      // Aligned arrays: what is left out of one is left out of all.
      out += columns.keys.empty()
                 ? std::string(", ") + column
                 : std::string(", arrayFilter((x, k) -> has(") + QuoteArray(columns.keys) +
                       ", k), " + column + ", attr_keys)";
    }
  }
  if (columns.points) out += ", point_names, points";
  if (columns.rest)
    out += ", source, probability, sequence, flags, status_message, tracestate, links";
  return out;
}

std::string OriginSelectList() {
  return "id, kind, title, detail, attr_keys, attr_texts, attr_types, attr_rest";
}

Origin ReadOrigin(RowReader& reader, uint64_t& id) {
  Origin out;
  id = reader.Number<uint64_t>();
  out.kind = static_cast<OriginKind>(reader.Number<uint8_t>());
  out.title = reader.Text();
  out.detail = reader.Text();
  const auto texts = [&](std::vector<std::string>& list) {
    for (uint64_t n = reader.Elements(); n > 0 && !reader.bad(); --n)
      list.emplace_back(reader.Text());
  };
  texts(out.keys);
  texts(out.texts);
  for (uint64_t n = reader.Elements(); n > 0 && !reader.bad(); --n)
    out.types.push_back(reader.Number<uint8_t>());
  texts(out.rest);
  const size_t least =
      std::min({out.keys.size(), out.texts.size(), out.types.size(), out.rest.size()});
  out.keys.resize(least), out.texts.resize(least), out.types.resize(least), out.rest.resize(least);
  return out;
}

EventDecoder::EventDecoder(const std::string& tenant, EventColumns columns)
    : columns_(std::move(columns)) {
  batch_.tenant = tenant;
}

uint32_t EventDecoder::PlaceOf(std::unordered_map<uint64_t, uint32_t>& places,
                               std::vector<uint64_t>& ids, uint64_t id) {
  const auto [it, added] = places.try_emplace(id, static_cast<uint32_t>(ids.size()));
  if (added) ids.push_back(id);
  return it->second;
}

Status EventDecoder::Add(std::string_view answer) {
  RowReader reader(answer);
  EventBatch& b = batch_;
  std::vector<std::string_view> keys, texts, rest;
  std::vector<uint8_t> types;
  const auto read_texts = [&](std::vector<std::string_view>& list) {
    list.clear();
    for (uint64_t n = reader.Elements(); n > 0 && !reader.bad(); --n) list.push_back(reader.Text());
  };
  while (reader.more()) {
    b.AddRow();
    b.trace_hi.back() = reader.Number<uint64_t>();
    b.trace_lo.back() = reader.Number<uint64_t>();
    b.start_ns.back() = reader.Number<int64_t>();
    b.id1.back() = reader.Number<uint64_t>();
    Hash128 content;
    content.hi = reader.Number<uint64_t>();
    content.lo = reader.Number<uint64_t>();
    const Nanos received = reader.Number<int64_t>();
    if (b.size() == 1) b.received_ns = received;
    b.SetReceived(received);
    b.id2.back() = reader.Number<uint64_t>();
    b.end_ns.back() = reader.Number<int64_t>();
    b.type.back() = wherefore::EventTypeFromNumber(reader.Number<uint8_t>());
    b.kind.back() = static_cast<SpanKind>(reader.Number<uint8_t>());
    b.status.back() = static_cast<SpanStatus>(reader.Number<uint8_t>());
    b.parent_ref.back() = static_cast<ParentRef>(reader.Number<uint8_t>());
    b.marks.back() = reader.Number<uint8_t>();
    const std::string_view service = reader.Text(), host = reader.Text();
    b.name.back() = b.strings.Intern(reader.Text());
    uint64_t process = 0, scope = 0;
    if (columns_.origins) {
      process = reader.Number<uint64_t>();
      scope = reader.Number<uint64_t>();
    } else {
      process = HashBytes(service, HashBytes(host, 1));
    }
    b.process.back() = PlaceOf(process_places_, process_ids_, process);
    b.scope.back() = PlaceOf(scope_places_, scope_ids_, scope);
    if (process_names_.size() < process_ids_.size())
      process_names_.push_back({b.strings.Intern(service), b.strings.Intern(host)});
    if (columns_.attributes) {
      read_texts(keys);
      read_texts(texts);
      types.clear();
      for (uint64_t n = reader.Elements(); n > 0 && !reader.bad(); --n)
        types.push_back(reader.Number<uint8_t>());
      read_texts(rest);
      const size_t count = std::min({keys.size(), texts.size(), types.size(), rest.size()});
      for (size_t i = 0; i < count; ++i) AddAttribute(b, keys[i], types[i], texts[i], rest[i]);
    }
    b.EndAttributes();
    if (columns_.points) {
      read_texts(keys);
      RowReader packed(reader.Text());
      for (const std::string_view name : keys) {
        PackedPoint point;
        point.time_ns = packed.Number<int64_t>();
        point.name = b.strings.Intern(name);
        const std::string attrs = CodedAttributes(b, packed.Text());
        point.attrs = attrs;
        if (!packed.bad()) PutPoint(point, b.bytes);
      }
    }
    b.EndPoints();
    if (columns_.rest) {
      const auto source = static_cast<Source>(reader.Number<uint8_t>());
      b.SetSource(source, reader.Number<float>());
      b.SetSequence(reader.Number<int64_t>());
      b.flags.back() = reader.Number<uint32_t>();
      b.status_message.back() = b.strings.Intern(reader.Text());
      b.tracestate.back() = b.strings.Intern(reader.Text());
      RowReader packed(reader.Text());
      while (packed.more()) {
        PackedLink link;
        link.trace_id.hi = packed.Number<uint64_t>();
        link.trace_id.lo = packed.Number<uint64_t>();
        link.span_id.value = packed.Number<uint64_t>();
        link.ref = packed.Number<uint8_t>();
        link.flags = packed.Number<uint32_t>();
        link.tracestate = b.strings.Intern(packed.Text());
        const std::string attrs = CodedAttributes(b, packed.Text());
        link.attrs = attrs;
        if (!packed.bad()) PutLink(link, b.bytes);
      }
      b.EndLinks();
    }
    if (reader.bad()) break;
    const size_t last = b.size() - 1;
    if (last > 0 && contents_.back() == content && b.id1[last] == b.id1[last - 1] &&
        b.start_ns[last] == b.start_ns[last - 1] && b.trace_id(last) == b.trace_id(last - 1)) {
      b.DropLastRow();
      ++doubles_;
    } else {
      contents_.push_back(content);
    }
  }
  return reader.status();
}

std::vector<uint64_t> EventDecoder::OriginsNeeded() const {
  if (!columns_.origins) return {};
  std::vector<uint64_t> out = process_ids_;
  out.insert(out.end(), scope_ids_.begin(), scope_ids_.end());
  return out;
}

EventBatch EventDecoder::Finish(const FindOrigin& find, int64_t& missing) {
  EventBatch& b = batch_;
  const auto attributes = [&](const Origin& origin) {
    const uint32_t begin = b.ArenaSize();
    for (size_t i = 0; i < origin.keys.size(); ++i)
      AddAttribute(b, origin.keys[i], origin.types[i], origin.texts[i], origin.rest[i]);
    return std::pair(begin, b.ArenaSize());
  };
  for (size_t i = 0; i < process_ids_.size(); ++i) {
    const auto origin = columns_.origins ? find(process_ids_[i]) : nullptr;
    if (columns_.origins && origin == nullptr) ++missing;
    const auto [begin, end] =
        origin == nullptr ? std::pair<uint32_t, uint32_t>() : attributes(*origin);
    b.processes.push_back({process_names_[i].service, process_names_[i].host, begin, end});
  }
  for (const uint64_t id : scope_ids_) {
    const auto origin = columns_.origins ? find(id) : nullptr;
    if (columns_.origins && origin == nullptr) ++missing;
    if (origin == nullptr) {
      b.scopes.push_back({});
      continue;
    }
    const auto [begin, end] = attributes(*origin);
    b.scopes.push_back(
        {b.strings.Intern(origin->title), b.strings.Intern(origin->detail), begin, end});
  }
  return std::move(batch_);
}

}  // namespace wf::store::clickhouse
