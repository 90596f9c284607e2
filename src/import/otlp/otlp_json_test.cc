#include <gtest/gtest.h>

#include "import/decode/batch_dump.h"
#include "import/otlp/otlp_decoder.h"
#include "import/otlp/otlp_encoder.h"

namespace wf::otlp {
namespace {

std::string Decoded(std::string_view json, const decode::DecodeOptions& options = {}) {
  EventBatch batch;
  decode::DecodeReport report;
  const Status status = DecodeOtlpJson(json, options, batch, report);
  if (!status.ok()) {
    EXPECT_EQ(batch.size(), 0u);
    return status.error().message + "\n";
  }
  return decode::DumpBatch(batch) + decode::DumpReport(report) + "\n";
}

std::string OneSpan(const std::string& fields) {
  return std::string(
             R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0AF7651916CD43DD8448EB211C80319C",)"
             R"("spanId":"b7ad6b7169203331","startTimeUnixNano":"100","endTimeUnixNano":200)") +
         (fields.empty() ? "" : ",") + fields + "}]}]}]}";
}
const char* const kHead =
    "span 0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 \"\" [100..200]\n"
    "  process @:\n";
const char* const kClean = "accepted 1, rejected 0 {}, repairs {}\n";

TEST(OtlpJson, EveryFieldInCamelCase) {
  const char* request = R"({"resourceSpans":[{
    "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}],"droppedAttributesCount":1},
    "scopeSpans":[{"scope":{"name":"lib","version":"2","attributes":[{"key":"k","value":{"boolValue":true}}]},
      "spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","parentSpanId":"00f067aa0ba902b7",
        "traceState":"a=b","flags":257,"name":"GET","kind":"SPAN_KIND_CLIENT",
        "startTimeUnixNano":"1544712660000000000","endTimeUnixNano":1544712661000000000,
        "attributes":[{"key":"i","value":{"intValue":"-9223372036854775808"}},{"key":"j","value":{"intValue":7}},
          {"key":"d","value":{"doubleValue":1}},{"key":"nan","value":{"doubleValue":"NaN"}},
          {"key":"raw","value":{"bytesValue":"Af8="}},{"key":"none","value":{}},
          {"key":"list","value":{"arrayValue":{"values":[{"stringValue":"x"},{"arrayValue":{"values":[]}}]}}},
          {"key":"map","value":{"kvlistValue":{"values":[{"key":"in","value":{"intValue":"3"}}]}}}],
        "droppedAttributesCount":2,"droppedEventsCount":3,"droppedLinksCount":4,
        "events":[{"timeUnixNano":"5","name":"ev","attributes":[{"key":"e","value":{"stringValue":"v"}}]}],
        "links":[{"traceId":"1","spanId":"2","traceState":"t","flags":1,"droppedAttributesCount":9}],
        "status":{"message":"bad","code":2}}],
      "schemaUrl":"https://s"}],
    "schemaUrl":"https://r"}]})";
  EXPECT_EQ(
      Decoded(request),
      "span 0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 \"GET\" child_of=00f067aa0ba902b7 "
      "[1544712660000000000..1544712661000000000] client status=error:\"bad\" flags=101 "
      "tracestate=\"a=b\"\n"
      "  process shop@: service.name=\"shop\" otel.dropped_attributes_count=1 "
      "otel.schema_url=\"https://r\"\n"
      "  scope lib 2: k=true otel.schema_url=\"https://s\"\n"
      "  attrs i=-9223372036854775808 j=7 d=1.0 nan=nan raw=bytes:01ff none=null list=[\"x\", []] "
      "map={in: 3} "
      "otel.dropped_attributes_count=2 otel.dropped_events_count=3 otel.dropped_links_count=4\n"
      "  point 5 \"ev\" e=\"v\"\n"
      "  link 00000000000000000000000000000001 0000000000000002 none flags=1 tracestate=\"t\" "
      "otel.dropped_attributes_count=9\n" +
          std::string(kClean));
}

TEST(OtlpJson, SnakeCaseIsUnderstood) {
  EXPECT_EQ(Decoded(R"({"resource_spans":[{"scope_spans":[{"spans":[{"trace_id":"1","span_id":"2",
      "parent_span_id":"3","trace_state":"x","start_time_unix_nano":1,"end_time_unix_nano":"2",
      "dropped_attributes_count":1,"status":{"code":"STATUS_CODE_OK"},
      "attributes":[{"key":"a","value":{"string_value":"s"}},{"key":"b","value":{"int_value":5}}],
      "events":[{"time_unix_nano":1}],"links":[{"trace_id":"4","span_id":"5"}]}]}]}]})"),
            "span 00000000000000000000000000000001 0000000000000002 \"\" child_of=0000000000000003 "
            "[1..2] status=ok "
            "tracestate=\"x\"\n"
            "  process @:\n"
            "  attrs a=\"s\" b=5 otel.dropped_attributes_count=1\n"
            "  point 1 \"\"\n"
            "  link 00000000000000000000000000000004 0000000000000005 none\n" +
                std::string(kClean));
}

TEST(OtlpJson, HostileIds) {
  EXPECT_EQ(Decoded(R"({"resourceSpans":[{"scopeSpans":[{"spans":[
      {"traceId":"xyz","spanId":"1"},{"traceId":"1","spanId":"0"},{"traceId":"","spanId":"1"},{},
      {"traceId":"1","spanId":"11112222333344445"},{"traceId":"1","spanId":"1","parentSpanId":"-"}]}]}]})"),
            "accepted 0, rejected 6 {parent_span_id_malformed:1 span_id_malformed:1 span_id_zero:1 "
            "trace_id_malformed:1 trace_id_zero:2}, repairs {}\n");
}

TEST(OtlpJson, WrongTypesAndUnknownFieldsAreCounted) {
  EXPECT_EQ(
      Decoded(OneSpan(R"("name":5,"attributes":[{"key":"a","value":{"intValue":"x"}},
                               {"key":"b","value":{"bytesValue":"!"}},{"key":"c","value":{"newValue":1}}],
                               "kind":"SPAN_KIND_ODD","surprise":{})")),
      std::string(kHead) +
          "  attrs a=null b=null c=null\n"
          "accepted 1, rejected 0 {}, repairs {bad_field:3 unknown_field:2 unknown_kind:1}\n");
}

TEST(OtlpJson, HostileNestingIsCutAndCounted) {
  std::string value = R"({"intValue":1})";
  for (int i = 0; i < 60; ++i) value = R"({"arrayValue":{"values":[)" + value + "]}}";
  const std::string text =
      Decoded(OneSpan(R"("attributes":[{"key":"deep","value":)" + value + "}]"));
  EXPECT_NE(text.find("deep=" + std::string(32, '[') + "null" + std::string(32, ']')),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("deep_value:1"), std::string::npos);
  for (int i = 0; i < 5000; ++i) value = R"({"arrayValue":{"values":[)" + value + "]}}";
  EXPECT_NE(Decoded(OneSpan(R"("attributes":[{"key":"deep","value":)" + value + "}]"))
                .find("nested deeper than 1024"),
            std::string::npos);
}

TEST(OtlpJson, HostileBadUtf8IsRepairedAndCounted) {
  EXPECT_EQ(Decoded(OneSpan("\"name\":\"a\xff\"")),
            "span 0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 \"a\xEF\xBF\xBD\" [100..200]\n "
            " process @:\n"
            "accepted 1, rejected 0 {}, repairs {bad_utf8:1}\n");
}

TEST(OtlpJson, WhatIsNoRequestIsRefused) {
  EXPECT_EQ(Decoded("[]"),
            "OTLP JSON: the body is not an object with an array \"resourceSpans\"\n");
  EXPECT_EQ(Decoded(R"({"resourceSpans":{}})"),
            "OTLP JSON: the body is not an object with an array \"resourceSpans\"\n");
  EXPECT_EQ(Decoded(R"({"resourceSpans":[)"),
            "JSON: expected a value, found the end of the text at byte 18 (line 1)\n");
  EXPECT_EQ(Decoded("{}"), "accepted 0, rejected 0 {}, repairs {}\n");
}

TEST(OtlpCounts, LogsAndMetricsInJson) {
  EXPECT_EQ(*CountOtlpLogsJson(
                R"({"resourceLogs":[{"scopeLogs":[{"logRecords":[{},{}]},{"logRecords":[{}]}]}]})"),
            3);
  EXPECT_EQ(
      *CountOtlpMetricsJson(
          R"({"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{},{}]}},
                {"name":"b","histogram":{"dataPoints":[{}]}}]}]}]})"),
      3);
  EXPECT_FALSE(CountOtlpLogsJson("{").ok());
}

}  // namespace
}  // namespace wf::otlp
