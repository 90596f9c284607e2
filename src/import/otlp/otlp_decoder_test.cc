// Requests written field by field, and what must become of them.
#include "import/otlp/otlp_decoder.h"

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "import/decode/batch_dump.h"
#include "import/otlp/otlp_fields.h"

namespace wf::otlp {
namespace {

using namespace otlp;
using protozero::pbf_writer;

const std::string kTrace("\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c", 16);
const std::string kSpan("\xb7\xad\x6b\x71\x69\x20\x33\x31", 8);

std::string Message(const std::function<void(pbf_writer&)>& fill) {
  std::string out;
  pbf_writer writer(out);
  fill(writer);
  return out;
}

std::string Attribute(const std::string& key, const std::function<void(pbf_writer&)>& value) {
  return Message([&](pbf_writer& w) {
    w.add_string(kKeyValueKey, key);
    w.add_message(kKeyValueValue, Message(value));
  });
}
std::string TextAttribute(const std::string& key, const std::string& text) {
  return Attribute(key, [&](pbf_writer& w) { w.add_string(kAnyString, text); });
}

std::string RequestOf(const std::vector<std::string>& spans) {
  return Message([&](pbf_writer& request) {
    request.add_message(kRequestResourceSpans, Message([&](pbf_writer& rs) {
                          // The resource last: protobuf does not order fields.
                          rs.add_message(kResourceSpansScopeSpans, Message([&](pbf_writer& ss) {
                                           for (const std::string& span : spans) {
                                             ss.add_message(kScopeSpansSpans, span);
                                           }
                                         }));
                          rs.add_message(kResourceSpansResource, Message([&](pbf_writer& r) {
                                           r.add_message(kResourceAttributes,
                                                         TextAttribute("service.name", "shop"));
                                         }));
                        }));
  });
}

std::string SpanOf(const std::function<void(pbf_writer&)>& rest, const std::string& trace = kTrace,
                   const std::string& span = kSpan) {
  return Message([&](pbf_writer& w) {
    w.add_bytes(kSpanTraceId, trace);
    w.add_bytes(kSpanSpanId, span);
    w.add_fixed64(kSpanStart, 100);
    w.add_fixed64(kSpanEnd, 200);
    rest(w);
  });
}
std::string SpanOf() {
  return SpanOf([](pbf_writer&) {});
}

struct Decoded {
  EventBatch batch;
  decode::DecodeReport report;
  Status status;
  std::string text() const {
    return status.ok() ? decode::DumpBatch(batch) + DumpReport(report) + "\n"
                       : status.error().message + "\n";
  }
};
Decoded Decode(const std::string& request, const decode::DecodeOptions& options = {}) {
  Decoded out;
  out.status = DecodeOtlpProtobuf(request, options, out.batch, out.report);
  return out;
}

const char* const kHead =
    "span 0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 \"\" [100..200]\n"
    "  process shop@: service.name=\"shop\"\n";

TEST(OtlpProtobuf, EveryFieldOfASpan) {
  const std::string request = Message([](pbf_writer& request) {
    request.add_message(
        kRequestResourceSpans, Message([](pbf_writer& rs) {
          rs.add_message(kResourceSpansResource, Message([](pbf_writer& r) {
                           r.add_message(kResourceAttributes,
                                         TextAttribute("service.name", "shop"));
                           r.add_message(kResourceAttributes, TextAttribute("host.name", "h1"));
                           r.add_message(kResourceAttributes, TextAttribute("host.id", "id1"));
                           r.add_uint32(kResourceDroppedAttributes, 4);
                         }));
          rs.add_string(kResourceSpansSchemaUrl, "https://schema/r");
          rs.add_message(
              kResourceSpansScopeSpans, Message([](pbf_writer& ss) {
                ss.add_message(kScopeSpansScope, Message([](pbf_writer& s) {
                                 s.add_string(kScopeName, "lib");
                                 s.add_string(kScopeVersion, "1.2");
                                 s.add_message(kScopeAttributes, TextAttribute("k", "v"));
                                 s.add_uint32(kScopeDroppedAttributes, 1);
                               }));
                ss.add_string(kScopeSpansSchemaUrl, "https://schema/s");
                ss.add_message(
                    kScopeSpansSpans, SpanOf([](pbf_writer& w) {
                      w.add_string(kSpanTraceState, "a=b");
                      w.add_bytes(kSpanParentSpanId, std::string("\0\0\0\0\0\0\0\x09", 8));
                      w.add_string(kSpanName, "GET");
                      w.add_enum(kSpanKind, 2);
                      w.add_message(kSpanLinks, Message([](pbf_writer& l) {
                                      l.add_bytes(kLinkTraceId, kTrace);
                                      l.add_bytes(kLinkSpanId, kSpan);
                                      l.add_string(kLinkTraceState, "l=m");
                                      l.add_message(kLinkAttributes, TextAttribute("why", "retry"));
                                      l.add_uint32(kLinkDroppedAttributes, 2);
                                      l.add_fixed32(kLinkFlags, 1);
                                    }));
                      w.add_message(kSpanEvents, Message([](pbf_writer& e) {
                                      e.add_message(kEventAttributes, TextAttribute("x", "y"));
                                      e.add_fixed64(kEventTime, 150);
                                      e.add_string(kEventName, "exception");
                                      e.add_uint32(kEventDroppedAttributes, 3);
                                    }));
                      w.add_message(kSpanAttributes, TextAttribute("s", "text"));
                      w.add_message(kSpanAttributes, Attribute("b", [](pbf_writer& v) {
                                      v.add_bool(kAnyBool, true);
                                    }));
                      w.add_message(kSpanAttributes, Attribute("i", [](pbf_writer& v) {
                                      v.add_int64(kAnyInt, -7);
                                    }));
                      w.add_message(kSpanAttributes, Attribute("d", [](pbf_writer& v) {
                                      v.add_double(kAnyDouble, 2.5);
                                    }));
                      w.add_message(kSpanAttributes, Attribute("raw", [](pbf_writer& v) {
                                      v.add_bytes(kAnyBytes, "\x01\xff");
                                    }));
                      w.add_message(kSpanAttributes, Attribute("none", [](pbf_writer&) {}));
                      w.add_message(kSpanAttributes, Attribute("list", [](pbf_writer& v) {
                                      v.add_message(kAnyArray, Message([](pbf_writer& list) {
                                                      list.add_message(kListValues,
                                                                       Message([](pbf_writer& e) {
                                                                         e.add_int64(kAnyInt, 1);
                                                                       }));
                                                      list.add_message(
                                                          kListValues, Message([](pbf_writer& e) {
                                                            e.add_string(kAnyString,
                                                                         std::string(200, 'z'));
                                                          }));
                                                    }));
                                    }));
                      w.add_message(kSpanAttributes, Attribute("map", [](pbf_writer& v) {
                                      v.add_message(kAnyMap, Message([](pbf_writer& list) {
                                                      list.add_message(kListValues,
                                                                       TextAttribute("in", "side"));
                                                    }));
                                    }));
                      w.add_uint32(kSpanDroppedAttributes, 5);
                      w.add_uint32(kSpanDroppedEvents, 6);
                      w.add_uint32(kSpanDroppedLinks, 7);
                      w.add_message(kSpanStatus, Message([](pbf_writer& s) {
                                      s.add_string(kStatusMessage, "boom");
                                      s.add_enum(kStatusCode, 2);
                                    }));
                      w.add_fixed32(kSpanFlags, 0x301);
                    }));
              }));
        }));
  });
  EXPECT_EQ(
      Decode(request).text(),
      "span 0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 \"GET\" child_of=0000000000000009 "
      "[100..200] server "
      "status=error:\"boom\" flags=301 tracestate=\"a=b\"\n"
      "  process shop@id1: service.name=\"shop\" host.name=\"h1\" host.id=\"id1\" "
      "otel.dropped_attributes_count=4 "
      "otel.schema_url=\"https://schema/r\"\n"
      "  scope lib 1.2: k=\"v\" otel.dropped_attributes_count=1 "
      "otel.schema_url=\"https://schema/s\"\n"
      "  attrs s=\"text\" b=true i=-7 d=2.5 raw=bytes:01ff none=null list=[1, \"" +
          std::string(200, 'z') +
          "\"] map={in: \"side\"} otel.dropped_attributes_count=5 otel.dropped_events_count=6 "
          "otel.dropped_links_count=7\n"
          "  point 150 \"exception\" x=\"y\" otel.dropped_attributes_count=3\n"
          "  link 0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 none flags=1 "
          "tracestate=\"l=m\" why=\"retry\" "
          "otel.dropped_attributes_count=2\n"
          "accepted 1, rejected 0 {}, repairs {}\n");
}

TEST(OtlpProtobuf, ResourceMayFollowItsSpans) {
  EXPECT_EQ(Decode(RequestOf({SpanOf()})).text(),
            std::string(kHead) + "accepted 1, rejected 0 {}, repairs {}\n");
}

TEST(OtlpProtobuf, HostileIdsRejectTheirSpanOnly) {
  const auto none = [](pbf_writer&) {};
  const Decoded d = Decode(RequestOf({
      SpanOf(none, std::string(16, '\0')),
      SpanOf(none, "short"),
      SpanOf(none, kTrace, std::string(8, '\0')),
      SpanOf(none, kTrace, "nine-char"),
      SpanOf(none, "", ""),
      SpanOf([](pbf_writer& w) { w.add_bytes(kSpanParentSpanId, "abc"); }),
      SpanOf(),
  }));
  EXPECT_EQ(d.text(),
            std::string(kHead) +
                "accepted 1, rejected 6 {parent_span_id_length:1 span_id_length:1 span_id_zero:1 "
                "trace_id_length:1 trace_id_zero:2}, repairs {}\n");
}

TEST(OtlpProtobuf, HostileEndBeforeStartIsKeptAsReceived) {
  const Decoded d = Decode(RequestOf({SpanOf([](pbf_writer& w) { w.add_fixed64(kSpanEnd, 50); })}));
  ASSERT_EQ(d.batch.size(), 1u);
  EXPECT_EQ(d.batch.start_ns[0], 100);
  EXPECT_EQ(d.batch.end_ns[0], 50);
}

TEST(OtlpProtobuf, NoEndIsMarkedAndTimeZeroIsATime) {
  const Decoded open =
      Decode(RequestOf({SpanOf([](pbf_writer& w) { w.add_fixed64(kSpanEnd, 0); })}));
  ASSERT_EQ(open.batch.size(), 1u);
  EXPECT_EQ(open.batch.marks[0], kHasStart);
  const Decoded zero =
      Decode(RequestOf({SpanOf([](pbf_writer& w) { w.add_fixed64(kSpanStart, 0); })}));
  EXPECT_EQ(zero.batch.marks[0], kHasStart | kHasEnd);
}

TEST(OtlpProtobuf, HostileBadUtf8IsRepairedAndCounted) {
  const Decoded d = Decode(RequestOf({SpanOf([](pbf_writer& w) {
    w.add_string(kSpanName, "ok\xff");
    w.add_message(kSpanAttributes, TextAttribute("k\xfe", "long enough text \xc3("));
  })}));
  EXPECT_EQ(d.batch.str(d.batch.name[0]), "ok\xEF\xBF\xBD");
  EXPECT_NE(d.text().find("k\xEF\xBF\xBD=\"long enough text \xEF\xBF\xBD(\""), std::string::npos)
      << d.text();
  EXPECT_EQ(d.report.repairs.at("bad_utf8"), 3);
}

std::string DeepValue(int depth) {
  std::string value = Message([](pbf_writer& v) { v.add_int64(kAnyInt, 1); });
  for (int i = 0; i < depth; ++i) {
    value = Message([&](pbf_writer& v) {
      v.add_message(kAnyArray,
                    Message([&](pbf_writer& list) { list.add_message(kListValues, value); }));
    });
  }
  return Message([&](pbf_writer& w) {
    w.add_string(kKeyValueKey, "deep");
    w.add_message(kKeyValueValue, value);
  });
}

TEST(OtlpProtobuf, HostileNestingIsCutAndCounted) {
  const Decoded fine = Decode(
      RequestOf({SpanOf([](pbf_writer& w) { w.add_message(kSpanAttributes, DeepValue(32)); })}));
  EXPECT_TRUE(fine.report.repairs.empty());
  const Decoded deep = Decode(
      RequestOf({SpanOf([](pbf_writer& w) { w.add_message(kSpanAttributes, DeepValue(5000)); })}));
  ASSERT_EQ(deep.batch.size(), 1u);
  EXPECT_EQ(deep.report.repairs.at("deep_value"), 1);
  EXPECT_NE(deep.text().find("deep=" + std::string(32, '[') + "null" + std::string(32, ']')),
            std::string::npos);
}

TEST(OtlpProtobuf, HostileTenThousandAttributesAreKept) {
  const Decoded d = Decode(RequestOf({SpanOf([](pbf_writer& w) {
    for (int i = 0; i < 10'000; ++i)
      w.add_message(kSpanAttributes, TextAttribute("key" + std::to_string(i), "v"));
  })}));
  ASSERT_EQ(d.batch.size(), 1u);
  AttributeReader reader(d.batch.attrs(0));
  uint32_t key;
  Value value;
  int count = 0;
  while (reader.Next(key, value)) EXPECT_EQ(d.batch.str(key), "key" + std::to_string(count++));
  EXPECT_EQ(count, 10'000);
}

TEST(OtlpProtobuf, EveryTruncationIsRefusedWholeAndNamesTheByte) {
  const std::string request = RequestOf({SpanOf(), SpanOf([](pbf_writer& w) {
                                           w.add_message(kSpanAttributes, TextAttribute("k", "v"));
                                         })});
  for (size_t n = 1; n < request.size(); ++n) {
    Decoded d;
    ASSERT_TRUE(DecodeOtlpProtobuf(RequestOf({SpanOf()}), {}, d.batch, d.report).ok());
    d.status = DecodeOtlpProtobuf(request.substr(0, n), {}, d.batch, d.report);
    ASSERT_FALSE(d.status.ok()) << n;
    EXPECT_EQ(d.status.error().code, ErrorCode::kBadInput);
    EXPECT_NE(d.status.error().message.find("at byte "), std::string::npos);
    EXPECT_EQ(d.batch.size(), 1u);  // what was there before stays, nothing else
    EXPECT_EQ(d.report.accepted, 1);
  }
}

TEST(OtlpProtobuf, HostileLengthBeyondTheMessageIsRefused) {
  const std::string huge("\x0a\xff\xff\xff\xff\x0f", 6);
  EXPECT_EQ(Decode(huge).text(), "OTLP protobuf: end of buffer exception at byte 0 of 6\n");
}

TEST(OtlpProtobuf, ConcatenatedRequestsAreOne) {
  const Decoded d = Decode(RequestOf({SpanOf()}) + RequestOf({SpanOf()}));
  EXPECT_EQ(d.batch.size(), 2u);
  EXPECT_EQ(d.batch.processes.size(), 1u);  // equal processes are kept once
}

TEST(OtlpProtobuf, UnknownFieldsKindAndStatusAreCounted) {
  const Decoded d = Decode(RequestOf({SpanOf([](pbf_writer& w) {
    w.add_string(999, "from the future");
    w.add_enum(kSpanKind, 77);
    w.add_message(kSpanStatus, Message([](pbf_writer& s) { s.add_enum(kStatusCode, -1); }));
  })}));
  EXPECT_EQ(
      d.text(),
      std::string(kHead) +
          "accepted 1, rejected 0 {}, repairs {unknown_field:1 unknown_kind:1 unknown_status:1}\n");
}

TEST(OtlpProtobuf, RulesDropAndHashBeforeAnythingIsStored) {
  decode::DecodeOptions options;
  options.hash_key = {1, 2};
  options.rules = {{false, decode::AttributePlace::kSpan, "user.*", decode::AttributeAction::kHash},
                   {true, {}, "*secret*", decode::AttributeAction::kDrop}};
  const auto span = SpanOf([](pbf_writer& w) {
    w.add_message(kSpanAttributes, TextAttribute("user.id", "42"));
    w.add_message(kSpanAttributes, TextAttribute("my.secret.key", "hunter2"));
    w.add_message(kSpanAttributes, TextAttribute("plain", "x"));
    w.add_message(kSpanEvents, Message([](pbf_writer& e) {
                    e.add_message(kEventAttributes, TextAttribute("user.id", "42"));
                    e.add_message(kEventAttributes, TextAttribute("secret", "42"));
                  }));
  });
  const Decoded d = Decode(RequestOf({span, span}), options);
  const std::string row = std::string(kHead) + "  attrs user.id=\"" +
                          decode::KeyedHashHex("42", {1, 2}) +
                          "\" plain=\"x\"\n  point 0 \"\" user.id=\"42\"\n";
  EXPECT_EQ(
      d.text(),
      row + row + "accepted 2, rejected 0 {}, repairs {attribute_dropped:4 attribute_hashed:2}\n");
  EXPECT_EQ(d.batch.bytes.find("hunter2"), std::string::npos);
}

TEST(OtlpCounts, LogsAndMetricsInProtobuf) {
  const auto nested = [](uint32_t field, const std::vector<std::string>& messages) {
    return Message([&](pbf_writer& w) {
      for (const std::string& message : messages) w.add_message(field, message);
    });
  };
  const std::string logs = nested(1, {nested(2, {nested(2, {"", "", ""}), nested(2, {""})})});
  EXPECT_EQ(*CountOtlpLogs(logs), 4);
  EXPECT_FALSE(CountOtlpLogs(logs.substr(0, logs.size() - 1)).ok());
  const std::string gauge = nested(5, {nested(1, {"", ""})}),
                    summary = nested(11, {nested(1, {""})});
  const std::string metrics = nested(1, {nested(2, {nested(2, {gauge, summary})})});
  EXPECT_EQ(*CountOtlpMetrics(metrics), 3);
  EXPECT_EQ(*CountOtlpMetrics(""), 0);
}

}  // namespace
}  // namespace wf::otlp
