#include "import/events/events_decoder.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "import/decode/batch_dump.h"

namespace wf::events {
namespace {

std::string Decoded(std::string_view json) {
  EventBatch batch;
  decode::DecodeReport report;
  const Status status = DecodeEventsJson(json, {}, batch, report);
  return status.ok() ? decode::DumpBatch(batch) + decode::DumpReport(report) + "\n"
                     : status.error().message + "\n";
}

TEST(Events, EveryTypeOfTheContract) {
  std::string lines, expected;
  for (size_t i = 1; i < wherefore::kEventTypeCount; ++i) {
    const std::string name(wherefore::kEventTypeNames[i]);
    lines += R"({"trace_id":"ab","type":")" + name + R"(","id1":"1","id2":"2","time_ns":5})" + "\n";
    expected += name +
                " 000000000000000000000000000000ab 0000000000000001 \"\" none=0000000000000002 "
                "[5..?]\n  process @:\n";
  }
  EXPECT_EQ(Decoded(lines), expected + "accepted 22, rejected 0 {}, repairs {}\n");
}

TEST(Events, SequenceAnnotationsAndProcess) {
  EXPECT_EQ(Decoded(R"({"trace_id":"ab","type":"unit_begin","id1":"c0ffee","seq":-3,"time_ns":-1,
                        "annotations":{"label:service":"web","label:host":"h1","counter:bytes:B":"10","x":1}})"),
            "unit_begin 000000000000000000000000000000ab 0000000000c0ffee \"\" [-1..?] seq=-3\n"
            "  process web@h1: service.name=\"web\" host.name=\"h1\"\n"
            "  attrs label:service=\"web\" label:host=\"h1\" counter:bytes:B=\"10\" x=1\n"
            "accepted 1, rejected 0 {}, repairs {}\n");
}

TEST(Events, KindOfABlock) {
  EXPECT_EQ(
      Decoded(R"({"trace_id":"ab","type":"block_begin","id1":"1","id2":"2","time_ns":5,
                  "annotations":{"label:kind":"client"}}
                 {"trace_id":"ab","type":"block_begin","id1":"3","id2":"2","time_ns":5,
                  "annotations":{"label:kind":"other"}})"),
      "block_begin 000000000000000000000000000000ab 0000000000000001 \"\" none=0000000000000002 "
      "[5..?] client\n  process @:\n  attrs label:kind=\"client\"\n"
      "block_begin 000000000000000000000000000000ab 0000000000000003 \"\" none=0000000000000002 "
      "[5..?]\n  process @:\n  attrs label:kind=\"other\"\n"
      "accepted 2, rejected 0 {}, repairs {}\n");
}

TEST(Events, OtherIdsAreHashedAndKept) {
  EXPECT_EQ(
      Decoded(
          R"({"trace_id":"ab","type":"queue_put","id1":"item-7","id2":"11112222333344445","time_ns":0})"),
      "queue_put 000000000000000000000000000000ab " + ToHex64(HashBytes("item-7")) +
          " \"\" none=" + ToHex64(HashBytes("11112222333344445")) +
          " [0..?]\n  process @:\n  attrs wherefore.id1=\"item-7\" "
          "wherefore.id2=\"11112222333344445\"\n"
          "accepted 1, rejected 0 {}, repairs {}\n");
}

TEST(Events, UnknownTypesAreKeptAndCounted) {
  EXPECT_EQ(
      Decoded(
          R"({"trace_id":"ab","type":"warp","id1":7,"time_ns":"9"} {"trace_id":"ab","type":"span","id1":"8"})"),
      "unknown 000000000000000000000000000000ab 0000000000000007 \"\" [9..?]\n  process @:\n"
      "  attrs wherefore.type=\"warp\"\n"
      "unknown 000000000000000000000000000000ab 0000000000000008 \"\" [?..?]\n  process @:\n"
      "  attrs wherefore.type=\"span\"\n"
      "accepted 2, rejected 0 {}, repairs {time_missing:1 unknown_event_type:2}\n");
}

TEST(Events, HostileInput) {
  EXPECT_EQ(
      Decoded(
          "{\"trace_id\":\"0\",\"type\":\"point\"} {\"trace_id\":\"g\"} {\"trace_id\":\"1\"} []\n"
          "{\"trace_id\":\"1\",\"type\":\"point\"}"),
      "accepted 0, rejected 5 {id1_missing:1 not_an_object:1 trace_id_malformed:1 trace_id_zero:1 "
      "type_missing:1}, repairs {}\n");
  EXPECT_EQ(Decoded("{}\n{\"a\":\n"),
            "events: value at byte 3: JSON: expected a value, found the end of the text at byte 6 "
            "(line 2)\n");
}

}  // namespace
}  // namespace wf::events
