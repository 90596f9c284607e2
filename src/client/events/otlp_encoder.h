// Blocks and process labels → OTLP protobuf (opentelemetry/proto/trace/v1/trace.proto).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/events/events_encoder.h"
#include "wherefore/tracer.h"

namespace wherefore::client {

// Where a KeyValue stands: the field number of `attributes` in its parent message.
enum class LabelsOf : uint32_t { kProcess = 1, kPoint = 3, kLink = 4, kBlock = 9 };

void EncodeLabel(LabelsOf parent, std::string_view key, const LabelValue& value, std::string& out);

// Fields of a Span message. Protobuf fields may come in any order, so labels, points and links are
// encoded when they are set, and EncodeBlockEnd adds the rest when the block ends.
void EncodePoint(int64_t unix_ns, std::string_view name, std::initializer_list<Label> labels,
                 std::string& out);
void EncodeLink(const RequestContext& to, std::initializer_list<Label> labels, std::string& out);

struct BlockEnd {
  const RequestContext& context;  // its own; tracestate and flags travel with it
  BlockId parent;
  bool parent_remote;
  std::string_view name;
  uint32_t kind;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t outcome;
  std::string_view error;
  uint32_t left_out_labels;
  uint32_t left_out_points;
  uint32_t left_out_links;
};
void EncodeBlockEnd(const BlockEnd& end, std::string& out);

// The Resource message. `pid` is an integer label, as OpenTelemetry's conventions have it.
std::string EncodeProcess(const ProcessLabels& labels, int64_t pid);

// An ExportTraceServiceRequest of one process.
std::string EncodeRequest(const std::string& process, const std::vector<std::string>& blocks);

struct ExportAnswer {
  bool well_formed = true;
  uint64_t rejected = 0;
  std::string reason;
};
ExportAnswer DecodeAnswer(std::string_view body);

}  // namespace wherefore::client
