// Values as ClickHouse's SQL writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace wf::store::clickhouse {

// 'text', for any bytes.
std::string Quote(std::string_view text);
// ('a','b') as a list for IN, or ['a','b'] as an array.
std::string QuoteList(const std::vector<std::string>& texts);
std::string QuoteArray(const std::vector<std::string>& texts);
// `name`, for names of tables and columns.
std::string QuoteName(std::string_view name);

// "PREWHERE … WHERE …" that chooses the rows of these traces, at least one: by the sorting key, and of the granules
// found so only the ids are read before anything else is.
std::string WhereTraces(std::string_view tenant, const std::vector<TraceId>& ids);

}  // namespace wf::store::clickhouse
