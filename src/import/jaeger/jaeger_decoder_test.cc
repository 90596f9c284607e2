#include "import/jaeger/jaeger_decoder.h"

#include <gtest/gtest.h>

#include <functional>

#include "import/decode/batch_dump.h"
#include "import/jaeger/thrift_reader.h"

namespace wf::jaeger {
namespace {

using jaeger::ThriftType;

std::string Text(const EventBatch& batch, const decode::DecodeReport& report,
                 const Status& status) {
  return status.ok() ? decode::DumpBatch(batch) + decode::DumpReport(report) + "\n"
                     : status.error().message + "\n";
}
std::string DecodedJson(std::string_view json) {
  EventBatch batch;
  decode::DecodeReport report;
  const Status status = DecodeJaegerJson(json, {}, batch, report);
  return Text(batch, report, status);
}
std::string DecodedThrift(std::string_view bytes) {
  EventBatch batch;
  decode::DecodeReport report;
  const Status status = DecodeJaegerThrift(bytes, {}, batch, report);
  return Text(batch, report, status);
}

TEST(JaegerJson, ATraceOfTheApi) {
  EXPECT_EQ(DecodedJson(R"({"data":[{"traceID":"ab","spans":[
      {"traceID":"ab","spanID":"1","flags":1,"operationName":"root","references":[],"startTime":0,"duration":10,
       "tags":[{"key":"span.kind","type":"string","value":"server"},{"key":"n","type":"int64","value":"7"},
               {"key":"f","type":"float64","value":2},{"key":"b","type":"bool","value":true},
               {"key":"raw","type":"binary","value":"Af8="},{"key":"error","type":"bool","value":true}],
       "logs":[{"timestamp":3,"fields":[{"key":"message","type":"string","value":"m"},{"key":"event","type":"string","value":"e"}]},
               {"timestamp":4,"fields":[{"key":"message","type":"string","value":"only"}]},
               {"timestamp":5,"fields":[{"key":"x","type":"int64","value":1}]}],
       "processID":"p1","warnings":["clock skew"]},
      {"traceID":"ab","spanID":"2","operationName":"child","startTime":1,"duration":2,"processID":"p2","warnings":null,
       "references":[{"refType":"FOLLOWS_FROM","traceID":"ab","spanID":"9"},{"refType":"CHILD_OF","traceID":"cd","spanID":"8"},
                     {"refType":"CHILD_OF","traceID":"ab","spanID":"1"},{"refType":"CHILD_OF","traceID":"ab","spanID":"7"}]},
      {"traceID":"ab","spanID":"3","operationName":"after","startTime":1,"duration":2,"processID":"p1",
       "references":[{"refType":"CHILD_OF","traceID":"cd","spanID":"8"},{"refType":"FOLLOWS_FROM","traceID":"ab","spanID":"2"}]}],
      "processes":{"p1":{"serviceName":"web","tags":[{"key":"hostname","type":"string","value":"h1"},{"key":"ip","type":"string","value":"10.0.0.1"}]},
                   "p2":{"serviceName":"db","tags":[{"key":"ip","type":"string","value":"10.0.0.2"}]}}}]})"),
            "span 000000000000000000000000000000ab 0000000000000001 \"root\" [0..10000] server "
            "status=error flags=1\n"
            "  process web@h1: service.name=\"web\" hostname=\"h1\" ip=\"10.0.0.1\"\n"
            "  attrs span.kind=\"server\" n=7 f=2.0 b=true raw=bytes:01ff error=true "
            "jaeger.warnings=[\"clock skew\"]\n"
            "  point 3000 \"e\" message=\"m\" event=\"e\"\n"
            "  point 4000 \"only\" message=\"only\"\n"
            "  point 5000 \"log\" x=1\n"
            "span 000000000000000000000000000000ab 0000000000000002 \"child\" "
            "child_of=0000000000000001 [1000..3000]\n"
            "  process db@10.0.0.2: service.name=\"db\" ip=\"10.0.0.2\"\n"
            "  link 000000000000000000000000000000ab 0000000000000009 follows_from\n"
            "  link 000000000000000000000000000000cd 0000000000000008 child_of\n"
            "  link 000000000000000000000000000000ab 0000000000000007 child_of\n"
            "span 000000000000000000000000000000ab 0000000000000003 \"after\" "
            "follows_from=0000000000000002 [1000..3000]\n"
            "  process web@h1: service.name=\"web\" hostname=\"h1\" ip=\"10.0.0.1\"\n"
            "  link 000000000000000000000000000000cd 0000000000000008 child_of\n"
            "accepted 3, rejected 0 {}, repairs {}\n");
}

TEST(JaegerJson, BareTraceOldParentAndInlineProcess) {
  EXPECT_EQ(
      DecodedJson(
          R"({"traceID":"ab","spans":[{"spanID":"2","parentSpanID":"1","operationName":"x","startTime":5,
                            "process":{"serviceName":"s"}}]})"),
      "span 000000000000000000000000000000ab 0000000000000002 \"x\" child_of=0000000000000001 "
      "[5000..?]\n"
      "  process s@: service.name=\"s\"\n"
      "accepted 1, rejected 0 {}, repairs {}\n");
}

TEST(JaegerJson, HostileInput) {
  EXPECT_EQ(
      DecodedJson(
          R"({"data":[{"spans":[{"traceID":"0","spanID":"1"},{"traceID":"1","spanID":"q"},{"traceID":"1"},3,
      {"traceID":"1","spanID":"1","processID":"nowhere","references":[{"refType":"ODD","traceID":"1","spanID":"4"},{"spanID":"!"}],
       "startTime":9223372036854775,"duration":9223372036854775807,"tags":[{"key":"n","type":"int64","value":"many"}]}]},{}]})"),
      "span 00000000000000000000000000000001 0000000000000001 \"\" "
      "[9223372036854775000..9223372036854775807]\n"
      "  process @:\n  attrs n=\"many\"\n"
      "  link 00000000000000000000000000000001 0000000000000004 none\n"
      "accepted 1, rejected 5 {not_an_object:1 span_id_malformed:2 trace_id_zero:1 "
      "trace_without_spans:1}, "
      "repairs {missing_process:2 reference_malformed:1 time_clamped:1 unknown_reference:1}\n");
  EXPECT_EQ(DecodedJson("{}"),
            "Jaeger JSON: neither {\"data\":[traces]} nor a trace with \"spans\"\n");
}

// A Thrift writer as small as the tests need.
class Thrift {
 public:
  Thrift& Field(int id, ThriftType type) {
    out_.push_back(static_cast<char>(type));
    return Big(static_cast<uint64_t>(id), 2);
  }
  Thrift& I64(int id, int64_t value) {
    return Field(id, ThriftType::kI64).Big(static_cast<uint64_t>(value), 8);
  }
  Thrift& I32(int id, int32_t value) {
    return Field(id, ThriftType::kI32).Big(static_cast<uint32_t>(value), 4);
  }
  Thrift& Str(int id, const std::string& text) {
    Field(id, ThriftType::kString).Big(text.size(), 4);
    out_ += text;
    return *this;
  }
  Thrift& Bool(int id, bool value) {
    Field(id, ThriftType::kBool);
    out_.push_back(value ? 1 : 0);
    return *this;
  }
  Thrift& Double(int id, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    return Field(id, ThriftType::kDouble).Big(bits, 8);
  }
  Thrift& List(int id, const std::vector<std::string>& structs) {
    Field(id, ThriftType::kList);
    out_.push_back(static_cast<char>(ThriftType::kStruct));
    Big(structs.size(), 4);
    for (const std::string& element : structs) out_ += element;
    return *this;
  }
  Thrift& Struct(int id, const std::string& body) {
    Field(id, ThriftType::kStruct);
    out_ += body;
    return *this;
  }
  std::string End() { return out_ + '\0'; }

 private:
  Thrift& Big(uint64_t value, int bytes) {
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
      out_.push_back(static_cast<char>(value >> shift));
    return *this;
  }
  std::string out_;
};

std::string StringTag(const std::string& key, const std::string& text) {
  return Thrift().Str(1, key).I32(2, 0).Str(3, text).End();
}
std::string SampleProcess() {
  return Thrift().Str(1, "web").List(2, {StringTag("hostname", "h1")}).End();
}
Thrift SpanFields(int64_t id) {
  return Thrift()
      .I64(1, 0xab)
      .I64(2, 0x1)
      .I64(3, id)
      .I64(4, 0)
      .Str(5, "op")
      .I32(7, 1)
      .I64(8, 100)
      .I64(9, 5);
}
std::string SampleBatch() {
  const std::string reference = Thrift().I32(1, 1).I64(2, 0xab).I64(3, 1).I64(4, 0x77).End();
  const std::string full =
      Thrift()
          .I64(1, 0xab)
          .I64(2, 0x1)
          .I64(3, 2)
          .I64(4, 1)
          .Str(5, "op")
          .List(6, {reference})
          .I32(7, 1)
          .I64(8, 100)
          .I64(9, 5)
          .List(11, {Thrift()
                         .I64(1, 102)
                         .List(2, {StringTag("event", "retry"), StringTag("k", "v")})
                         .End()})
          .List(10, {StringTag("span.kind", "client"),
                     Thrift().Str(1, "d").I32(2, 1).Double(4, 2.5).End(),
                     Thrift().Str(1, "error").I32(2, 2).Bool(5, true).End(),
                     Thrift().Str(1, "n").I32(2, 3).I64(6, -4).End(),
                     Thrift().Str(1, "raw").I32(2, 4).Str(7, "\x01\xff").End()})
          .End();
  return Thrift().Struct(1, SampleProcess()).List(2, {SpanFields(1).End(), full}).I64(3, 9).End();
}
const char* const kSampleText =
    "span 000000000000000100000000000000ab 0000000000000001 \"op\" [100000..105000] flags=1\n"
    "  process web@h1: service.name=\"web\" hostname=\"h1\"\n"
    "span 000000000000000100000000000000ab 0000000000000002 \"op\" child_of=0000000000000001 "
    "[100000..105000] client "
    "status=error flags=1\n"
    "  process web@h1: service.name=\"web\" hostname=\"h1\"\n"
    "  attrs span.kind=\"client\" d=2.5 error=true n=-4 raw=bytes:01ff\n"
    "  point 102000 \"retry\" event=\"retry\" k=\"v\"\n"
    "  link 000000000000000100000000000000ab 0000000000000077 follows_from\n"
    "accepted 2, rejected 0 {}, repairs {}\n";

TEST(JaegerThrift, ABatch) { EXPECT_EQ(DecodedThrift(SampleBatch()), kSampleText); }

TEST(JaegerThrift, ProcessMayFollowTheSpans) {
  EXPECT_EQ(
      DecodedThrift(Thrift().List(2, {SpanFields(1).End()}).Struct(1, SampleProcess()).End()),
      "span 000000000000000100000000000000ab 0000000000000001 \"op\" [100000..105000] flags=1\n"
      "  process web@h1: service.name=\"web\" hostname=\"h1\"\n"
      "accepted 1, rejected 0 {}, repairs {}\n");
}

TEST(JaegerThrift, ParentIdThatRepeatsAFollowsFromKeepsItsKind) {
  const std::string reference = Thrift().I32(1, 1).I64(2, 0xab).I64(3, 1).I64(4, 0x77).End();
  const std::string span =
      Thrift().I64(1, 0xab).I64(2, 1).I64(3, 5).I64(4, 0x77).List(6, {reference}).End();
  EXPECT_EQ(DecodedThrift(Thrift().Struct(1, SampleProcess()).List(2, {span}).End()),
            "span 000000000000000100000000000000ab 0000000000000005 \"\" "
            "follows_from=0000000000000077 [?..?]\n"
            "  process web@h1: service.name=\"web\" hostname=\"h1\"\n"
            "accepted 1, rejected 0 {}, repairs {}\n");
}

TEST(JaegerThrift, EveryTruncationIsRefusedWholeAndNamesTheByte) {
  const std::string batch = SampleBatch();
  for (size_t n = 0; n < batch.size(); ++n) {
    const std::string text = DecodedThrift(std::string_view(batch).substr(0, n));
    EXPECT_EQ(text.substr(0, 15), "Jaeger Thrift: ") << n;
    EXPECT_NE(text.find(" at byte "), std::string::npos);
  }
}

TEST(JaegerThrift, HostileInput) {
  // A list of two billion spans in twenty bytes.
  std::string lie = Thrift().Struct(1, SampleProcess()).Field(2, ThriftType::kList).End();
  lie.back() = static_cast<char>(ThriftType::kStruct);
  lie += "\x7f\xff\xff\xff";
  EXPECT_NE(DecodedThrift(lie).find("a list longer than the batch"), std::string::npos);
  // Structs within structs.
  std::string deep = Thrift().Struct(1, SampleProcess()).End();
  deep.pop_back();
  for (int i = 0; i < 10'000; ++i) deep += std::string("\x0c\x00\x09", 3);
  EXPECT_NE(DecodedThrift(deep).find("nested too deep"), std::string::npos);
  EXPECT_NE(DecodedThrift(std::string("\x63\x00\x01", 3)).find("unknown type of value"),
            std::string::npos);
  EXPECT_EQ(DecodedThrift(std::string(1, '\0')),
            "Jaeger Thrift: a Batch without process or spans at byte 1 of 1\n");
  // Zero ids reject their span only.
  const std::string no_trace = Thrift().I64(3, 1).End(), no_id = Thrift().I64(1, 1).End();
  EXPECT_EQ(
      DecodedThrift(Thrift()
                        .Struct(1, SampleProcess())
                        .List(2, {no_trace, no_id, SpanFields(1).End()})
                        .End()),
      "span 000000000000000100000000000000ab 0000000000000001 \"op\" [100000..105000] flags=1\n"
      "  process web@h1: service.name=\"web\" hostname=\"h1\"\n"
      "accepted 1, rejected 2 {span_id_zero:1 trace_id_zero:1}, repairs {}\n");
}

}  // namespace
}  // namespace wf::jaeger
