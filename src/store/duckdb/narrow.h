// Where in a segment rows may match a query: by its dictionary (shapes, layouts) and its attribute filters. What is
// passed over here cannot match; what is left is decided by match.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/duckdb/part.h"
#include "store/store.h"

namespace wf::store::duckdb {

// Where in a segment rows may match.
struct Place {
  const Segment* segment = nullptr;
  bool nothing = false;
  bool all_blocks = true;
  std::vector<uint32_t> blocks;  // when not all
  std::vector<uint32_t> shapes;  // when not all
  bool all_shapes = true;
  std::string condition;  // on attribute columns; empty for none
};

// `host`: asked for by OnResource, besides the query's conditions.
Result<Place> NarrowSegment(const Segment& segment, const SegmentDictionary& dictionary,
                            const TraceQuery& query, const std::optional<std::string>& host);

// The SQL condition on the rows of a place, blocks apart.
std::string RowCondition(const Place& place, const TraceQuery& query);

// Consecutive numbers as ranges: "(x BETWEEN 1 AND 3 OR x BETWEEN 7 AND 7)"; empty when there are more than `most`.
std::string Ranges(const char* column, const std::vector<uint32_t>& numbers, size_t most);

}  // namespace wf::store::duckdb
