// Whatever a batch holds, encoding and decoding gives rows of the same content.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "import/decode/attribute_writer.h"
#include "import/decode/batch_dump.h"
#include "import/otlp/otlp_decoder.h"
#include "import/otlp/otlp_encoder.h"

namespace wf::otlp {
namespace {

// Keys that mean something to encoder or decoder appear among the others, in any position and with any value.
std::string AnyKey() {
  static const std::vector<std::string> kKeys = {"service.name",
                                                 "host.name",
                                                 "host.id",
                                                 "hostname",
                                                 "ip",
                                                 "a",
                                                 "http.route",
                                                 "",
                                                 "schl\xC3\xBCssel",
                                                 "otel.dropped_attributes_count",
                                                 "otel.dropped_events_count",
                                                 "otel.dropped_links_count",
                                                 "otel.schema_url"};
  return *rc::gen::elementOf(kKeys);
}
std::string AnyText() {
  static const std::vector<std::string> kTexts = {"",
                                                  "x",
                                                  "200",
                                                  "\xF0\x9F\x90\x8C",
                                                  std::string("nul\0!", 5),
                                                  "\"\\\n",
                                                  std::string(300, 'l')};
  return *rc::gen::elementOf(kTexts);
}

void PutAnyValue(decode::AttributeWriter& writer, int depth) {
  std::string& bytes = writer.batch().bytes;
  switch (*rc::gen::inRange(0, depth > 3 ? 6 : 8)) {
    case 0:
      return writer.PutNull();
    case 1:
      return writer.PutText(AnyText());
    case 2:
      return PutBool(*rc::gen::arbitrary<bool>(), bytes);
    case 3:
      return PutInt(*rc::gen::arbitrary<int64_t>(), bytes);
    case 4:
      return PutDouble(*rc::gen::arbitrary<double>(), bytes);
    case 5:
      return PutString(std::string("\0\xff\x80", 3).substr(*rc::gen::inRange(0, 3)), bytes,
                       ValueType::kBytes);
    case 6: {
      const size_t begin = writer.OpenNested(ValueType::kArray);
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) PutAnyValue(writer, depth + 1);
      return writer.CloseNested(begin);
    }
    default: {
      const size_t begin = writer.OpenNested(ValueType::kMap);
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
        writer.PutMapKey(AnyText());
        PutAnyValue(writer, depth + 1);
      }
      return writer.CloseNested(begin);
    }
  }
}

void PutAnyAttributes(decode::AttributeWriter& writer, decode::AttributePlace place) {
  writer.StartList(place);
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    writer.Begin(AnyKey());
    PutAnyValue(writer, 0);
    writer.End();
  }
}

EventBatch AnyBatch() {
  EventBatch batch;
  const decode::DecodeOptions options;
  decode::DecodeReport report;
  decode::AttributeWriter writer(batch, options, report);
  const int processes = *rc::gen::inRange(1, 4);
  for (int p = 0; p < processes; ++p) {
    const uint32_t attrs = batch.ArenaSize();
    PutAnyAttributes(writer, decode::AttributePlace::kProcess);
    const uint32_t process = decode::FinishProcess(batch, attrs);
    const uint32_t scope_attrs = batch.ArenaSize();
    PutAnyAttributes(writer, decode::AttributePlace::kScope);
    const uint32_t scope =
        decode::FinishScope(batch, writer.Intern(AnyText()), writer.Intern(AnyText()), scope_attrs);
    for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
      batch.AddRow();
      batch.process.back() = process;
      batch.scope.back() = scope;
      batch.trace_hi.back() = *rc::gen::arbitrary<uint64_t>();
      batch.trace_lo.back() = *rc::gen::arbitrary<uint64_t>() | 1;
      batch.id1.back() = *rc::gen::arbitrary<uint64_t>() | 1;
      batch.id2.back() = *rc::gen::arbitrary<uint64_t>();
      batch.start_ns.back() = *rc::gen::arbitrary<int64_t>();
      batch.end_ns.back() = *rc::gen::arbitrary<int64_t>();
      batch.type.back() =
          static_cast<EventType>(*rc::gen::elementOf(std::vector<int>{0, 0, 0, 1, 9, 22, 255}));
      batch.kind.back() = static_cast<SpanKind>(*rc::gen::inRange(0, 6));
      batch.status.back() = static_cast<SpanStatus>(*rc::gen::inRange(0, 3));
      batch.parent_ref.back() = static_cast<ParentRef>(*rc::gen::inRange(0, 3));
      batch.marks.back() = static_cast<uint8_t>(*rc::gen::inRange(0, 8));
      batch.flags.back() = *rc::gen::arbitrary<uint32_t>();
      batch.name.back() = writer.Intern(AnyText());
      batch.status_message.back() = writer.Intern(AnyText());
      batch.tracestate.back() = writer.Intern(AnyText());
      if (*rc::gen::arbitrary<bool>()) batch.SetSequence(*rc::gen::arbitrary<int64_t>());
      if (*rc::gen::arbitrary<bool>())
        batch.SetSource(static_cast<Source>(*rc::gen::inRange(0, 3)), 0.25f);
      PutAnyAttributes(writer, decode::AttributePlace::kSpan);
      batch.EndAttributes();
      for (int k = *rc::gen::inRange(0, 3); k > 0; --k) {
        PutFixed64(*rc::gen::arbitrary<uint64_t>(), batch.bytes);
        PutVarint(writer.Intern(AnyText()), batch.bytes);
        const size_t begin = writer.OpenLength();
        PutAnyAttributes(writer, decode::AttributePlace::kPoint);
        writer.CloseNested(begin);
      }
      batch.EndPoints();
      for (int k = *rc::gen::inRange(0, 3); k > 0; --k) {
        PutLink({{*rc::gen::arbitrary<uint64_t>(), 7},
                 {*rc::gen::arbitrary<uint64_t>()},
                 static_cast<uint8_t>(*rc::gen::inRange(0, 3)),
                 *rc::gen::arbitrary<uint32_t>(),
                 writer.Intern(AnyText()),
                 {}},
                batch.bytes);
        const size_t begin = batch.bytes.size();
        PutAnyAttributes(writer, decode::AttributePlace::kLink);
        writer.CloseNested(begin);
      }
      batch.EndLinks();
    }
  }
  RC_ASSERT(report.repairs.empty());
  return batch;
}

using Key = std::tuple<TraceId, uint64_t, Hash128>;
std::vector<Key> Content(const EventBatch& batch) {
  std::vector<Key> keys;
  for (size_t i = 0; i < batch.size(); ++i)
    keys.push_back({batch.trace_id(i), batch.id1[i], ContentHash(batch, i)});
  std::sort(keys.begin(), keys.end());
  return keys;
}

void SameAfter(const EventBatch& batch, const EventBatch& again) {
  if (Content(batch) == Content(again)) return;
  RC_FAIL("before:\n" + decode::DumpBatch(batch) + "after:\n" + decode::DumpBatch(again));
}

TEST(OtlpRoundTrip, Protobuf) {
  EXPECT_TRUE(rc::check([] {
    const EventBatch batch = AnyBatch();
    std::string bytes;
    EncodeOtlpProtobuf(batch, AllRows(batch), bytes);
    EventBatch again;
    decode::DecodeReport report;
    const Status status = DecodeOtlpProtobuf(bytes, {}, again, report);
    RC_ASSERT(status.ok());
    RC_ASSERT(report.rejected == 0);
    SameAfter(batch, again);
  }));
}

TEST(OtlpRoundTrip, Json) {
  EXPECT_TRUE(rc::check([] {
    const EventBatch batch = AnyBatch();
    EventBatch again;
    decode::DecodeReport report;
    const Status status = DecodeOtlpJson(EncodeOtlpJson(batch, AllRows(batch)), {}, again, report);
    RC_ASSERT(status.ok());
    RC_ASSERT(report.rejected == 0);
    SameAfter(batch, again);
  }));
}

TEST(OtlpRoundTrip, SomeRowsOnly) {
  EXPECT_TRUE(rc::check([] {
    const EventBatch batch = AnyBatch();
    if (batch.empty()) return;
    const std::vector<uint32_t> rows = {static_cast<uint32_t>(batch.size() - 1)};
    std::string bytes;
    EncodeOtlpProtobuf(batch, rows, bytes);
    EventBatch again;
    decode::DecodeReport report;
    RC_ASSERT(DecodeOtlpProtobuf(bytes, {}, again, report).ok());
    RC_ASSERT(again.size() == 1u);
    RC_ASSERT(ContentHash(again, 0) == ContentHash(batch, rows[0]));
  }));
}

}  // namespace
}  // namespace wf::otlp
