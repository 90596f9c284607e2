// Events as a flat table for other tools (Parquet): ids in hex, times in ns, attributes as JSON text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/event_batch.h"

namespace wf::answer {

enum class SpanColumnType { kText, kInt64 };
struct SpanColumn {
  std::string_view name;
  SpanColumnType type;
};
const std::vector<SpanColumn>& SpanColumns();

// One entry per column of SpanColumns(); the vector of the other type stays empty.
struct SpanTable {
  std::vector<std::vector<std::string>> texts;
  std::vector<std::vector<int64_t>> integers;
  size_t rows = 0;
};
SpanTable MakeSpanTable(const EventBatch& batch);

}  // namespace wf::answer
