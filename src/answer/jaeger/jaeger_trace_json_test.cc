#include "answer/jaeger/jaeger_trace_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "answer/jaeger/jaeger_otlp_json.h"

namespace wf::answer {
namespace {

using testing::HasSubstr;

// One span that has everything a span can have.
EventBatch FullSpan() {
  EventBatch b;
  b.processes.push_back({b.strings.Intern("shop"), 0, 0, 0});
  const auto key = [&](const char* text) { PutVarint(b.strings.Intern(text), b.bytes); };
  key("scoped");
  PutBool(true, b.bytes);
  b.scopes.push_back({b.strings.Intern("lib"), b.strings.Intern("1.2"), 0, b.ArenaSize()});
  b.AddRow();
  b.trace_hi.back() = 0xAB;
  b.trace_lo.back() = 1;
  b.id1.back() = 0x10;
  b.id2.back() = 0x20;
  b.parent_ref.back() = ParentRef::kFollowsFrom;
  b.name.back() = b.strings.Intern("op");
  b.kind.back() = SpanKind::kConsumer;
  b.status.back() = SpanStatus::kError;
  b.status_message.back() = b.strings.Intern("broken");
  b.tracestate.back() = b.strings.Intern("v=1");
  b.flags.back() = 0x101;
  b.start_ns.back() = 1'500;
  b.end_ns.back() = 4'999;
  b.marks.back() = kHasStart | kHasEnd;
  key("s");
  PutString("text", b.bytes);
  key("i");
  PutInt(-7, b.bytes);
  key("big");
  PutInt(std::numeric_limits<int64_t>::max(), b.bytes);
  key("d");
  PutDouble(0.5, b.bytes);
  key("b");
  PutBool(false, b.bytes);
  key("raw");
  PutString(std::string("\x00\xff\x01\x02", 4), b.bytes, ValueType::kBytes);
  std::string elements;
  PutString("x", elements);
  PutInt(2, elements);
  key("list");
  PutString(elements, b.bytes, ValueType::kArray);
  b.EndAttributes();
  std::string attrs;
  PutVarint(b.strings.Intern("n"), attrs);
  PutInt(3, attrs);
  PutPoint({2'500, b.strings.Intern("retry"), attrs}, b.bytes);
  b.EndPoints();
  PutLink({{0, 5}, {6}, 0, 1, b.strings.Intern("l=1"), {}}, b.bytes);
  PutLink({{0, 7}, {8}, static_cast<uint8_t>(ParentRef::kChildOf), 0, 0, {}}, b.bytes);
  b.EndLinks();
  return b;
}

TEST(JaegerTraceJson, EveryPartOfASpan) {
  JsonWriter out;
  WriteJaegerTrace(FullSpan(), {0}, out);
  EXPECT_EQ(
      out.Take(),
      R"({"traceID":"00000000000000ab0000000000000001","spans":[)"
      R"({"traceID":"00000000000000ab0000000000000001","spanID":"0000000000000010","flags":1,)"
      R"("operationName":"op","references":[)"
      R"({"refType":"FOLLOWS_FROM","traceID":"00000000000000ab0000000000000001","spanID":"0000000000000020"},)"
      R"({"refType":"FOLLOWS_FROM","traceID":"00000000000000000000000000000005","spanID":"0000000000000006"},)"
      R"({"refType":"CHILD_OF","traceID":"00000000000000000000000000000007","spanID":"0000000000000008"}],)"
      R"("startTime":1,"duration":3,"tags":[)"
      R"({"key":"s","type":"string","value":"text"},{"key":"i","type":"int64","value":-7},)"
      R"({"key":"big","type":"int64","value":"9223372036854775807"},)"
      R"({"key":"d","type":"float64","value":0.5},{"key":"b","type":"bool","value":false},)"
      R"({"key":"raw","type":"binary","value":"AP8BAg=="},)"
      R"({"key":"list","type":"string","value":"[\"x\",2]"},)"
      R"({"key":"span.kind","type":"string","value":"consumer"},{"key":"error","type":"bool","value":true},)"
      R"({"key":"otel.status_code","type":"string","value":"ERROR"},)"
      R"({"key":"otel.status_description","type":"string","value":"broken"},)"
      R"({"key":"w3c.tracestate","type":"string","value":"v=1"},)"
      R"({"key":"otel.scope.name","type":"string","value":"lib"},)"
      R"({"key":"otel.scope.version","type":"string","value":"1.2"},)"
      R"({"key":"scoped","type":"bool","value":true}],)"
      R"("logs":[{"timestamp":2,"fields":[{"key":"event","type":"string","value":"retry"},)"
      R"({"key":"n","type":"int64","value":3}]}],"processID":"p1","warnings":null}],)"
      R"("processes":{"p1":{"serviceName":"shop","tags":[]}},"warnings":null})");
}

TEST(JaegerTraceJson, EveryPartOfASpanAsOtlp) {
  const EventBatch b = FullSpan();
  JsonWriter out;
  WriteResourceSpans(b, SpansByTrace(b), out);
  EXPECT_EQ(
      out.Take(),
      R"([{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},)"
      R"("scopeSpans":[{"scope":{"name":"lib","version":"1.2","attributes":[)"
      R"({"key":"scoped","value":{"boolValue":true}}]},"spans":[)"
      R"({"traceId":"00000000000000ab0000000000000001","spanId":"0000000000000010","traceState":"v=1",)"
      R"("parentSpanId":"0000000000000020","flags":257,"name":"op","kind":5,"startTimeUnixNano":"1500",)"
      R"("endTimeUnixNano":"4999","attributes":[{"key":"s","value":{"stringValue":"text"}},)"
      R"({"key":"i","value":{"intValue":"-7"}},{"key":"big","value":{"intValue":"9223372036854775807"}},)"
      R"({"key":"d","value":{"doubleValue":0.5}},{"key":"b","value":{"boolValue":false}},)"
      R"({"key":"raw","value":{"bytesValue":"AP8BAg=="}},)"
      R"({"key":"list","value":{"arrayValue":{"values":[{"stringValue":"x"},{"intValue":"2"}]}}}],)"
      R"("events":[{"timeUnixNano":"2500","name":"retry","attributes":[{"key":"n","value":{"intValue":"3"}}]}],)"
      R"("links":[{"traceId":"00000000000000000000000000000005","spanId":"0000000000000006",)"
      R"("traceState":"l=1","flags":1},{"traceId":"00000000000000000000000000000007",)"
      R"("spanId":"0000000000000008"}],"status":{"message":"broken","code":2}}]}]}])");
}

TEST(JaegerTraceJson, DeepValuesEndSomewhere) {
  EventBatch b;
  b.processes.push_back({});
  b.scopes.push_back({});
  b.AddRow();
  b.marks.back() = kHasStart | kHasEnd;
  std::string value;
  PutInt(1, value);
  for (int depth = 0; depth < 10'000; ++depth) {
    std::string outer;
    PutString(value, outer, ValueType::kArray);
    value = std::move(outer);
  }
  PutVarint(b.strings.Intern("deep"), b.bytes);
  b.bytes += value;
  b.EndAttributes();
  JsonWriter out;
  WriteJaegerTrace(b, {0}, out);
  EXPECT_THAT(out.Take(), HasSubstr(R"([[\"…\"]])"));
  WriteResourceSpans(b, SpansByTrace(b), out);
  EXPECT_THAT(out.Take(), HasSubstr(R"({"values":[{"stringValue":"…"}]})"));
}

TEST(JaegerTraceJson, ATagThatIsThereIsNotDerivedAgain) {
  EventBatch b;
  b.processes.push_back({});
  b.scopes.push_back({});
  b.AddRow();
  b.kind.back() = SpanKind::kServer;
  b.status.back() = SpanStatus::kError;
  b.marks.back() = kHasStart | kHasEnd;
  PutVarint(b.strings.Intern("span.kind"), b.bytes);
  PutString("server", b.bytes);
  PutVarint(b.strings.Intern("error"), b.bytes);
  PutBool(true, b.bytes);
  b.EndAttributes();
  JsonWriter out;
  WriteJaegerTrace(b, {0}, out);
  EXPECT_THAT(out.Take(),
              HasSubstr(R"("tags":[{"key":"span.kind","type":"string","value":"server"},)"
                        R"({"key":"error","type":"bool","value":true},)"
                        R"({"key":"otel.status_code","type":"string","value":"ERROR"}])"));
}

TEST(JaegerTraceJson, WhatIsMissingIsSaid) {
  EventBatch b;
  b.processes.push_back({});
  b.scopes.push_back({});
  for (const uint8_t marks : {kHasStart, static_cast<uint8_t>(kHasStart | kHasEnd)}) {
    b.AddRow();
    b.start_ns.back() = 5'000;
    b.end_ns.back() = 1'000;
    b.marks.back() = marks;
  }
  b.start_ns.back() = -5;
  b.end_ns.back() = -10;
  JsonWriter out;
  WriteJaegerTrace(b, {0, 1}, out);
  const std::string json = out.Take();
  EXPECT_THAT(json, HasSubstr(R"("startTime":5,"duration":0)"));
  EXPECT_THAT(json, HasSubstr("the span has no end"));
  EXPECT_THAT(json, HasSubstr(R"("startTime":0,"duration":0)"));
  EXPECT_THAT(json, HasSubstr("the span ends before it starts"));
}

TEST(JaegerTraceJson, EqualProcessesAreOne) {
  EventBatch b;
  for (int i = 0; i < 2; ++i) b.processes.push_back({b.strings.Intern("same"), 0, 0, 0});
  b.processes.push_back({b.strings.Intern("other"), 0, 0, 0});
  b.scopes.push_back({});
  for (const uint32_t process : {0u, 1u, 2u}) {
    b.AddRow();
    b.process.back() = process;
    b.marks.back() = kHasStart | kHasEnd;
  }
  JsonWriter out;
  WriteJaegerTrace(b, {0, 1, 2}, out);
  EXPECT_THAT(out.Take(), HasSubstr(R"("processes":{"p1":{"serviceName":"same","tags":[]},)"
                                    R"("p2":{"serviceName":"other","tags":[]}})"));
}

}  // namespace
}  // namespace wf::answer
