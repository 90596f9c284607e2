// Values and answers of queries as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advice/expression.h"
#include "json/json_writer.h"

namespace wf::query {

// Integers without a point, doubles with one or an exponent and no more digits than they need to be read back.
std::string DoubleText(double value);
void WriteValue(JsonWriter& json, const advice::Value& value);
void WriteRows(JsonWriter& json, const std::vector<advice::Tuple>& rows);

// What running a query cost.
struct Cost {
  uint64_t packed_tuples_max = 0;  // the most any request carried at one moment
  uint64_t baggage_bytes_max = 0;
  uint64_t emitted = 0;  // tuples that left a process, before they were grouped
};

// Puts rows into the order of answers: column by column ascending.
void SortRows(std::vector<advice::Tuple>& rows);

}  // namespace wf::query
