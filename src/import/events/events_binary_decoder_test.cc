#include "import/events/events_binary_decoder.h"

#include <gtest/gtest.h>

#include "import/decode/batch_dump.h"
#include "import/events/events_decoder.h"

namespace wf::events {
namespace {

// Bodies are written by hand here, after docs/reference/events.md; that libwherefore writes the same is a system test's matter.
class Body {
 public:
  Body() { bytes_.assign("WFEV\x01", 5); }
  Body& Byte(int value) { return bytes_.push_back(static_cast<char>(value)), *this; }
  Body& Text(std::string_view text) {
    PutVarint(text.size(), bytes_);
    bytes_.append(text);
    return *this;
  }
  Body& Fixed(uint64_t value) { return PutFixed64(value, bytes_), *this; }
  Body& Signed(int64_t value) { return PutVarint(ZigZag(value), bytes_), *this; }
  Body& Process() {  // service.name=web, process.pid=7
    return Byte(2).Text("service.name").Byte(1).Text("web").Text("process.pid").Byte(3).Signed(7);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string Decoded(std::string_view body) {
  EventBatch batch;
  decode::DecodeReport report;
  const Status status = DecodeEventsBinary(body, {}, batch, report);
  EXPECT_TRUE(status.ok() || batch.empty()) << "a refused body leaves nothing";
  return status.ok() ? decode::DumpBatch(batch) + decode::DumpReport(report) + "\n"
                     : status.error().message + "\n";
}

TEST(EventsBinary, AllThatAnEventMayCarry) {
  Body body;
  body.Process();
  // block_begin with id2, seq, name, kind and an annotation of each type
  body.Byte(3)
      .Byte(1 | 2 | 4 | 8)
      .Byte(0)
      .Fixed(0)
      .Fixed(0xab)
      .Fixed(0xb1)
      .Fixed(0xa1)
      .Signed(5)
      .Signed(1000);
  body.Byte(0).Text("load").Byte(2).Byte(4);
  body.Byte(0).Text("label:page").Byte(1).Text("home");
  body.Byte(0).Text("counter:bytes:B").Byte(3).Signed(-10);
  body.Byte(0).Text("label:hit").Byte(2).Byte(1);
  body.Byte(0).Text("label:share").Byte(4).Fixed(0x3FE0000000000000);
  // block_end of the same trace, a second later, with a status; texts by reference
  body.Byte(4)
      .Byte(1 | 4 | 16)
      .Byte(1)
      .Fixed(0xb1)
      .Fixed(0xa1)
      .Signed(1'000'000'000)
      .Byte(1)
      .Byte(2)
      .Text("no");
  body.Byte(1).Byte(2).Byte(1).Text("away");
  EXPECT_EQ(Decoded(body.bytes()),
            "block_begin 000000000000000000000000000000ab 00000000000000b1 \"load\" "
            "none=00000000000000a1 [1000..?] server seq=5\n"
            "  process web@: service.name=\"web\" process.pid=7\n"
            "  attrs label:page=\"home\" counter:bytes:B=-10 label:hit=true label:share=0.5\n"
            "block_end 000000000000000000000000000000ab 00000000000000b1 \"load\" "
            "none=00000000000000a1 [1000001000..?] status=error:\"no\"\n"
            "  process web@: service.name=\"web\" process.pid=7\n"
            "  attrs label:page=\"away\"\n"
            "accepted 2, rejected 0 {}, repairs {}\n");
}

TEST(EventsBinary, UnknownTypesAreKeptUnusableEventsCounted) {
  Body body;
  body.Byte(0);
  body.Byte(255).Byte(0).Text("warp").Byte(0).Fixed(0).Fixed(1).Fixed(1).Signed(1).Byte(0);
  body.Byte(99).Byte(0).Byte(1).Fixed(2).Signed(0).Byte(0);
  body.Byte(5).Byte(0).Byte(1).Fixed(0).Signed(0).Byte(0);
  body.Byte(5).Byte(0).Byte(0).Fixed(0).Fixed(0).Fixed(9).Signed(0).Byte(0);
  EXPECT_EQ(
      Decoded(body.bytes()),
      "unknown 00000000000000000000000000000001 0000000000000001 \"\" [1..?]\n  process @:\n"
      "  attrs wherefore.type=\"warp\"\n"
      "unknown 00000000000000000000000000000001 0000000000000002 \"\" [1..?]\n  process @:\n"
      "  attrs wherefore.type=\"type-99\"\n"
      "accepted 2, rejected 2 {id1_missing:1 trace_id_zero:1}, repairs {unknown_event_type:2}\n");
}

TEST(EventsBinary, HostileBodies) {
  const auto after_process = [](auto fill) {
    Body body;
    body.Byte(0);
    fill(body);
    return body.bytes();
  };
  EXPECT_EQ(Decoded("{}"),
            "events: this is not the binary form of events, it does not begin with WFEV\n");
  EXPECT_EQ(Decoded("WFEV\x07"), "events: version 7 of the binary form is unknown\n");
  EXPECT_EQ(Decoded(std::string("WFEV\x01\x05", 6)),
            "events: the process is malformed: the body ends inside a number\n");
  EXPECT_EQ(Decoded(std::string("WFEV\x01\x01\xff\xff\xff\xff\x0f", 11)),
            "events: the process is malformed: a length beyond the end of the body\n");
  EXPECT_EQ(Decoded(std::string("WFEV\x01") + std::string(10, '\xff')),
            "events: the process is malformed: a number of more than 64 bits\n");
  EXPECT_EQ(Decoded(after_process([](Body& b) { b.Byte(5).Byte(64); })),
            "events: event 1 is malformed: an unknown flag\n");
  EXPECT_EQ(Decoded(after_process([](Body& b) { b.Byte(5).Byte(0).Byte(3); })),
            "events: event 1 is malformed: a reference to a missing trace\n");
  EXPECT_EQ(Decoded(after_process([](Body& b) {
              b.Byte(5).Byte(0).Byte(0).Fixed(0).Fixed(1).Fixed(1).Signed(0).Byte(1).Byte(4);
            })),
            "events: event 1 is malformed: a reference to a missing text\n");
  EXPECT_EQ(Decoded(after_process([](Body& b) {
              b.Byte(3).Byte(8).Byte(0).Fixed(0).Fixed(1).Fixed(1).Signed(0).Byte(77).Byte(0);
            })),
            "events: event 1 is malformed: an unknown kind of block\n");
  EXPECT_EQ(Decoded(after_process([](Body& b) {
              b.Byte(5)
                  .Byte(0)
                  .Byte(0)
                  .Fixed(0)
                  .Fixed(1)
                  .Fixed(1)
                  .Signed(0)
                  .Byte(1)
                  .Byte(0)
                  .Text("k")
                  .Byte(9);
            })),
            "events: event 1 is malformed: a value of unknown type\n");
}

TEST(EventLines, BadLinesAreToldByNumber) {
  EventBatch batch;
  decode::DecodeReport report;
  std::vector<LineFault> faults;
  DecodeEventLines(
      "{\"trace_id\":\"ab\",\"type\":\"point\",\"id1\":\"1\",\"time_ns\":5}\r\n\n{oops\n"
      "{\"trace_id\":\"12g4\",\"type\":\"point\"}\n{\"trace_id\":\"ab\",\"type\":\"point\"}",
      {}, batch, report, faults);
  EXPECT_EQ(
      decode::DumpReport(report),
      "accepted 1, rejected 3 {id1_missing:1 malformed_line:1 trace_id_malformed:1}, repairs {}");
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[0].line, 3);
  EXPECT_EQ(faults[1].line, 4);
  EXPECT_EQ(faults[1].reason, "trace id \"12g4\": character 3 is not a hexadecimal digit");
  EXPECT_EQ(faults[2].line, 5);
  EXPECT_EQ(faults[2].reason, "id1_missing");
  EXPECT_EQ(report.first_fault.substr(0, 8), "line 3: ");
}

}  // namespace
}  // namespace wf::events
