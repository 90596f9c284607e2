#include "lang/query/events_file.h"

#include "lang/query/query_lab_test.h"

namespace wf::query {
namespace {

std::string Fault(std::string_view lines) {
  const auto file = ReadEvents(lines, "e.jsonl");
  return file.ok() ? "none" : file.error().message;
}

TEST(EventsFile, ReadsEveryMember) {
  const auto file = ReadEvents(
      "\xEF\xBB\xBF{\"id\":\"b\",\"tracepoint\":\"T.x\",\"time_ns\":-5,\"host\":\"h\",\"proc\":"
      "\"p\","
      "\"pid\":7,\"after\":[\"a\",\"a\",\"zz\",\"yy\"],\"vars\":{\"i\":1,\"d\":1.0,\"s\":\"é\","
      "\"n\":null,\"t\":true,\"l\":[1,null,\"x\"],\"w\":18446744073709551615,"
      "\"x\":123456789012345678901234567890}}\r\n\n"
      "{\"id\":\"a\",\"tracepoint\":\"T.y\",\"time_ns\":3,\"color\":1}",
      "e.jsonl");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Execution& execution = file->execution;
  ASSERT_EQ(execution.events.size(), 2u);
  const Event& b = execution.events[0];
  EXPECT_EQ(b.after, (std::vector<uint32_t>{1}));
  EXPECT_EQ(execution.unknown_after, 2u);
  EXPECT_EQ(execution.order, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(execution.request_ids, (std::vector<std::string>{"a"}));
  const auto text = [&](std::string_view name) {
    JsonWriter json;
    WriteValue(json, b.Variable(name));
    return json.Take();
  };
  EXPECT_EQ(text("host"), "\"h\"");
  EXPECT_EQ(text("time"), "-5");
  EXPECT_EQ(text("procName"), "\"p\"");
  EXPECT_EQ(text("procId"), "7");
  EXPECT_EQ(text("tracepoint"), "\"T.x\"");
  EXPECT_EQ(text("i"), "1");
  EXPECT_EQ(text("d"), "1.0");
  EXPECT_EQ(text("s"), "\"é\"");
  EXPECT_EQ(text("n"), "null");
  EXPECT_EQ(text("no"), "null");
  EXPECT_EQ(text("l"), "[1,null,\"x\"]");
  EXPECT_EQ(text("w"), "1.8446744073709552e+19");
  EXPECT_EQ(text("x"), "1.2345678901234568e+29");
  EXPECT_TRUE(execution.events[1].Variable("host").null());
  EXPECT_EQ(file->ignored_members.at("color"), 1u);
}

TEST(EventsFile, NamesTheFileAndTheLine) {
  const std::string good = "{\"id\":\"1\",\"tracepoint\":\"A\",\"time_ns\":1}\n";
  EXPECT_EQ(Fault(good + "{\"id\":").substr(0, 31), "e.jsonl:2: not a line of JSON: ");
  EXPECT_EQ(Fault(good + "\n[1]"), "e.jsonl:3: not a JSON object, which an event is");
  EXPECT_EQ(Fault(good + good), "e.jsonl:2: the id \"1\" stands on line 1 already");
  EXPECT_EQ(Fault("{\"tracepoint\":\"A\",\"time_ns\":1}"), "e.jsonl:1: no \"id\"");
  EXPECT_EQ(Fault("{\"id\":\"1\",\"time_ns\":1}"), "e.jsonl:1: no \"tracepoint\"");
  EXPECT_EQ(Fault("{\"id\":\"1\",\"tracepoint\":\"A\"}"), "e.jsonl:1: no \"time_ns\"");
  const auto with = [](const std::string& members) {
    return Fault("{\"id\":\"1\",\"tracepoint\":\"A\",\"time_ns\":1," + members + "}");
  };
  EXPECT_EQ(Fault("{\"id\":1,\"tracepoint\":\"A\",\"time_ns\":1}"),
            "e.jsonl:1: \"id\" is not a string");
  EXPECT_EQ(Fault("{\"id\":\"1\",\"tracepoint\":\"A\",\"time_ns\":1.5}"),
            "e.jsonl:1: \"time_ns\" is not a 64-bit integer");
  EXPECT_EQ(with("\"host\":5"), "e.jsonl:1: \"host\" is not a string");
  EXPECT_EQ(with("\"pid\":\"5\""), "e.jsonl:1: \"pid\" is not an integer");
  EXPECT_EQ(with("\"after\":\"x\""), "e.jsonl:1: \"after\" is not a list of ids");
  EXPECT_EQ(with("\"after\":[1]"), "e.jsonl:1: an id in \"after\" is not a string");
  EXPECT_EQ(with("\"vars\":[]"), "e.jsonl:1: \"vars\" is not an object");
  EXPECT_EQ(with("\"vars\":{\"time\":1}"),
            "e.jsonl:1: \"vars\" redefines \"time\", which every event has");
  EXPECT_EQ(with("\"vars\":{\"a\":1,\"a\":2}"), "e.jsonl:1: \"vars\" has \"a\" twice");
  EXPECT_EQ(with("\"vars\":{\"a\":{}}"),
            "e.jsonl:1: the variable \"a\" is neither a scalar nor a list of scalars");
  EXPECT_EQ(with("\"vars\":{\"a\":[[1]]}"),
            "e.jsonl:1: the variable \"a\" is neither a scalar nor a list of scalars");
}

TEST(EventsFile, ACycleIsNamedByOneOfItsLines) {
  EXPECT_EQ(Fault("{\"id\":\"0\",\"tracepoint\":\"A\",\"time_ns\":1,\"after\":[\"1\"]}\n"
                  "{\"id\":\"1\",\"tracepoint\":\"A\",\"time_ns\":1,\"after\":[\"2\"]}\n"
                  "{\"id\":\"2\",\"tracepoint\":\"A\",\"time_ns\":1,\"after\":[\"1\"]}\n"),
            "e.jsonl:2: event \"1\" happens before itself: its \"after\" goes in a circle");
  EXPECT_EQ(Fault("{\"id\":\"0\",\"tracepoint\":\"A\",\"time_ns\":1,\"after\":[\"0\"]}"),
            "e.jsonl:1: event \"0\" happens before itself: its \"after\" goes in a circle");
}

TEST(EventsFile, WhatIsWrittenIsReadBack) {
  const Execution first = testing::Events(R"(
{"id":"b","tracepoint":"T.x","time_ns":-5,"host":"h","proc":"p","pid":7,"after":["a"],"vars":{"i":1,"d":1.0,"l":[1,null,"x\n"]}}
{"id":"a","tracepoint":"T.y","time_ns":3}
)");
  const std::string text = WriteEvents(first);
  EXPECT_EQ(WriteEvents(testing::Events(text)), text);
  EXPECT_NE(text.find("\"d\":1.0"), std::string::npos) << text;
}

TEST(RowsJson, DoublesAreTheShortestThatReadBack) {
  EXPECT_EQ(DoubleText(1), "1.0");
  EXPECT_EQ(DoubleText(100000), "100000.0");
  EXPECT_EQ(DoubleText(0.1), "0.1");
  EXPECT_EQ(DoubleText(-0.000012), "-0.000012");
  EXPECT_EQ(DoubleText(0.0000012), "1.2e-06");
  EXPECT_EQ(DoubleText(1e15 + 0.5), "1000000000000000.5");
  EXPECT_EQ(DoubleText(1e16), "1e+16");
  EXPECT_EQ(DoubleText(12345.678), "12345.678");
  EXPECT_EQ(DoubleText(0), "0.0");
  EXPECT_EQ(DoubleText(5e-324), "5e-324");
  EXPECT_EQ(DoubleText(1.7976931348623157e308), "1.7976931348623157e+308");
}

}  // namespace
}  // namespace wf::query
