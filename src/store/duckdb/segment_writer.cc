#include "store/duckdb/segment_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "store/match.h"

namespace wf::store::duckdb {
namespace {

// Rows whose packed attributes are fetched early: they lie anywhere in 70 MB.
constexpr size_t kAhead = 12;

template <typename T>
void Gather(const BatchList& batches, const RowKey* keys, size_t count, void* out,
            const std::vector<T> EventBatch::*column) {
  auto* to = static_cast<T*>(out);
  for (size_t i = 0; i < count; ++i) to[i] = ((*batches[keys[i].batch]).*column)[keys[i].row];
}

void GatherText(const BatchList& batches, const RowKey* keys, size_t count, void* out,
                const std::vector<uint32_t> EventBatch::*column) {
  auto* to = static_cast<duckdb_string_t*>(out);
  for (size_t i = 0; i < count; ++i) {
    const EventBatch& b = *batches[keys[i].batch];
    to[i] = duck::BorrowText(b.str((b.*column)[keys[i].row]));
  }
}

// Text of an attribute of packed attributes, by key; for the resource keys of a process.
std::string AttributeText(const EventBatch& b, std::string_view packed, std::string_view key) {
  const uint32_t code = b.strings.Find(key);
  AttributeReader reader(packed);
  uint32_t at;
  Value value;
  while (code != UINT32_MAX && reader.Next(at, value)) {
    if (at == code) return ValueText(value);
  }
  return "";
}

// Compression is fixed where we know the data; elsewhere DuckDB tries all methods it has, which costs about as much
// as compressing. Sorted trace ids are runs; span ids are random.
std::string EventColumnSql(size_t column) {
  const ColumnDef& def = EventTable()[column];
  std::string sql = def.name + " " + duck::TypeSql(def.type);
  switch (column) {
    case kColTraceHi:
    case kColTraceLo:
    case kColId2:
    case kColBlock:
      sql += " USING COMPRESSION rle";
      break;
    case kColId1:
      sql += " USING COMPRESSION uncompressed";
      break;
    case kColParent:
    case kColStart:
    case kColDuration:
    case kColShape:
    case kColReceipt:
    case kColThread:
      sql += " USING COMPRESSION bitpacking";
      break;
    default:
      break;
  }
  return sql;
}

}  // namespace

SegmentWriter::SegmentWriter(const BatchList& batches, const std::vector<RowKey>& rows,
                             SlotHomes& homes)
    : batches_(batches), rows_(rows), layout_(batches, homes), used_(layout_.used()) {
  WF_CHECK(!rows.empty());
  for (size_t i = 0; i < kColFirstOptional; ++i) used_[i] = true;
  shape_.resize(rows.size());
  parent_.assign(rows.size(), 0);
  id2_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    shape_[i] = layout_.shape(rows[i].batch, rows[i].row);
    id2_[i] = batches[rows[i].batch]->id2[rows[i].row];
  }
  GatherTraces();
  GatherReceipts();
}

// A group of batches shares one time of receipt, so there are few; rows hold their places.
void SegmentWriter::GatherReceipts() {
  std::vector<Nanos>& receipts = layout_.dictionary().receipts;
  for (const auto& batch : batches_) {
    receipts.push_back(batch->received_ns);
    receipts.insert(receipts.end(), batch->received_rows.begin(), batch->received_rows.end());
  }
  std::sort(receipts.begin(), receipts.end());
  receipts.erase(std::unique(receipts.begin(), receipts.end()), receipts.end());
  const auto place = [&](Nanos time) {
    return static_cast<uint32_t>(std::lower_bound(receipts.begin(), receipts.end(), time) -
                                 receipts.begin());
  };
  std::vector<uint32_t> of_batch;
  for (const auto& batch : batches_) of_batch.push_back(place(batch->received_ns));
  receipt_.resize(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    const EventBatch& b = *batches_[rows_[i].batch];
    receipt_[i] =
        b.received_rows.empty() ? of_batch[rows_[i].batch] : place(b.received_rows[rows_[i].row]);
  }
}

void SegmentWriter::GatherTraces() {
  for (const auto& batch : batches_) {
    has_async_.push_back(batch->strings.Find("wherefore.async") != UINT32_MAX);
  }
  for (size_t begin = 0; begin < rows_.size();) {
    size_t end = begin + 1;
    while (end < rows_.size() && rows_[end].SameTrace(rows_[begin])) ++end;
    GatherTrace(begin, end);
    begin = end;
  }
  trace_filter_ = TraceFilter(traces_.size());
  for (const TraceRow& trace : traces_) trace_filter_.Add(trace.id);
  layout_.dictionary().exchanges = exchanges_.Exchanges();
}

void SegmentWriter::GatherTrace(size_t begin, size_t end) {
  // Parents within the trace, by place. Small traces by looking at each; large ones by a map.
  std::unordered_map<uint64_t, uint32_t> places;
  if (end - begin > 64) {
    for (size_t i = begin; i < end; ++i)
      places.emplace(rows_[i].id1, static_cast<uint32_t>(i - begin + 1));
  }
  const std::vector<Shape>& shapes = layout_.dictionary().shapes;
  const bool plain = IsPlain(begin, end);
  TraceRow trace{rows_[begin].trace_id(), rows_[begin].start_ns, 0, 0, 0};
  Nanos last = INT64_MIN;
  for (size_t i = begin; i < end; ++i) {
    const Shape& shape = shapes[shape_[i]];
    const EventBatch& b = *batches_[rows_[i].batch];
    const uint32_t row = rows_[i].row;
    last = std::max(last, RepairedEnd(b, row));
    if (shape.type == static_cast<uint8_t>(EventType::kSpan)) {
      ++trace.spans;
      if (shape.status == static_cast<uint8_t>(SpanStatus::kError)) ++trace.errors;
    }
    if (id2_[i] == 0) continue;
    uint32_t place = 0;
    if (places.empty()) {
      for (size_t j = begin; j < end && place == 0; ++j) {
        if (rows_[j].id1 == id2_[i]) place = static_cast<uint32_t>(j - begin + 1);
      }
    } else if (const auto it = places.find(id2_[i]); it != places.end()) {
      place = it->second;
    }
    if (place == 0) {
      used_[kColId2] = true;
      continue;
    }
    parent_[i] = place;
    id2_[i] = 0;
    if (plain) GatherExchange(begin + place - 1, i);
  }
  if (!plain) GatherExchangesSlowly(begin, end);
  trace.duration = SaturatingSub(last, trace.start);
  traces_.push_back(trace);
}

// The rules are the model's (model/clock_exchange.h); here they are fed from shapes and columns, without copying rows.
void SegmentWriter::GatherExchange(size_t parent, size_t child) {
  const EventBatch& base = layout_.dictionary().base;
  const auto shape_of = [&](size_t i) -> const Shape& {
    return layout_.dictionary().shapes[shape_[i]];
  };
  const uint32_t from = base.processes[shape_of(parent).process].host;
  const uint32_t to = base.processes[shape_of(child).process].host;
  if (from == to || from == 0 || to == 0) return;
  const auto facts = [&](size_t i) {
    const Shape& shape = shape_of(i);
    const EventBatch& b = *batches_[rows_[i].batch];
    return SpanFacts{static_cast<SpanKind>(shape.kind),
                     static_cast<SpanStatus>(shape.status),
                     static_cast<ParentRef>(shape.parent_ref),
                     shape.marks,
                     false,
                     rows_[i].start_ns,
                     b.end_ns[rows_[i].row]};
  };
  const SpanFacts caller = facts(parent), callee = facts(child);
  const ExchangeEvidence evidence = EvidenceOf(caller, callee);
  const uint32_t from_host = exchanges_.Host(base.str(from)),
                 to_host = exchanges_.Host(base.str(to));
  const Nanos asked = caller.start_ns;
  if (evidence.request) exchanges_.Add(from_host, asked, to_host, callee.start_ns, asked);
  if (evidence.response) exchanges_.Add(to_host, callee.end_ns, from_host, caller.end_ns, asked);
}

// Traces with events other than spans, shared span ids or asynchronous children: rare, so their rows are copied and
// given to the model whole.
void SegmentWriter::GatherExchangesSlowly(size_t begin, size_t end) {
  EventBatch trace;
  std::vector<uint32_t> rows;
  for (size_t i = begin; i < end; ++i) {
    RowCopier(*batches_[rows_[i].batch], trace).Copy(rows_[i].row);
    rows.push_back(static_cast<uint32_t>(i - begin));
  }
  CollectExchanges(trace, rows, exchanges_);
}

// Can exchanges be told from shapes alone? Decided by batch, since only few senders use these things.
bool SegmentWriter::IsPlain(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const Shape& shape = layout_.dictionary().shapes[shape_[i]];
    if (shape.type != static_cast<uint8_t>(EventType::kSpan) ||
        (shape.marks & kSharedSpanId) != 0 || has_async_[rows_[i].batch]) {
      return false;
    }
  }
  return true;
}

std::string_view SegmentWriter::Keep(std::string text) {
  kept_.push_back(std::move(text));
  return kept_.back();
}

// Distinct values in one block, from the fullest of three sampled blocks.
size_t SegmentWriter::EstimateFilterEntries() {
  const size_t blocks = (rows_.size() + kBlockRows - 1) / kBlockRows;
  size_t most = 16;
  for (size_t block : {size_t{0}, blocks / 2, blocks - 1}) {
    std::unordered_set<uint64_t> hashes;
    const size_t end = std::min(rows_.size(), (block + 1) * kBlockRows);
    for (size_t i = block * kBlockRows; i < end; ++i) {
      AttributeReader reader(batches_[rows_[i].batch]->attrs(rows_[i].row));
      uint32_t key;
      Value value;
      while (reader.Next(key, value)) hashes.insert(FilterHash(key, value));
    }
    most = std::max(most, hashes.size());
  }
  return most;
}

size_t SegmentWriter::FillEvents(void* const* vectors, size_t capacity) {
  const size_t count = std::min(capacity, rows_.size() - next_);
  if (count == 0) return 0;
  kept_.clear();
  const RowKey* keys = rows_.data() + next_;
  for (size_t c = 0; c < columns_.size(); ++c) {
    void* out = vectors[c];
    const auto each = [&](auto* to, auto&& value) {
      for (size_t i = 0; i < count; ++i) to[i] = value(i);
    };
    const auto batch = [&](size_t i) -> const EventBatch& { return *batches_[keys[i].batch]; };
    switch (columns_[c]) {
      case kColTraceHi:
        each(static_cast<uint64_t*>(out), [&](size_t i) { return keys[i].trace_hi; });
        break;
      case kColTraceLo:
        each(static_cast<uint64_t*>(out), [&](size_t i) { return keys[i].trace_lo; });
        break;
      case kColId1:
        each(static_cast<uint64_t*>(out), [&](size_t i) { return keys[i].id1; });
        break;
      case kColParent:
        std::memcpy(out, parent_.data() + next_, count * sizeof(uint32_t));
        break;
      case kColStart:
        each(static_cast<int64_t*>(out), [&](size_t i) { return keys[i].start_ns; });
        break;
      case kColDuration:
        each(static_cast<int64_t*>(out), [&](size_t i) {
          return static_cast<int64_t>(static_cast<uint64_t>(batch(i).end_ns[keys[i].row]) -
                                      static_cast<uint64_t>(keys[i].start_ns));
        });
        break;
      case kColShape:
        each(static_cast<uint32_t*>(out), [&](size_t i) { return shape_[next_ + i]; });
        break;
      case kColReceipt:
        std::memcpy(out, receipt_.data() + next_, count * sizeof(uint32_t));
        break;
      case kColBlock:
        each(static_cast<uint32_t*>(out),
             [&](size_t i) { return static_cast<uint32_t>((next_ + i) / kBlockRows); });
        break;
      case kColId2:
        std::memcpy(out, id2_.data() + next_, count * sizeof(uint64_t));
        break;
      case kColSequence:
        each(static_cast<int64_t*>(out),
             [&](size_t i) { return batch(i).sequence_of(keys[i].row); });
        break;
      case kColProbability:
        each(static_cast<float*>(out),
             [&](size_t i) { return batch(i).probability_of(keys[i].row); });
        break;
      case kColStatusMessage:
        GatherText(batches_, keys, count, out, &EventBatch::status_message);
        break;
      case kColTracestate:
        GatherText(batches_, keys, count, out, &EventBatch::tracestate);
        break;
      default: {  // attribute columns: defaults first
        const bool text = EventTable()[columns_[c]].type == EngineType::kString;
        std::memset(out, 0, count * (text ? sizeof(duckdb_string_t) : sizeof(int64_t)));
      }
    }
  }
  FillAttributes(vectors, count);
  next_ += count;
  return count;
}

// Values of attributes into their columns, their hashes into the filter; points and links with the dictionary's codes.
void SegmentWriter::FillAttributes(void* const* vectors, size_t count) {
  const auto vector_of = [&](uint8_t column) { return vectors[column_of_[column]]; };
  const auto put_text = [&](uint8_t column, size_t i, std::string_view text) {
    static_cast<duckdb_string_t*>(vector_of(column))[i] = duck::BorrowText(text);
  };
  SegmentDictionary& dictionary = layout_.dictionary();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = next_ + i;
    if (at + kAhead < rows_.size()) {
      const RowKey& later = rows_[at + kAhead];
      const EventBatch& b = *batches_[later.batch];
      const char* bytes = b.bytes.data() + b.attrs_begin[later.row];
      __builtin_prefetch(bytes);
      __builtin_prefetch(bytes + 64);
      __builtin_prefetch(bytes + 128);
    }
    const RowKey& key = rows_[at];
    const EventBatch& b = *batches_[key.batch];
    const size_t block = at / kBlockRows;
    const Layout& layout = dictionary.layouts[dictionary.shapes[shape_[at]].layout];
    AttributeReader reader(b.attrs(key.row));
    uint32_t code;
    Value value;
    std::string more;
    const bool loose = layout.empty();
    for (size_t e = 0; reader.Next(code, value); ++e) {
      const uint32_t dictionary_key = loose ? layout_.copier(key.batch).Code(code) : layout[e].key;
      const uint64_t hash = FilterHash(key_hashes_[dictionary_key], value);
      uint64_t& recent = recent_[hash & (recent_.size() - 1)];
      const uint64_t mark = hash + (block + 1) * 0x9E3779B97F4A7C15ull;
      if (recent !=
          mark) {  // repeated values, as methods and status codes are, need one look instead of five
        recent = mark;
        filter_->Add(block, hash);
      }
      if (loose) continue;
      const uint8_t column = layout[e].column;
      if (column == kNoColumn) {
        PutValue(value, more);
      } else if (value.type == ValueType::kString) {
        uint64_t id;
        if (layout[e].type == static_cast<uint8_t>(StoredType::kHex16) &&
            ParseHex16(value.text, id)) {
          static_cast<uint64_t*>(vector_of(column))[i] = id;
        } else {
          put_text(column, i, value.text);
        }
      } else {
        int64_t number = value.integer;
        if (value.type == ValueType::kBool) number = value.boolean ? 1 : 0;
        if (value.type == ValueType::kDouble) std::memcpy(&number, &value.number, 8);
        static_cast<int64_t*>(vector_of(column))[i] = number;
      }
    }
    const bool has_points = b.points_end[key.row] != b.attrs_end[key.row];
    const bool has_links = b.links_end[key.row] != b.points_end[key.row];
    if (loose && b.attrs_end[key.row] != b.attrs_begin[key.row]) {
      std::string& arena = dictionary.base.bytes;
      const size_t mark = arena.size();
      layout_.copier(key.batch).CopyAttributes(b.attrs(key.row));
      more = arena.substr(mark);
      arena.resize(mark);
    }
    if (!more.empty()) put_text(kColMore, i, Keep(std::move(more)));
    if (!has_points && !has_links) continue;
    RowCopier& copier = layout_.copier(key.batch);
    const auto translated = [&](std::string_view packed) {
      std::string& arena = dictionary.base.bytes;
      const size_t mark = arena.size();
      copier.CopyAttributes(packed);
      std::string out = arena.substr(mark);
      arena.resize(mark);
      return out;
    };
    if (has_points) {
      std::string out;
      PointReader points(b.points(key.row));
      for (PackedPoint point; points.Next(point);) {
        const std::string attrs = translated(point.attrs);
        point.name = copier.Code(point.name);
        point.attrs = attrs;
        PutPoint(point, out);
      }
      put_text(kColPoints, i, Keep(std::move(out)));
    }
    if (has_links) {
      std::string out;
      LinkReader links(b.links(key.row));
      for (PackedLink link; links.Next(link);) {
        const std::string attrs = translated(link.attrs);
        link.tracestate = copier.Code(link.tracestate);
        link.attrs = attrs;
        PutLink(link, out);
      }
      put_text(kColLinks, i, Keep(std::move(out)));
    }
  }
}

Status SegmentWriter::Write(duck::Connection& connection, const std::string& schema,
                            IndexFile& index, SegmentFacts& facts) {
  SegmentDictionary& dictionary = layout_.dictionary();
  const size_t blocks = (rows_.size() + kBlockRows - 1) / kBlockRows;
  facts.rows = rows_.size();
  facts.traces = traces_.size();
  for (const TraceRow& trace : traces_) {
    facts.min_start = std::min(facts.min_start, trace.start);
    facts.max_trace_start = std::max(facts.max_trace_start, trace.start);
    facts.max_end = std::max(facts.max_end, SaturatingAdd(trace.start, trace.duration));
    facts.spans += trace.spans;
  }
  for (const RowKey& row : rows_) {
    facts.max_start = std::max(facts.max_start, row.start_ns);
  }
  const auto [first_receipt, last_receipt] = std::minmax_element(receipt_.begin(), receipt_.end());
  facts.min_received = dictionary.receipts[*first_receipt];
  facts.max_received = dictionary.receipts[*last_receipt];

  // Events.
  AttributeFilter filter(blocks, EstimateFilterEntries());
  filter_ = &filter;
  recent_.assign(512, 0);
  next_ = 0;
  key_hashes_.resize(dictionary.base.strings.size());
  for (uint32_t i = 0; i < key_hashes_.size(); ++i)
    key_hashes_[i] = FilterKeyHash(dictionary.base.str(i));
  duck::RowSource events;
  std::string sql;
  columns_.clear();
  column_of_.assign(kEventColumns, -1);
  for (uint8_t c = 0; c < kEventColumns; ++c) {
    if (!used_[c]) continue;
    facts.columns |= uint64_t{1} << c;
    sql += (sql.empty() ? "" : ", ") + EventColumnSql(c);
    column_of_[c] = static_cast<int>(columns_.size());
    columns_.push_back(c);
    events.columns.push_back(EventTable()[c]);
  }
  events.fill = [this](void* const* vectors, size_t capacity) {
    return FillEvents(vectors, capacity);
  };
  const auto segment = static_cast<uint32_t>(facts.id);
  const std::string table = fmt::format("{}.events_{}", schema, segment);
  WF_TRY(connection.Run(fmt::format("CREATE TABLE {} ({})", table, sql)));
  WF_TRY(connection.Insert(table, events));

  // Traces, newest first.
  std::sort(traces_.begin(), traces_.end(),
            [](const TraceRow& a, const TraceRow& b) { return a.start > b.start; });
  size_t next = 0;
  duck::RowSource traces{TraceTable(), [&](void* const* v, size_t capacity) {
                           const size_t n = std::min(capacity, traces_.size() - next);
                           for (size_t i = 0; i < n; ++i, ++next) {
                             const TraceRow& t = traces_[next];
                             static_cast<uint64_t*>(v[0])[i] = t.id.hi;
                             static_cast<uint64_t*>(v[1])[i] = t.id.lo;
                             static_cast<int64_t*>(v[2])[i] = t.start;
                             static_cast<int64_t*>(v[3])[i] = t.duration;
                             static_cast<uint32_t*>(v[4])[i] = t.spans;
                             static_cast<uint32_t*>(v[5])[i] = t.errors;
                           }
                           return n;
                         }};
  const std::string trace_table = fmt::format("{}.traces_{}", schema, segment);
  WF_TRY(connection.Run(
      fmt::format("CREATE TABLE {} ({})", trace_table, duck::ColumnsSql(TraceTable()))));
  WF_TRY(connection.Insert(trace_table, traces));

  // Shapes.
  next = 0;
  const EventBatch& base = dictionary.base;
  std::deque<std::string> texts;
  const auto keep = [&](std::string text) {
    texts.push_back(std::move(text));
    return duck::BorrowText(texts.back());
  };
  duck::RowSource shapes{
      ShapeTable(), [&](void* const* v, size_t capacity) {
        const size_t n = std::min(capacity, dictionary.shapes.size() - next);
        for (size_t i = 0; i < n; ++i, ++next) {
          const Shape& s = dictionary.shapes[next];
          const Process& p = base.processes[s.process];
          const std::string_view attrs = base.Slice(p.attrs_begin, p.attrs_end);
          static_cast<uint32_t*>(v[0])[i] = segment;
          static_cast<uint32_t*>(v[1])[i] = static_cast<uint32_t>(next);
          static_cast<duckdb_string_t*>(v[2])[i] = duck::BorrowText(base.str(p.service));
          static_cast<duckdb_string_t*>(v[3])[i] = duck::BorrowText(base.str(s.name));
          static_cast<duckdb_string_t*>(v[4])[i] = duck::BorrowText(base.str(p.host));
          static_cast<duckdb_string_t*>(v[5])[i] =
              keep(AttributeText(base, attrs, "service.instance.id"));
          static_cast<duckdb_string_t*>(v[6])[i] = keep(AttributeText(base, attrs, "process.pid"));
          const uint8_t small[] = {s.type, s.kind, s.status, s.parent_ref, s.marks, s.source};
          for (size_t j = 0; j < 6; ++j) static_cast<uint8_t*>(v[7 + j])[i] = small[j];
          const uint32_t numbers[] = {s.flags, s.process, s.scope, s.layout};
          for (size_t j = 0; j < 4; ++j) static_cast<uint32_t*>(v[13 + j])[i] = numbers[j];
        }
        return n;
      }};
  WF_TRY(connection.Insert(schema + ".shapes", shapes));

  // The segment itself.
  std::string bytes;
  SerializeDictionary(dictionary, bytes);
  WF_ASSIGN(facts.index_at, index.Append({trace_filter_.bytes(), bytes, filter.bytes()}));
  bool written = false;
  duck::RowSource own{SegmentTable(), [&](void* const* v, size_t) -> size_t {
                        if (std::exchange(written, true)) return 0;
                        *static_cast<uint32_t*>(v[0]) = segment;
                        *static_cast<duckdb_string_t*>(v[1]) = duck::BorrowText(facts.tenant);
                        const uint64_t counts[] = {facts.rows, facts.spans, facts.traces};
                        for (size_t j = 0; j < 3; ++j)
                          *static_cast<uint64_t*>(v[2 + j]) = counts[j];
                        *static_cast<uint64_t*>(v[5]) = facts.columns;
                        const int64_t times[] = {facts.min_start,       facts.max_start,
                                                 facts.max_trace_start, facts.max_end,
                                                 facts.min_received,    facts.max_received};
                        for (size_t j = 0; j < 6; ++j) *static_cast<int64_t*>(v[6 + j]) = times[j];
                        *static_cast<uint64_t*>(v[12]) = facts.index_at;
                        *static_cast<duckdb_string_t*>(v[13]) =
                            duck::BorrowText({reinterpret_cast<const char*>(facts.continued.data()),
                                              facts.continued.size() * sizeof(ContinuedTrace)});
                        return 1;
                      }};
  return connection.Insert(schema + ".segments", own);
}

}  // namespace wf::store::duckdb
