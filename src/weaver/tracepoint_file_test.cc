#include "weaver/tracepoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::weaver {
namespace {

using ::testing::HasSubstr;

TracepointDefinition Parse(std::string_view text) {
  auto parsed = ParseTracepointFile(text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() && parsed->size() == 1 ? parsed->front() : TracepointDefinition();
}

TEST(TracepointFile, ReadsAndPrintsADefinition) {
  const char* text =
      R"j({"version":1,"name":"DataNodeMetrics.incrBytesRead","locations":[)j"
      R"j({"exe":"datanode","function":"DataNodeMetrics::incrBytesRead","signature":"long","at":"entry"},)j"
      R"j({"exe":"name*","library":"libc.so.6","function":"read","at":"exit"},)j"
      R"j({"library":"libx","function":"A::f","overriders":false,"at":"leave"},)j"
      R"j({"exe":"/usr/bin/d","file":"src/d.cc","line":42}],)j"
      R"j("exports":{"delta":"arg delta","who":"arg req->user.name"}})j";
  const TracepointDefinition definition = Parse(text);
  EXPECT_EQ(definition.name, "DataNodeMetrics.incrBytesRead");
  ASSERT_EQ(definition.locations.size(), 4u);
  EXPECT_TRUE(definition.locations[0].has_signature);
  EXPECT_EQ(definition.locations[1].at, At::kExit);
  EXPECT_EQ(definition.locations[1].library, "libc.so.6");
  EXPECT_FALSE(definition.locations[2].overriders);
  EXPECT_EQ(definition.locations[3].line, 42u);
  ASSERT_EQ(definition.exports.size(), 2u);
  EXPECT_EQ(definition.exports[1].expression.path.size(), 2u);
  EXPECT_EQ(ToJson(definition), text);
  EXPECT_EQ(Parse(ToJson(definition)), definition);
}

TEST(TracepointFile, AtIsEntryAndVersionIsOneUnlessSaid) {
  const TracepointDefinition definition =
      Parse(R"({"name":"x","locations":[{"exe":"a","function":"f"}]})");
  EXPECT_EQ(definition.version, 1);
  EXPECT_EQ(definition.locations[0].at, At::kEntry);
  EXPECT_TRUE(definition.exports.empty());
}

TEST(TracepointFile, SeveralInOneFile) {
  auto parsed = ParseTracepointFile(
      R"([{"name":"x","locations":[{"exe":"a","function":"f"}]},{"name":"y","locations":[{"exe":"a","function":"g"}]}])");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->size(), 2u);
  EXPECT_FALSE(
      ParseTracepointFile(
          R"([{"name":"x","locations":[{"exe":"a","function":"f"}]},{"name":"x","locations":[{"exe":"a","function":"g"}]}])")
          .ok());
}

TEST(TracepointFile, HandoffNeedsItsKey) {
  EXPECT_EQ(
      Parse(
          R"({"name":"push","locations":[{"exe":"a","function":"f"}],"exports":{"key":"arg0"},"handoff":"give"})")
          .handoff,
      Handoff::kGive);
  EXPECT_FALSE(ParseTracepointFile(
                   R"({"name":"x","locations":[{"exe":"a","function":"f"}],"handoff":"give"})")
                   .ok());
}

struct Fault {
  const char* text;
  const char* message;
};

TEST(TracepointFile, FaultsAreToldWithTheirPlace) {
  const Fault faults[] = {
      {"", "JSON"},
      {"[1]", "[0]: tracepoint: expected an object"},
      {"{}", "tracepoint.name: is missing"},
      {R"({"name":3})", "tracepoint.name: expected a string"},
      {R"({"name":"x"})", "tracepoint 'x': locations: expected an array"},
      {R"({"name":"x","locations":[]})", "locations: expected an array of at least one"},
      {R"({"name":"x","locations":[3]})", "locations[0]: expected an object"},
      {R"({"name":"x","locations":[{"function":"f"}]})", "locations[0]: needs exe or library"},
      {R"({"name":"x","locations":[{"exe":"a"}]})",
       "locations[0]: needs either function, or file and line"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f","file":"g"}]})",
       "needs either function"},
      {R"({"name":"x","locations":[{"exe":"a","file":"g"}]})",
       "locations[0].line: expected a line number"},
      {R"({"name":"x","locations":[{"exe":"a","file":"g","line":0}]})",
       "line: expected a line number"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f","line":3}]})",
       "locations[0].line: goes with file"},
      {R"({"name":"x","locations":[{"exe":"a","file":"g","line":3,"signature":""}]})",
       "signature: goes with function"},
      {R"({"name":"x","locations":[{"exe":"a","file":"g","line":3,"at":"exit"}]})",
       "a line has no exit"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f","at":"begin"}]})",
       "at: expected entry, exit, throw or leave"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f","what":1}]})",
       "locations[0]: unknown key 'what'"},
      {R"({"name":"x","locations":[{"exe":"a","exe":"b","function":"f"}]})", "key 'exe' twice"},
      {R"({"name":"x","version":2,"locations":[{"exe":"a","function":"f"}]})",
       "newer than this program reads"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f"}],"exports":[]})",
       "exports: expected an object"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f"}],"exports":{"a b":"arg0"}})",
       "exports.a b: a name is"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f"}],"exports":{"time":"arg0"}})",
       "every event has this"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f"}],"exports":{"a":3}})",
       "exports.a: expected a string"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f"}],"exports":{"a":"retval"}})",
       "exports.a at locations[0]: retval is only known at exit"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f"}],"exports":{"a":"elapsed"}})",
       "elapsed is only known at"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f"}],"exports":{"a":"local x"}})",
       "locals are only known"},
      {R"({"name":"x","locations":[{"exe":"a","file":"f","line":1}],"exports":{"a":"arg0"}})",
       "arg0 is only known"},
      {R"({"name":"x","locations":[{"exe":"a","function":"f"}],"exports":{"a":"arg"}})",
       "the name after 'arg'"},
  };
  for (const Fault& fault : faults) {
    const auto parsed = ParseTracepointFile(fault.text);
    ASSERT_FALSE(parsed.ok()) << fault.text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(parsed.error().message, HasSubstr(fault.message)) << fault.text;
  }
}

TEST(ExportExpression, EverySource) {
  const auto source = [](std::string_view text) {
    auto parsed = ParseExport(text);
    EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.error().message;
    return parsed.ok() ? *parsed : ExportExpression();
  };
  EXPECT_EQ(source("arg delta").name, "delta");
  EXPECT_EQ(source("arg this.member_").path[0].member, "member_");
  EXPECT_EQ(source("arg5").number, 5);
  EXPECT_EQ(source(" retval -> name . first ").path.size(), 2u);
  EXPECT_EQ(source("elapsed").source, ExportSource::kElapsed);
  EXPECT_EQ(source("-17").number, -17);
  EXPECT_EQ(source("'a text'").name, "a text");
  EXPECT_EQ(source("local x[3].y").path[0].index, 3);
  EXPECT_EQ(source("arg0 as uint16").as, ExportAs::kUint16);
  EXPECT_EQ(source("arg buf as string(arg2 as uint32)").length[0].as, ExportAs::kUint32);
  EXPECT_EQ(source("arg buf as string").as, ExportAs::kString);
  EXPECT_EQ(source("arg as").name, "as");
}

TEST(ExportExpression, FaultsHaveAColumn) {
  const Fault faults[] = {
      {"", "column 1"},
      {"delta", "column 1: expected arg NAME"},
      {"arg6", "expected arg NAME"},
      {"arg x->", "column 8: expected the name of a member"},
      {"arg x[", "expected an integer"},
      {"arg x[1", "expected ']'"},
      {"arg x y", "column 7: unexpected text"},
      {"arg x as float", "expected int8"},
      {"arg0.x", "have members"},
      {"elapsed as int8", "taken as something else"},
      {"arg x as string(arg y as string(3))", "a length has no length"},
      {"arg x as string('a')", "the length is a number"},
      {"arg x as string(-1)", "the length is a number"},
      {"'text", "closing quote"},
      {"99999999999999999999", "64 bits"},
      {"arg a.b.c.d.e.f.g.h.i.j", "more than 8 steps"},
  };
  for (const Fault& fault : faults) {
    const auto parsed = ParseExport(fault.text);
    ASSERT_FALSE(parsed.ok()) << fault.text;
    EXPECT_THAT(parsed.error().message, HasSubstr(fault.message)) << fault.text;
  }
}

}  // namespace
}  // namespace wf::weaver
