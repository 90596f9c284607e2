// Counts what is not stored, log records and metric data points, so that senders are told how many were
// rejected.
#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

#include "import/otlp/otlp_decoder.h"

namespace wf::otlp {
namespace {

using protozero::pbf_reader;

bool IsMessage(const pbf_reader& reader, uint32_t field) {
  return reader.tag_and_type() ==
         protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited);
}

// Walks down the message fields of `path`; calls visit with each message reached.
template <typename Visit>
void Descend(pbf_reader reader, const uint32_t* path, size_t levels, const Visit& visit) {
  if (levels == 0) return visit(reader);
  while (reader.next()) {
    if (IsMessage(reader, *path)) {
      Descend(reader.get_message(), path + 1, levels - 1, visit);
    } else {
      reader.skip();
    }
  }
}

constexpr uint32_t kToRecords[] = {1, 2, 2};  // resource_*, scope_*, log_records or metrics

template <typename Visit>
Status Count(std::string_view request, const char* what, const Visit& visit) {
  try {
    Descend(pbf_reader(request.data(), request.size()), kToRecords, 3, visit);
  } catch (const protozero::exception& problem) {
    return BadInput(
        fmt::format("OTLP {} request of {} bytes: {}", what, request.size(), problem.what()),
        "check that the body was sent whole");
  }
  return {};
}

}  // namespace

Result<int64_t> CountOtlpLogs(std::string_view request) {
  int64_t records = 0;
  WF_TRY(Count(request, "logs", [&](pbf_reader) { ++records; }));
  return records;
}

Result<int64_t> CountOtlpMetrics(std::string_view request) {
  int64_t points = 0;
  WF_TRY(Count(request, "metrics", [&](pbf_reader metric) {
    while (metric.next()) {
      bool data = false;  // gauge, sum, histogram, exponential histogram, summary
      for (const uint32_t field : {5u, 7u, 9u, 10u, 11u}) data = data || IsMessage(metric, field);
      if (!data) {
        metric.skip();
        continue;
      }
      pbf_reader body = metric.get_message();
      while (body.next()) {
        points += IsMessage(body, 1) ? 1 : 0;
        body.skip();
      }
    }
  }));
  return points;
}

}  // namespace wf::otlp
