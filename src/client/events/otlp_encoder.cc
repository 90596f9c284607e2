#include "client/events/otlp_encoder.h"

#include "client/runtime/protobuf_reader.h"
#include "client/runtime/protobuf_writer.h"

namespace wherefore::client {
namespace {

// Span.flags and Link.flags: bits 0–7 are W3C's; bit 8 says that bit 9 (remote) is known.
constexpr uint32_t kRemoteKnown = 1u << 8;
constexpr uint32_t kRemote = 1u << 9;

void AppendBigEndian(uint64_t value, std::string& out) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

void AppendTraceIdField(uint32_t field, TraceId id, std::string& out) {
  AppendTag(field, WireType::kBytes, out);
  AppendVarint(16, out);
  AppendBigEndian(id.hi, out);
  AppendBigEndian(id.lo, out);
}

void AppendBlockIdField(uint32_t field, BlockId id, std::string& out) {
  AppendTag(field, WireType::kBytes, out);
  AppendVarint(8, out);
  AppendBigEndian(id, out);
}

void AppendCount(uint32_t field, uint32_t count, std::string& out) {
  if (count != 0) AppendVarintField(field, count, out);
}

}  // namespace

void EncodeLabel(LabelsOf parent, std::string_view key, const LabelValue& value, std::string& out) {
  std::string any;
  switch (value.type()) {
    case LabelValue::Type::kString:
      AppendTextField(1, value.text(), any);
      break;
    case LabelValue::Type::kBool:
      AppendVarintField(2, value.integer() != 0, any);
      break;
    case LabelValue::Type::kInt:
      AppendVarintField(3, static_cast<uint64_t>(value.integer()), any);
      break;
    case LabelValue::Type::kDouble:
      AppendDoubleField(4, value.real(), any);
      break;
  }
  std::string pair;
  AppendTextField(1, key, pair);
  AppendBytesField(2, any, pair);
  AppendBytesField(static_cast<uint32_t>(parent), pair, out);
}

void EncodePoint(int64_t unix_ns, std::string_view name, std::initializer_list<Label> labels,
                 std::string& out) {
  std::string event;
  AppendFixed64Field(1, static_cast<uint64_t>(unix_ns), event);
  AppendTextField(2, name, event);
  for (const Label& label : labels) EncodeLabel(LabelsOf::kPoint, label.key, label.value, event);
  AppendBytesField(11, event, out);
}

void EncodeLink(const RequestContext& to, std::initializer_list<Label> labels, std::string& out) {
  std::string link;
  AppendTraceIdField(1, to.trace(), link);
  AppendBlockIdField(2, to.block(), link);
  if (!to.tracestate().empty()) AppendTextField(3, to.tracestate(), link);
  for (const Label& label : labels) EncodeLabel(LabelsOf::kLink, label.key, label.value, link);
  AppendFixed32Field(6, to.flags() | kRemoteKnown | (to.remote() ? kRemote : 0), link);
  AppendBytesField(13, link, out);
}

void EncodeBlockEnd(const BlockEnd& end, std::string& out) {
  AppendTraceIdField(1, end.context.trace(), out);
  AppendBlockIdField(2, end.context.block(), out);
  if (!end.context.tracestate().empty()) AppendTextField(3, end.context.tracestate(), out);
  if (end.parent != 0) AppendBlockIdField(4, end.parent, out);
  AppendTextField(5, end.name, out);
  AppendVarintField(6, end.kind, out);
  AppendFixed64Field(7, static_cast<uint64_t>(end.start_ns), out);
  AppendFixed64Field(8, static_cast<uint64_t>(end.end_ns), out);
  AppendCount(10, end.left_out_labels, out);
  AppendCount(12, end.left_out_points, out);
  AppendCount(14, end.left_out_links, out);
  if (end.outcome != 0) {
    std::string status;
    if (!end.error.empty()) AppendTextField(2, end.error, status);
    AppendVarintField(3, end.outcome, status);
    AppendBytesField(15, status, out);
  }
  AppendFixed32Field(16, end.context.flags() | kRemoteKnown | (end.parent_remote ? kRemote : 0),
                     out);
}

std::string EncodeProcess(const ProcessLabels& labels, int64_t pid) {
  std::string process;
  for (const auto& [key, value] : labels) EncodeLabel(LabelsOf::kProcess, key, value, process);
  EncodeLabel(LabelsOf::kProcess, "process.pid", pid, process);
  return process;
}

std::string EncodeRequest(const std::string& process, const std::vector<std::string>& blocks) {
  size_t size = 0;
  for (const std::string& block : blocks) size += block.size() + 8;
  std::string scope;
  AppendTextField(1, "libwherefore", scope);
  std::string scope_spans;
  scope_spans.reserve(size);
  AppendBytesField(1, scope, scope_spans);
  for (const std::string& block : blocks) AppendBytesField(2, block, scope_spans);
  std::string process_spans;
  process_spans.reserve(scope_spans.size() + process.size() + 16);
  AppendBytesField(1, process, process_spans);
  AppendBytesField(2, scope_spans, process_spans);
  std::string request;
  request.reserve(process_spans.size() + 8);
  AppendBytesField(1, process_spans, request);
  return request;
}

ExportAnswer DecodeAnswer(std::string_view body) {
  ExportAnswer answer;
  ProtobufReader response(body);
  while (response.Next()) {
    if (response.field() != 1 || response.type() != WireType::kBytes) continue;
    ProtobufReader partial(response.bytes());
    while (partial.Next()) {
      if (partial.field() == 1 && partial.type() == WireType::kVarint) {
        const auto count = static_cast<int64_t>(partial.number());
        answer.rejected = count > 0 ? static_cast<uint64_t>(count) : 0;
      }
      if (partial.field() == 2) answer.reason = std::string(partial.bytes());
    }
    answer.well_formed = answer.well_formed && partial.ok();
  }
  answer.well_formed = answer.well_formed && response.ok();
  return answer;
}

}  // namespace wherefore::client
