// Events as rows of ClickHouse: a batch into RowBinary for inserts, and answers back into batches.
//
// Everything that a row needs is in the row, but for its process and scope, which many rows share: these are rows of
// `origins`, named by a hash of their content, so that any number of writers name them alike without asking.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "model/event_batch.h"
#include "store/clickhouse/row_binary.h"
#include "store/store.h"

namespace wf::store::clickhouse {

// "host:node-1": as it stands in the columns `resources` and `resource`.
std::string ResourceText(ResourceKey key, std::string_view value);

// Intervals by length: class 0 has none, class c those shorter than 4^c ns.
constexpr int kLengthClasses = 33;
uint8_t LengthClass(Nanos length);
Nanos LongestOfClass(int length_class);

// Days since 1970, held in the column's range.
uint16_t DayOf(Nanos time);

enum class OriginKind : uint8_t { kProcess = 0, kScope = 1 };

// What many events share is written once a day: what they come from, and the names that people are offered.
enum class SideTable : uint8_t { kOrigins, kOperations, kAttributeKeys };
constexpr SideTable kSideTables[] = {SideTable::kOrigins, SideTable::kOperations,
                                     SideTable::kAttributeKeys};
struct SideRow {
  SideTable table;
  uint16_t day;
  std::string row;  // with its tenant
};

// The rows of one shard.
struct EncodedEvents {
  std::string events;
  size_t rows = 0;
  std::vector<SideRow> side_rows;  // each once a batch
};

// "origins (tenant, day, …)": the table and columns of an insert, in the encoder's order.
std::string EventInsertColumns();
std::string InsertColumns(SideTable table);

// Appends the rows of a batch to those of their shards.
void EncodeEvents(const EventBatch& batch, const std::function<size_t(TraceId)>& shard_of,
                  std::vector<EncodedEvents>& out);

// Which parts of a row to read. Ids, times, types and content hashes always are.
struct EventColumns {
  bool origins = true;  // process and scope with their attributes; without: service and host only
  bool attributes = true;
  bool points = true;
  // parents' references, links, flags, sequence, messages: all that a model needs.
  bool rest = true;
  // Only these attributes are needed; empty: all.
  std::vector<std::string> keys = {};
};
std::string SelectList(const EventColumns& columns);

struct Origin {
  OriginKind kind;
  std::string title, detail;
  std::vector<std::string> keys, texts, rest;
  std::vector<uint8_t> types;
};
std::string OriginSelectList();
Origin ReadOrigin(RowReader& reader, uint64_t& id);

// Rows of answers, gathered into one batch. Give it answers, then the origins it asks for, then take the batch.
class EventDecoder {
 public:
  EventDecoder(const std::string& tenant, EventColumns columns);

  // Rows come in the order of (trace, start, id, content, receipt): of doubles only the first is taken.
  Status Add(std::string_view answer);
  std::vector<uint64_t> OriginsNeeded() const;
  using FindOrigin = std::function<std::shared_ptr<const Origin>(uint64_t id)>;
  // An origin that is not found leaves its rows with service and host only, and is counted.
  EventBatch Finish(const FindOrigin& find, int64_t& missing);
  size_t size() const { return batch_.size(); }
  int64_t doubles() const { return doubles_; }
  // Of the rows, in the batch's order.
  const std::vector<Hash128>& contents() const { return contents_; }

 private:
  uint32_t PlaceOf(std::unordered_map<uint64_t, uint32_t>& places, std::vector<uint64_t>& ids,
                   uint64_t id);

  const EventColumns columns_;
  EventBatch batch_;
  std::vector<Hash128> contents_;
  std::unordered_map<uint64_t, uint32_t> process_places_, scope_places_;
  std::vector<uint64_t> process_ids_, scope_ids_;
  struct ServiceAndHost {
    uint32_t service, host;
  };
  std::vector<ServiceAndHost> process_names_;  // by place
  int64_t doubles_ = 0;
};

// The order in which a decoder wants its rows.
constexpr char kEventOrder[] =
    "trace_hi, trace_lo, start_ns, id1, content_hi, content_lo, received_ns";

}  // namespace wf::store::clickhouse
