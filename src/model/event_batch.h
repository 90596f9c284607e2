// EventBatch: events as columns, the one form in which they travel from receiver to store and back.
//
// A row is one event. A received span is one event (type kSpan); the other types are those of <wherefore/event.h>.
// Decoders write straight into the columns; nothing is allocated per row. Repeated texts (names, attribute keys) are
// interned in the batch's own string table and rows hold their codes; attribute values, span events and links are
// packed bytes in one arena, addressed by offsets. A batch belongs to one tenant.
//
// Raw values are kept as they were received: an end before its start, an unknown parent, a zero id are facts about
// the sender, repaired when the trace is modeled, never here.
//
// Thread safety: none; a batch is filled by one thread, then only read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/nanos.h"
#include "model/packed.h"
#include "model/string_table.h"
#include "wherefore/event.h"

namespace wf {

using wherefore::EventType;

// OTLP's numbers; Zipkin and Jaeger kinds are mapped onto them.
enum class SpanKind : uint8_t {
  kUnspecified = 0,
  kInternal,
  kServer,
  kClient,
  kProducer,
  kConsumer
};
enum class SpanStatus : uint8_t { kUnset = 0, kOk, kError };
// How a row refers to its parent (id2).
enum class ParentRef : uint8_t { kNone = 0, kChildOf, kFollowsFrom };
// Where a row comes from: a sender recorded it, or we inferred it from messages.
enum class Source : uint8_t { kRecorded = 0, kRepaired, kInferred };

// Bits of EventBatch::marks.
constexpr uint8_t kHasEnd = 1;  // end_ns was given
// start_ns was given (a span without one keeps 0 and lacks this bit).
constexpr uint8_t kHasStart = 2;
constexpr uint8_t kSharedSpanId = 4;  // Zipkin: the server reports under its client's span id

constexpr int64_t kNoSequence = INT64_MIN;

// What OTLP calls a Resource: the process that sent the spans.
struct Process {
  uint32_t service = 0;  // string codes
  uint32_t host = 0;     // host.id, host.name, Jaeger hostname/ip, Zipkin address; 0 when unknown
  uint32_t attrs_begin = 0;  // packed attributes in EventBatch::bytes
  uint32_t attrs_end = 0;
};

struct Scope {
  uint32_t name = 0;
  uint32_t version = 0;
  uint32_t attrs_begin = 0;
  uint32_t attrs_end = 0;
};

struct EventBatch {
  std::string tenant = "default";
  Nanos received_ns = 0;  // of every row whose own receipt is not in received_rows

  StringTable strings;
  std::vector<Process> processes;
  std::vector<Scope> scopes;
  std::string bytes;  // the arena: packed attributes, points, links

  // One entry a row.
  std::vector<uint64_t> trace_hi, trace_lo;
  std::vector<uint64_t> id1;      // span id, or the event's first id
  std::vector<uint64_t> id2;      // parent span id, or the event's second id; 0 for none
  std::vector<int64_t> start_ns;  // the event's time
  std::vector<int64_t> end_ns;    // spans only, as received; see kHasEnd
  std::vector<EventType> type;
  std::vector<SpanKind> kind;
  std::vector<SpanStatus> status;
  std::vector<ParentRef> parent_ref;
  std::vector<uint8_t> marks;
  std::vector<uint32_t> flags;  // W3C trace flags and OTLP's span flags
  std::vector<uint32_t> name;   // string codes from here on
  std::vector<uint32_t> status_message;
  std::vector<uint32_t> tracestate;
  std::vector<uint32_t> process;  // index into processes
  std::vector<uint32_t> scope;    // index into scopes
  // Packed attributes of row i: bytes[attrs_begin[i], attrs_end[i]),.
  std::vector<uint32_t> attrs_begin;
  std::vector<uint32_t> attrs_end;
  std::vector<uint32_t> points_end;  // then its packed points (span events), up to points_end[i],
  std::vector<uint32_t> links_end;   // then its packed links, up to links_end[i]

  // Empty when every row has the default.
  std::vector<int64_t> sequence;       // kNoSequence
  std::vector<Source> source;          // kRecorded
  std::vector<float> probability;      // 1
  std::vector<int64_t> received_rows;  // received_ns

  size_t size() const { return id1.size(); }
  bool empty() const { return id1.empty(); }
  size_t MemoryBytes() const;
  void Reserve(size_t rows);

  TraceId trace_id(size_t row) const { return {trace_hi[row], trace_lo[row]}; }
  std::string_view str(uint32_t code) const { return strings.At(code); }
  std::string_view attrs(size_t row) const { return Slice(attrs_begin[row], attrs_end[row]); }
  std::string_view points(size_t row) const { return Slice(attrs_end[row], points_end[row]); }
  std::string_view links(size_t row) const { return Slice(points_end[row], links_end[row]); }
  std::string_view process_attrs(size_t row) const {
    const Process& p = processes[process[row]];
    return Slice(p.attrs_begin, p.attrs_end);
  }
  std::string_view scope_attrs(size_t row) const {
    const Scope& s = scopes[scope[row]];
    return Slice(s.attrs_begin, s.attrs_end);
  }
  std::string_view Slice(uint32_t begin, uint32_t end) const {
    return std::string_view(bytes).substr(begin, end - begin);
  }
  int64_t sequence_of(size_t row) const { return sequence.empty() ? kNoSequence : sequence[row]; }
  Source source_of(size_t row) const { return source.empty() ? Source::kRecorded : source[row]; }
  float probability_of(size_t row) const { return probability.empty() ? 1.0f : probability[row]; }
  Nanos received_of(size_t row) const {
    return received_rows.empty() ? received_ns : received_rows[row];
  }

  // Appends a row of defaults whose packed data begins at the arena's end. The caller then fills the columns it has
  // (back() of each), writes attributes, points and links to `bytes` in this order and calls EndAttributes(),
  // EndPoints(), EndLinks() after each part. A part left out is empty.
  size_t AddRow();
  void EndAttributes() { attrs_end.back() = points_end.back() = links_end.back() = ArenaSize(); }
  void EndPoints() { points_end.back() = links_end.back() = ArenaSize(); }
  void EndLinks() { links_end.back() = ArenaSize(); }
  uint32_t ArenaSize() const { return static_cast<uint32_t>(bytes.size()); }
  // Fill an optional column with its default up to the present rows before setting the last row's value.
  void SetSequence(int64_t value);
  void SetSource(Source value, float row_probability);
  void SetReceived(Nanos value);

  // Removes the last row (a span found to be unusable half-way).
  void DropLastRow();
};

// Copies one row into another batch (of the same tenant), translating string codes, process and scope. `Copier`
// remembers the translations, so copying many rows between the same two batches is cheap.
class RowCopier {
 public:
  RowCopier(const EventBatch& from, EventBatch& to) : from_(from), to_(to) {}
  void Copy(size_t row);
  uint32_t Code(uint32_t from_code);
  // Appends packed attributes of `from` to `to.bytes`, translating key codes.
  void CopyAttributes(std::string_view packed);

 private:
  uint32_t CopyProcess(uint32_t index);
  uint32_t CopyScope(uint32_t index);

  const EventBatch& from_;
  EventBatch& to_;
  std::vector<uint32_t> codes_, processes_, scopes_;  // from index → to index + 1; 0 = not yet
};

// The 128-bit hash of a row's decoded content: everything but tenant, trace id, span id and receipt. Two rows with
// equal tenant, trace id, span id and content hash are the same event, received twice. Independent of string codes
// and of the order in which a batch interned its texts; attribute order counts.
Hash128 ContentHash(const EventBatch& batch, size_t row);

// Self-contained bytes of a batch, for the write-ahead log and the bus: versioned, checked on reading.
void SerializeBatch(const EventBatch& batch, std::string& out);
Result<EventBatch> DeserializeBatch(std::string_view bytes);

}  // namespace wf
