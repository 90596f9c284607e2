// What a process reports to the server about its tracepoints and queries, as JSON (docs/use/live-queries.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/queries/live_query.h"
#include "client/queries/tracepoint_registry.h"

namespace wherefore::client {

void AppendJsonText(std::string_view text, std::string& out);  // with its quotes
std::string ToBase64(std::string_view bytes);
bool FromBase64(std::string_view text, std::string& bytes);

// [{"name","exports":[…]}, …]
std::string TracepointsJson(const std::vector<TracepointKind>& tracepoints);
// {"query","seq","start_ns",…}; `number` is of this result alone, `overflowed` beyond what the interval counted itself.
std::string IntervalJson(const QueryInterval& interval, uint64_t number, uint64_t overflowed,
                         double ns_per_tick);
// {"query","seq",…,"events"}: a piece of those of the emit plan, which come as results of their own.
std::string EventsJson(const QueryInterval& interval, uint64_t number, std::string_view events);
std::string QueryIdText(uint64_t id);  // 16 hex digits
bool ParseQueryId(std::string_view text, uint64_t& id);

}  // namespace wherefore::client
