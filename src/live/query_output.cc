#include "live/query_output.h"

#include <utility>

#include "answer/query/query_answer.h"
#include "json/json_writer.h"
#include "lang/query/rows_json.h"

namespace wf::live {

std::string IntervalJson(const std::vector<std::string>& columns, const ClosedInterval& interval) {
  JsonWriter json;
  json.BeginObject().Field("start_ns", interval.start_ns).Field("end_ns", interval.end_ns);
  json.Key("columns").BeginArray();
  for (const std::string& column : columns) json.String(column);
  json.EndArray().Key("rows");
  query::WriteRows(json, interval.rows);
  json.Field("lost", interval.lost).EndObject();
  return json.Take();
}

std::string TotalJson(const std::vector<std::string>& columns, std::vector<advice::Tuple> rows,
                      const LiveQueryCost& cost) {
  answer::QueryRows answer;
  answer.columns = columns;
  answer.rows = std::move(rows);
  answer.cost = {cost.packed_tuples_max, cost.baggage_bytes_max, cost.tuples};
  answer.events = cost.hits;
  return answer::QueryRowsJson(answer);
}

}  // namespace wf::live
