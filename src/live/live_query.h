// A live query as it is requested and as it is kept: text, name, interval, limits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "advice/program.h"
#include "base/nanos.h"
#include "base/result.h"
#include "json/json_writer.h"

namespace wf::live {

struct LiveQuerySpec {
  std::string text;
  std::string name;
  bool standing = false;  // kept across restarts until removed; else it ends with its client
  bool total = false;     // one merged answer at the end
  // The counting form (Pivot Tracing §4): what would be packed, instead of packing it.
  bool count = false;
  Nanos interval = kSecond;
  uint32_t max_tuples = 256;  // packed by one request
  uint32_t max_bytes = 3000;
  std::string dataset;  // rows of every interval are also stored there
};

constexpr Nanos kShortestInterval = 50 * kMilli;
constexpr Nanos kLongestInterval = kHour;

// {"query", "name"?, "standing"?, "total"?, "count"?, "interval_ms"?, "max_tuples"?, "max_bytes"?, "dataset"?}
Result<LiveQuerySpec> ReadLiveQuerySpec(std::string_view json);
// Writes the members above, as kept.
void WriteLiveQuerySpec(const LiveQuerySpec& spec, JsonWriter& json);

// How requests that begin now run the query: tuples travel in baggage, or are emitted one by one and joined
// here. A query switches to the second plan when requests carry too much (docs/use/live-queries.md).
enum class LivePlan : uint8_t { kRewritten, kEmit };
const char* ToString(LivePlan plan);

// The cost of a query so far, as its processes report it.
struct LiveQueryCost {
  uint64_t hits = 0;       // events at its tracepoints
  uint64_t tuples = 0;     // emitted, before they are grouped
  uint64_t bytes = 0;      // of reports
  uint64_t advice_ns = 0;  // spent in its advice
  uint64_t lost = 0, overflowed = 0;
  uint64_t packed_tuples_max = 0, baggage_bytes_max = 0;  // of one request
  uint64_t reports = 0;
};
void WriteLiveQueryCost(const LiveQueryCost& cost, JsonWriter& json);

// Compiles the advice of a query. Errors show the position in the text.
using CompileLiveQuery = std::function<Result<std::shared_ptr<const advice::Program>>(
    const LiveQuerySpec&, uint64_t id)>;

// Every tracepoint of the advice, each once.
std::vector<std::string> TracepointsOf(const advice::Program& program);

}  // namespace wf::live
