// One cell of a dataset's rows, as programs and as people read it.
#pragma once

#include <string>
#include <string_view>

#include "json/json_writer.h"
#include "model/dataset_table.h"

namespace wf::answer {

// A counter of whole numbers is written as such: 10240, not 1.024e4. A null, and what JSON has no number for, is null.
void WriteCellJson(const TableColumn& column, size_t row, JsonWriter& json);
// The same as plain text, as in CSV; a null is empty.
std::string CellText(const TableColumn& column, size_t row);

// The unit of a result's column, which stands in its name, as on the web interface: time_ns is an instant, *_ns a
// duration, *bytes a size; an aggregate of one has it too (p95(latency_ns)), unless it counts.
enum class CellUnit : uint8_t { kNone, kInstant, kDuration, kBytes };
CellUnit UnitOfColumn(std::string_view name);
// For a terminal: 2026-02-03T04:05:06.789Z, 1.24 s, 10.2 kB.
std::string CellForReaders(const TableColumn& column, size_t row);

}  // namespace wf::answer
