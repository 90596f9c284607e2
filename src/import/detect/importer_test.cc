#include "import/detect/importer.h"

#include <gtest/gtest.h>

#include <set>

#include "import/decode/attribute_writer.h"
#include "import/decode/batch_dump.h"
#include "import/otlp/otlp_encoder.h"
#include "net/compression.h"

namespace wf::detect {
namespace {

struct Imported {
  std::vector<EventBatch> batches;
  Result<ImportResult> result = BadInput("not run");
  size_t rows() const {
    size_t n = 0;
    for (const EventBatch& batch : batches) n += batch.size();
    return n;
  }
  std::string text() const {
    if (!result.ok()) return result.error().message + " | " + result.error().hint;
    return std::string(ImportFormatName(result->format)) + ": " + DumpReport(result->report);
  }
};

Imported ImportText(std::string_view content, size_t max_rows = 4096) {
  Imported out;
  ImportOptions options;
  options.tenant = "t";
  options.received_ns = 99;
  options.max_rows = max_rows;
  out.result = ImportBytes(content, "f", options, [&](EventBatch&& batch) -> Status {
    EXPECT_FALSE(batch.empty());
    EXPECT_LE(batch.size(), max_rows);
    EXPECT_EQ(batch.tenant, "t");
    EXPECT_EQ(batch.received_of(0), 99);
    out.batches.push_back(std::move(batch));
    return {};
  });
  return out;
}

// Spans 1..n of one trace.
EventBatch SomeSpans(uint64_t n) {
  EventBatch batch;
  const uint32_t process = decode::FinishProcess(batch, 0),
                 scope = decode::FinishScope(batch, 0, 0, 0);
  for (uint64_t i = 1; i <= n; ++i) {
    batch.AddRow();
    batch.process.back() = process;
    batch.scope.back() = scope;
    batch.trace_lo.back() = 7;
    batch.id1.back() = i;
    batch.marks.back() = kHasStart | kHasEnd;
  }
  return batch;
}
std::string OtlpJson(uint64_t n) {
  const EventBatch batch = SomeSpans(n);
  return otlp::EncodeOtlpJson(batch, otlp::AllRows(batch));
}
std::string OtlpProtobuf(uint64_t n) {
  const EventBatch batch = SomeSpans(n);
  std::string out;
  otlp::EncodeOtlpProtobuf(batch, otlp::AllRows(batch), out);
  return out;
}
std::string Framed(const std::string& request) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(request.size() >> shift));
  return out + request;
}

TEST(Import, EveryFormatIsKnownByItsContent) {
  const std::pair<std::string, std::string> kFiles[] = {
      {OtlpJson(2), "OTLP JSON: accepted 2, rejected 0 {}, repairs {}"},
      {OtlpJson(2) + "\n" + OtlpJson(1) + "\n", "OTLP JSON: accepted 3, rejected 0 {}, repairs {}"},
      {OtlpJson(2) + OtlpJson(1), "OTLP JSON: accepted 3, rejected 0 {}, repairs {}"},
      {"\xEF\xBB\xBF " + OtlpJson(1), "OTLP JSON: accepted 1, rejected 0 {}, repairs {}"},
      {"{}", "OTLP JSON: accepted 0, rejected 0 {}, repairs {}"},
      {OtlpProtobuf(3), "OTLP protobuf: accepted 3, rejected 0 {}, repairs {}"},
      {OtlpProtobuf(3) + OtlpProtobuf(2), "OTLP protobuf: accepted 5, rejected 0 {}, repairs {}"},
      {Framed(OtlpProtobuf(3)) + Framed(OtlpProtobuf(300)),
       "OTLP protobuf: accepted 303, rejected 0 {}, repairs {}"},
      {R"([{"id":"1","traceId":"1"}])", "Zipkin v2 JSON: accepted 1, rejected 0 {}, repairs {}"},
      {"[]", "Zipkin v2 JSON: accepted 0, rejected 0 {}, repairs {}"},
      {R"({"data":[{"traceID":"1","spans":[{"spanID":"1","process":{}}]}],"total":0})",
       "Jaeger JSON: accepted 1, rejected 0 {}, repairs {}"},
      {R"({"traceID":"1","spans":[{"spanID":"1","process":{}}]})",
       "Jaeger JSON: accepted 1, rejected 0 {}, repairs {}"},
      {R"({"a":"b9f2a1e07b6e4f16b0c2b27303b20e79","b":1})",
       "HTrace JSON: accepted 1, rejected 0 {}, repairs {}"},
      {R"({"i":"1","s":"2"})", "HTrace JSON: accepted 1, rejected 0 {}, repairs {}"},
      {R"({"type":"point","trace_id":"1","id1":"1","time_ns":1})",
       "wherefore events: accepted 1, rejected 0 {}, repairs {}"},
  };
  for (const auto& [content, expected] : kFiles) {
    EXPECT_EQ(ImportText(content).text(), expected);
    EXPECT_EQ(ImportText(net::Compress(net::Compression::kGzip, content)).text(), expected);
    EXPECT_EQ(ImportText(net::Compress(net::Compression::kZstd, content)).text(), expected);
  }
}

TEST(Import, FilesOfOtherVerbsAreRefusedByName) {
  EXPECT_EQ(
      ImportText(R"j({"id":"1","type":"INS","node":"a","tuple":"t(1)","start_ns":0,"end_ns":1})j")
          .text(),
      "f: provenance events, which cannot be imported | wherefore explain --events f --from ID "
      "--to ID");
  EXPECT_EQ(ImportText(R"j({"resource":"pool","servers":4})j").text(),
            "f: provenance events, which cannot be imported | wherefore explain --events f "
            "--from ID --to ID");
  EXPECT_EQ(ImportText(R"({"id":"1","tracepoint":"A","time_ns":1})").text(),
            "f: tracepoint events, which cannot be imported | wherefore query --events f 'From … "
            "Select …'");
  EXPECT_EQ(ImportText(std::string("\xd4\xc3\xb2\xa1\x02\x00\x04\x00", 8)).result.error().message,
            "f: a packet capture: its messages are imported whole, not in pieces");
  EXPECT_EQ(ImportText("1655759356.535256 CALL_RCVD frontend search 1\n").result.error().message,
            "f: message text: it is imported whole, not in pieces");
  EXPECT_EQ(ImportText(R"([{"traceId":"1","id":"2","annotations":[{"endpoint":{},"value":"sr"}]}])")
                .result.error()
                .message,
            "f: Zipkin v1 spans; import reads Zipkin v2");
}

TEST(Import, WhatNobodyKnowsIsRefused) {
  EXPECT_EQ(ImportText("").result.error().message, "f: the file is empty (byte 0)");
  EXPECT_EQ(ImportText("hello").result.error().message, "f: unknown format (byte 0)");
  EXPECT_EQ(ImportText(R"({"hello":1})").result.error().message,
            "f: JSON of an unknown format (byte 0)");
  EXPECT_EQ(ImportText(std::string("\x1f\x8b\x08\x00garbage", 11)).result.error().code,
            ErrorCode::kBadInput);
}

TEST(Import, ACutDocumentIsRefusedWholeAndNamesThePlace) {
  const std::string pretty =
      "{\n \"data\": [\n  {\"traceID\":\"1\",\n   \"spans\":[{\"spanID\":\"1\"}]},\n  {";
  const Imported cut = ImportText(pretty);
  ASSERT_FALSE(cut.result.ok());
  EXPECT_EQ(cut.result.error().message.substr(0, 31), "f: value at byte 0 (line 1): JS");
  EXPECT_EQ(cut.rows(), 0u);
  const std::string protobuf = OtlpProtobuf(5);
  const Imported half = ImportText(std::string_view(protobuf).substr(0, protobuf.size() - 3));
  EXPECT_FALSE(half.result.ok());
  EXPECT_EQ(half.rows(), 0u);
}

TEST(Import, AMalformedLineIsCountedAndTheRestGoesOn) {
  const std::string good = R"({"trace_id":"1","type":"point","id1":"1","time_ns":1})";
  const Imported out =
      ImportText(good + "\n{\"trace_id\":\n" + good + "\nnonsense\n" + good + "\n{\"cut\":");
  EXPECT_EQ(out.text(), "wherefore events: accepted 3, rejected 3 {malformed_value:3}, repairs {}");
  EXPECT_EQ(out.result->first_fault.substr(0, 49),
            "f: value at byte 54 (line 2): JSON: expected ',' ");
}

TEST(Import, LogsAndMetricsBesideTracesAreCounted) {
  EXPECT_EQ(
      ImportText(
          OtlpJson(1) + "\n" + R"({"resourceLogs":[{"scopeLogs":[{"logRecords":[{},{}]}]}]})" +
          "\n" +
          R"({"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":{"dataPoints":[{}]}}]}]}]})")
          .text(),
      "OTLP JSON: accepted 1, rejected 3 {otlp_log_record:2 otlp_metric_point:1}, repairs {}");
}

TEST(Import, BatchesAreBoundedAndNothingIsLost) {
  for (const std::string& content : {OtlpJson(1000), OtlpProtobuf(1000)}) {
    const Imported out = ImportText(content, 64);
    EXPECT_EQ(out.batches.size(), 16u);
    std::set<uint64_t> ids;
    for (const EventBatch& batch : out.batches) ids.insert(batch.id1.begin(), batch.id1.end());
    EXPECT_EQ(ids.size(), 1000u);
  }
}

TEST(Import, AFailingSinkEndsTheImport) {
  int calls = 0;
  ImportOptions options;
  options.max_rows = 1;
  std::string lines;
  for (int i = 0; i < 9; ++i) lines += R"({"trace_id":"1","type":"point","id1":"1","time_ns":1})";
  const auto result = ImportBytes(lines, "f", options, [&](EventBatch&&) -> Status {
    return ++calls < 3 ? Status() : Status(EnvironmentError("disk full"));
  });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "disk full");
  EXPECT_EQ(calls, 3);
}

TEST(Import, LargeArraysAreReadElementByElement) {
  std::string spans = "[";
  const std::string padding(1 << 16, 'p');
  int count = 0;
  while (spans.size() <= kWholeDocument) {
    if (count++ > 0) spans += ",";
    spans += "{\"traceId\":\"1\",\"id\":\"" + std::to_string(count) + "\",\"tags\":{\"p\":\"" +
             padding + "\"}}";
  }
  const Imported whole = ImportText(spans + "]");
  EXPECT_EQ(whole.result->report.accepted, count);
  EXPECT_GT(whole.batches.size(), 1u);  // handed on before the file's end
  const Imported cut = ImportText(spans);
  ASSERT_FALSE(cut.result.ok());
  EXPECT_NE(cut.result.error().message.find("expected ',' or ']'"), std::string::npos)
      << cut.result.error().message;
}

TEST(Import, StreamsLongFilesOfLines) {
  const std::string line =
      R"({"trace_id":"1","type":"point","id1":"1","time_ns":1,"annotations":{"label:x":")" +
      std::string(4000, 'x') + "\"}}\n";
  std::string content;
  int64_t lines = 0;
  for (; content.size() < kWholeDocument * 3 / 2; ++lines) content += line;
  content += "{broken\n" + line;
  const Imported out = ImportText(net::Compress(net::Compression::kZstd, content));
  EXPECT_EQ(out.result->report.accepted, lines + 1);
  EXPECT_EQ(out.result->first_fault.substr(0, out.result->first_fault.find(": JSON")),
            "f: value at byte " + std::to_string(static_cast<size_t>(lines) * line.size()) +
                " (line " + std::to_string(lines + 1) + ")");
}

}  // namespace
}  // namespace wf::detect
