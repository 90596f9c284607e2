#include "model/event_batch.h"

#include <algorithm>

namespace wf {
namespace {

// Every per-row column with fixed content, in the order in which it is written. Codes and offsets are checked apart.
template <typename Batch, typename Visit>
void ForEachColumn(Batch& b, Visit&& visit) {
  visit(b.trace_hi), visit(b.trace_lo), visit(b.id1), visit(b.id2);
  visit(b.start_ns), visit(b.end_ns);
  visit(b.type), visit(b.kind), visit(b.status), visit(b.parent_ref), visit(b.marks);
  visit(b.flags), visit(b.name), visit(b.status_message), visit(b.tracestate), visit(b.process),
      visit(b.scope);
  visit(b.attrs_begin), visit(b.attrs_end), visit(b.points_end), visit(b.links_end);
}

template <typename Batch, typename Visit>
void ForEachOptionalColumn(Batch& b, Visit&& visit) {
  visit(b.sequence), visit(b.source), visit(b.probability), visit(b.received_rows);
}

template <typename T>
void SetOptional(std::vector<T>& column, size_t rows, T fallback, T value) {
  if (column.empty() && value == fallback) return;
  column.resize(rows, fallback);
  column.back() = value;
}

void HashAttributes(const EventBatch& batch, std::string_view packed, Hasher128& hasher) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  std::string scratch;
  uint64_t count = 0;
  while (reader.Next(key, value)) {
    hasher.Add(batch.str(key));
    scratch.clear();
    PutValue(value, scratch);
    hasher.Add(scratch);
    ++count;
  }
  hasher.Add(count);
}

}  // namespace

size_t EventBatch::MemoryBytes() const {
  size_t total = sizeof *this + bytes.capacity() + strings.MemoryBytes() +
                 processes.capacity() * sizeof(Process) + scopes.capacity() * sizeof(Scope);
  const auto add = [&](const auto& column) { total += column.capacity() * sizeof(column[0]); };
  ForEachColumn(*this, add);
  ForEachOptionalColumn(*this, add);
  return total;
}

void EventBatch::Reserve(size_t rows) {
  ForEachColumn(*this, [&](auto& column) { column.reserve(rows); });
}

size_t EventBatch::AddRow() {
  ForEachColumn(*this, [](auto& column) { column.emplace_back(); });
  attrs_begin.back() = attrs_end.back() = points_end.back() = links_end.back() = ArenaSize();
  if (!sequence.empty()) sequence.push_back(kNoSequence);
  if (!source.empty()) source.push_back(Source::kRecorded);
  if (!probability.empty()) probability.push_back(1.0f);
  if (!received_rows.empty()) received_rows.push_back(received_ns);
  return size() - 1;
}

void EventBatch::SetSequence(int64_t value) { SetOptional(sequence, size(), kNoSequence, value); }
void EventBatch::SetSource(Source value, float row_probability) {
  SetOptional(source, size(), Source::kRecorded, value);
  SetOptional(probability, size(), 1.0f, row_probability);
}
void EventBatch::SetReceived(Nanos value) {
  SetOptional(received_rows, size(), received_ns, value);
}

void EventBatch::DropLastRow() {
  bytes.resize(attrs_begin.back());
  ForEachColumn(*this, [](auto& column) { column.pop_back(); });
  ForEachOptionalColumn(*this, [](auto& column) {
    if (!column.empty()) column.pop_back();
  });
}

uint32_t RowCopier::Code(uint32_t from_code) {
  if (codes_.size() <= from_code) codes_.resize(from_.strings.size(), 0);
  uint32_t& known = codes_[from_code];
  if (known == 0) known = to_.strings.Intern(from_.str(from_code)) + 1;
  return known - 1;
}

void RowCopier::CopyAttributes(std::string_view packed) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    PutVarint(Code(key), to_.bytes);
    PutValue(value, to_.bytes);
  }
}

uint32_t RowCopier::CopyProcess(uint32_t index) {
  if (processes_.size() <= index) processes_.resize(from_.processes.size(), 0);
  if (processes_[index] == 0) {
    const Process& p = from_.processes[index];
    const uint32_t begin = to_.ArenaSize();
    CopyAttributes(from_.Slice(p.attrs_begin, p.attrs_end));
    to_.processes.push_back({Code(p.service), Code(p.host), begin, to_.ArenaSize()});
    processes_[index] = static_cast<uint32_t>(to_.processes.size());
  }
  return processes_[index] - 1;
}

uint32_t RowCopier::CopyScope(uint32_t index) {
  if (scopes_.size() <= index) scopes_.resize(from_.scopes.size(), 0);
  if (scopes_[index] == 0) {
    const Scope& s = from_.scopes[index];
    const uint32_t begin = to_.ArenaSize();
    CopyAttributes(from_.Slice(s.attrs_begin, s.attrs_end));
    to_.scopes.push_back({Code(s.name), Code(s.version), begin, to_.ArenaSize()});
    scopes_[index] = static_cast<uint32_t>(to_.scopes.size());
  }
  return scopes_[index] - 1;
}

void RowCopier::Copy(size_t row) {
  const uint32_t process = CopyProcess(from_.process[row]);
  const uint32_t scope = CopyScope(from_.scope[row]);
  to_.AddRow();
  to_.trace_hi.back() = from_.trace_hi[row];
  to_.trace_lo.back() = from_.trace_lo[row];
  to_.id1.back() = from_.id1[row];
  to_.id2.back() = from_.id2[row];
  to_.start_ns.back() = from_.start_ns[row];
  to_.end_ns.back() = from_.end_ns[row];
  to_.type.back() = from_.type[row];
  to_.kind.back() = from_.kind[row];
  to_.status.back() = from_.status[row];
  to_.parent_ref.back() = from_.parent_ref[row];
  to_.marks.back() = from_.marks[row];
  to_.flags.back() = from_.flags[row];
  to_.name.back() = Code(from_.name[row]);
  to_.status_message.back() = Code(from_.status_message[row]);
  to_.tracestate.back() = Code(from_.tracestate[row]);
  to_.process.back() = process;
  to_.scope.back() = scope;
  to_.SetSequence(from_.sequence_of(row));
  to_.SetSource(from_.source_of(row), from_.probability_of(row));
  to_.SetReceived(from_.received_of(row));

  CopyAttributes(from_.attrs(row));
  to_.EndAttributes();

  // Points and links hold attributes by length, which translation may change: pack them anew. An attribute list is
  // written to the arena's end first, then moved behind its header.
  const auto translated = [&](std::string_view packed) {
    const size_t mark = to_.bytes.size();
    CopyAttributes(packed);
    std::string out = to_.bytes.substr(mark);
    to_.bytes.resize(mark);
    return out;
  };
  PointReader points(from_.points(row));
  for (PackedPoint point; points.Next(point);) {
    const std::string attrs = translated(point.attrs);
    point.name = Code(point.name);
    point.attrs = attrs;
    PutPoint(point, to_.bytes);
  }
  to_.EndPoints();
  LinkReader links(from_.links(row));
  for (PackedLink link; links.Next(link);) {
    const std::string attrs = translated(link.attrs);
    link.tracestate = Code(link.tracestate);
    link.attrs = attrs;
    PutLink(link, to_.bytes);
  }
  to_.EndLinks();
}

Hash128 ContentHash(const EventBatch& b, size_t row) {
  Hasher128 hasher;
  hasher.Add(b.id2[row]);
  hasher.Add(static_cast<uint64_t>(b.start_ns[row]));
  hasher.Add(static_cast<uint64_t>(b.end_ns[row]));
  hasher.Add(static_cast<uint64_t>(b.type[row]) | static_cast<uint64_t>(b.kind[row]) << 8 |
             static_cast<uint64_t>(b.status[row]) << 16 |
             static_cast<uint64_t>(b.parent_ref[row]) << 24 |
             static_cast<uint64_t>(b.marks[row]) << 32);
  hasher.Add(b.flags[row]);
  hasher.Add(static_cast<uint64_t>(b.sequence_of(row)));
  hasher.Add(static_cast<uint64_t>(b.source_of(row)));
  hasher.Add(static_cast<uint64_t>(b.probability_of(row) * 1e6f));
  hasher.Add(b.str(b.name[row]));
  hasher.Add(b.str(b.status_message[row]));
  hasher.Add(b.str(b.tracestate[row]));
  const Process& process = b.processes[b.process[row]];
  hasher.Add(b.str(process.service));
  hasher.Add(b.str(process.host));
  HashAttributes(b, b.process_attrs(row), hasher);
  const Scope& scope = b.scopes[b.scope[row]];
  hasher.Add(b.str(scope.name));
  hasher.Add(b.str(scope.version));
  HashAttributes(b, b.scope_attrs(row), hasher);
  HashAttributes(b, b.attrs(row), hasher);
  PointReader points(b.points(row));
  for (PackedPoint point; points.Next(point);) {
    hasher.Add(static_cast<uint64_t>(point.time_ns));
    hasher.Add(b.str(point.name));
    HashAttributes(b, point.attrs, hasher);
  }
  LinkReader links(b.links(row));
  for (PackedLink link; links.Next(link);) {
    hasher.Add(link.trace_id.hi);
    hasher.Add(link.trace_id.lo);
    hasher.Add(link.span_id.value);
    hasher.Add(static_cast<uint64_t>(link.ref) | static_cast<uint64_t>(link.flags) << 8);
    hasher.Add(b.str(link.tracestate));
    HashAttributes(b, link.attrs, hasher);
  }
  return hasher.Finish();
}

namespace {

constexpr uint32_t kBatchMagic = 0x31424657;  // "WFB1"

template <typename T>
void PutVector(const std::vector<T>& v, std::string& out) {
  PutVarint(v.size(), out);
  out.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T));
}

class BatchReader : public PackedReader {
 public:
  using PackedReader::Bytes;
  using PackedReader::Fixed64;
  using PackedReader::PackedReader;
  using PackedReader::Varint;

  template <typename T>
  bool Vector(std::vector<T>& v) {
    uint64_t n;
    std::string_view raw;
    if (!Varint(n) || n > rest_.size() / sizeof(T) || !Bytes(n * sizeof(T), raw)) return Fail();
    v.resize(n);
    if (n != 0) std::memcpy(v.data(), raw.data(), raw.size());
    return true;
  }
  bool Text(std::string_view& out) {
    uint64_t n;
    return Varint(n) && Bytes(n, out);
  }
};

bool AttributesValid(const EventBatch& b, std::string_view packed) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    if (key >= b.strings.size()) return false;
  }
  return !reader.bad();
}

// Every code, index and offset points inside; packed lists parse. What passes can be read without further checks.
bool BatchValid(const EventBatch& b) {
  const size_t rows = b.size();
  bool same = true;
  ForEachColumn(b, [&](const auto& column) { same = same && column.size() == rows; });
  ForEachOptionalColumn(
      b, [&](const auto& column) { same = same && (column.empty() || column.size() == rows); });
  if (!same) return false;
  const size_t strings = b.strings.size();
  const auto range_ok = [&](uint32_t begin, uint32_t end) {
    return begin <= end && end <= b.bytes.size();
  };
  for (const Process& p : b.processes) {
    if (p.service >= strings || p.host >= strings || !range_ok(p.attrs_begin, p.attrs_end) ||
        !AttributesValid(b, b.Slice(p.attrs_begin, p.attrs_end))) {
      return false;
    }
  }
  for (const Scope& s : b.scopes) {
    if (s.name >= strings || s.version >= strings || !range_ok(s.attrs_begin, s.attrs_end) ||
        !AttributesValid(b, b.Slice(s.attrs_begin, s.attrs_end))) {
      return false;
    }
  }
  for (size_t i = 0; i < rows; ++i) {
    if (b.name[i] >= strings || b.status_message[i] >= strings || b.tracestate[i] >= strings ||
        b.process[i] >= b.processes.size() || b.scope[i] >= b.scopes.size() ||
        !range_ok(b.attrs_begin[i], b.attrs_end[i]) || !range_ok(b.attrs_end[i], b.points_end[i]) ||
        !range_ok(b.points_end[i], b.links_end[i]) || !AttributesValid(b, b.attrs(i))) {
      return false;
    }
    PointReader points(b.points(i));
    for (PackedPoint point; points.Next(point);) {
      if (point.name >= strings || !AttributesValid(b, point.attrs)) return false;
    }
    LinkReader links(b.links(i));
    for (PackedLink link; links.Next(link);) {
      if (link.tracestate >= strings || !AttributesValid(b, link.attrs)) return false;
    }
    if (points.bad() || links.bad()) return false;
  }
  return true;
}

}  // namespace

void SerializeBatch(const EventBatch& batch, std::string& out) {
  out.append(reinterpret_cast<const char*>(&kBatchMagic), 4);
  PutVarint(batch.tenant.size(), out);
  out.append(batch.tenant);
  PutFixed64(static_cast<uint64_t>(batch.received_ns), out);
  PutVector(batch.strings.ends(), out);
  PutVarint(batch.strings.bytes().size(), out);
  out.append(batch.strings.bytes());
  PutVector(batch.processes, out);
  PutVector(batch.scopes, out);
  PutVarint(batch.bytes.size(), out);
  out.append(batch.bytes);
  ForEachColumn(batch, [&](const auto& column) { PutVector(column, out); });
  ForEachOptionalColumn(batch, [&](const auto& column) { PutVector(column, out); });
}

Result<EventBatch> DeserializeBatch(std::string_view bytes) {
  const Error bad =
      BadInput("event batch: malformed bytes", "the file is damaged; restore it from a copy");
  BatchReader reader(bytes);
  EventBatch batch;
  std::string_view magic, tenant, texts, arena;
  uint64_t received;
  std::vector<uint32_t> ends;
  if (!reader.Bytes(4, magic) || std::memcmp(magic.data(), &kBatchMagic, 4) != 0 ||
      !reader.Text(tenant) || !reader.Fixed64(received) || !reader.Vector(ends) ||
      !reader.Text(texts) || !reader.Vector(batch.processes) || !reader.Vector(batch.scopes) ||
      !reader.Text(arena)) {
    return bad;
  }
  batch.tenant = tenant;
  batch.received_ns = static_cast<Nanos>(received);
  if (ends.size() < 2 || ends[0] != 0 || ends[1] != 0 || ends.back() != texts.size() ||
      !std::is_sorted(ends.begin(), ends.end())) {
    return bad;
  }
  for (size_t i = 1; i + 1 < ends.size(); ++i) {
    if (batch.strings.Intern(texts.substr(ends[i], ends[i + 1] - ends[i])) != i) return bad;
  }
  batch.bytes = arena;
  bool ok = true;
  ForEachColumn(batch, [&](auto& column) { ok = ok && reader.Vector(column); });
  ForEachOptionalColumn(batch, [&](auto& column) { ok = ok && reader.Vector(column); });
  if (!ok || !BatchValid(batch)) return bad;
  return batch;
}

}  // namespace wf
