// Values and answers of queries as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advice/expression.h"
#include "json/json_writer.h"

namespace wf::query {

// Integers without a point, doubles with a point or an exponent, with only as many digits as are needed to
// read them back.
std::string DoubleText(double value);
void WriteValue(JsonWriter& json, const advice::Value& value);
void WriteRows(JsonWriter& json, const std::vector<advice::Tuple>& rows);

// What running a query cost.
struct Cost {
  uint64_t packed_tuples_max = 0;  // max that any request carried at one moment
  uint64_t baggage_bytes_max = 0;
  uint64_t emitted = 0;  // tuples that left a process, before grouping
};

// Sorts rows into the order of answers: column by column ascending.
void SortRows(std::vector<advice::Tuple>& rows);

}  // namespace wf::query
