#include "answer/trace/trace_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "answer/trace/clock_answer.h"
#include "model/event_lines.h"
#include "store/memory/memory_store.h"

namespace wf::answer {
namespace {

using ::testing::ContainsRegex;
using testing::EventLines;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Json(EventLines& lines, TraceJsonOptions options = {}) {
  const Trace trace = BuildTrace(lines.batch, lines.options);
  auto json = TraceJson(trace, options);
  return json.ok() ? *json : "error: " + json.error().message;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

const char kCall[] =
    "span a1 100..200 name=call process=front@h1 kind=client status=error http.method=GET "
    "event=retry@150\n"
    "span b2 parent=a1 120..180 name=serve process=cart@h2 kind=server thread=7\n";

// A whole answer, so that any changed key is seen.
TEST(TraceJson, AClientAndItsServer) {
  EventLines lines(kCall);
  EXPECT_EQ(
      Json(lines),
      R"({"trace_id":"00000000000000000000000000000001","start_ns":100,"end_ns":200,"complete":true,)"
      R"("units":[{"id":"9c2811ce9cb36af8","name":"front","service":"front","process":1,"thread":null,)"
      R"("host":"h1","parent_span_id":null,"start_ns":100,"end_ns":200,"inferred":false,)"
      R"("source":"recorded","received_ns":0},)"
      R"({"id":"07eb4fca28639977","name":"cart","service":"cart","process":0,"thread":"7","host":"h2",)"
      R"("parent_span_id":"00000000000000a1","start_ns":120,"end_ns":180,"inferred":false,)"
      R"("source":"recorded","received_ns":0}],)"
      R"("blocks":[{"span_id":"00000000000000a1","parent_id":null,"unit":"9c2811ce9cb36af8",)"
      R"("service":"front","name":"call","kind":"client","status":"error","status_message":"",)"
      R"("start_ns":100,"end_ns":200,"raw_start_ns":100,"raw_end_ns":200,"reference":"none",)"
      R"("blocks_parent":true,"flags":0,"tracestate":"","source":"recorded","probability":1,)"
      R"("received_ns":0,"attributes":{"http.method":"GET"}},)"
      R"({"span_id":"00000000000000b2","parent_id":"00000000000000a1","unit":"07eb4fca28639977",)"
      R"("service":"cart","name":"serve","kind":"server","status":"unset","status_message":"",)"
      R"("start_ns":120,"end_ns":180,"raw_start_ns":120,"raw_end_ns":180,"reference":"child_of",)"
      R"("blocks_parent":true,"flags":0,"tracestate":"","source":"recorded","probability":1,)"
      R"("received_ns":0,"attributes":{"thread.id":7}}],)"
      R"("points":[{"id":"9113395d0ded8127","span_id":"00000000000000a1","type":"begin","name":"",)"
      R"("time_ns":100,"raw_time_ns":100},)"
      R"({"id":"d4f55f77a4c878a9","span_id":"00000000000000b2","type":"begin","name":"","time_ns":120,)"
      R"("raw_time_ns":120},)"
      R"({"id":"545490a5a8b0f81f","span_id":"00000000000000a1","type":"event","name":"retry","time_ns":150,)"
      R"("raw_time_ns":150},)"
      R"({"id":"1a34036632b9bc11","span_id":"00000000000000b2","type":"end","name":"","time_ns":180,)"
      R"("raw_time_ns":180},)"
      R"({"id":"04e534bf436bef67","span_id":"00000000000000a1","type":"end","name":"","time_ns":200,)"
      R"("raw_time_ns":200}],)"
      R"("edges":[{"from":"9113395d0ded8127","to":"d4f55f77a4c878a9","type":"request","blocking":false},)"
      R"({"from":"1a34036632b9bc11","to":"04e534bf436bef67","type":"response","blocking":true}],)"
      R"("repairs":[],)"
      R"("missing":[],)"
      R"("processes":[{"service":"cart","host":"h2","attributes":{}},)"
      R"({"service":"front","host":"h1","attributes":{}}],)"
      R"("clock":"aligned","clock_error_ns":0,"clocks":[],)"
      R"("violations":[],)"
      R"("usable":true,"rebuilt":false,"main_root":"00000000000000a1","roots":["00000000000000a1"],)"
      R"("unknown_events":[],)"
      R"("doubles":0,"events":2})");
}

TEST(TraceJson, TheWaterfallIsTheSameTraceInColumns) {
  EventLines lines(std::string(kCall) +
                   "span c3 follows=a1 300..400 name=later process=front@h1\n");
  EXPECT_EQ(
      Json(lines, {TraceView::kWaterfall, {}}),
      R"({"trace_id":"00000000000000000000000000000001","start_ns":100,"end_ns":400,"complete":true,)"
      R"("clock":"aligned","clock_error_ns":0,"main_root":"00000000000000a1","strings":["","front","call",)"
      R"("client","cart","serve","server","later","unspecified","retry","one_way","h1","7","h2"],)"
      R"("blocks":{"span_id":["00000000000000a1","00000000000000b2","00000000000000c3"],)"
      R"("parent":[-1,0,0],)"
      R"("service":[1,4,1],)"
      R"("name":[2,5,7],)"
      R"("kind":[3,6,8],)"
      R"("status":[2,0,0],)"
      R"("start":[0,20,200],)"
      R"("duration":[100,60,100],)"
      R"("raw_start":[0,20,200],)"
      R"("raw_duration":[100,60,100],)"
      R"("flags":[0,0,12],)"
      R"("own":[40,60,100],)"
      R"("unit":[0,1,0]},)"
      R"("units":{"id":["9c2811ce9cb36af8","07eb4fca28639977"],)"
      R"("name":[1,4],)"
      R"("service":[1,4],)"
      R"("thread":[0,12],)"
      R"("host":[11,13],)"
      R"("samples":[0,0]},)"
      R"("points":{"block":[0],)"
      R"("time":[50],)"
      R"("name":[9],)"
      R"("marker":[0]},)"
      R"("edges":{"from_block":[0],)"
      R"("from":[0],)"
      R"("to_block":[2],)"
      R"("to":[200],)"
      R"("type":[10],)"
      R"("blocking":[0]},)"
      R"("repairs":{},"missing":[],)"
      R"("violations":[],)"
      R"("clocks":[]})");
}

TEST(TraceJson, MarkersAreNamedInTheWaterfall) {
  EventLines lines(
      "unit_begin u @0 label:name=Client\n"
      "block_begin b in=u @0 name=page\n"
      "point p in=b @50 label:marker=display_done\n"
      "point q in=b @60\n"
      "block_end b in=u @100\n"
      "unit_end u @100\n");
  const std::string json = Json(lines, {TraceView::kWaterfall, {}});
  EXPECT_THAT(json, HasSubstr(R"("display_done")"));
  EXPECT_THAT(json, HasSubstr(R"("time":[50,60],"name":)"));
  EXPECT_THAT(json, ContainsRegex(R"("marker":\[[1-9][0-9]*,0\])"));
}

TEST(TraceJson, StacksShareTheirBeginnings) {
  EventLines lines(
      "unit_begin u @0 label:name=Client\n"
      "block_begin b in=u @0 name=page\n"
      "point p in=b @10 stack:cpu=main;run;draw\n"
      "point q in=b @20 stack:cpu=main;run;;parse\n"
      "point r in=b @30 label:marker=done\n"
      "block_begin c in=u @40 name=call stack:call=main\n"
      "block_end c in=u @70\n"
      "block_end b in=u @100\n"
      "unit_end u @100\n");
  const std::string json = Json(lines, {TraceView::kStacks, {}});
  EXPECT_THAT(json, HasSubstr(R"("strings":["","main","run","draw","parse"],)"
                              R"("frames":{"parent":[-1,0,1,1],"name":[1,2,3,4]},)"));
  EXPECT_THAT(json, HasSubstr(R"("samples":{"time":[10,20,40],"length":[0,0,30],"unit":[0,0,0],)"
                              R"("block":[0,0,1],"stack":[2,3,0]}})"));
  const std::string waterfall = Json(lines, {TraceView::kWaterfall, {}});
  EXPECT_THAT(waterfall, HasSubstr(R"("samples":[3])"));
  EXPECT_THAT(waterfall, HasSubstr(R"("points":{"block":[0],"time":[30],)"));
}

TEST(TraceJson, ASpanAloneBringsItsPointsEdgesAndRepairs) {
  EventLines lines(
      "span a 100..300 name=root process=x event=stray@900\n"
      "span b parent=a 120..110 name=child process=y event=other@999\n"
      "span c parent=b 130..140 name=grandchild process=y\n");
  const std::string json = Json(lines, {TraceView::kFull, SpanId{lines.words.Id("b")}});
  EXPECT_EQ(Count(json, "\"kind\":"), 1u);
  EXPECT_THAT(json, HasSubstr(R"("name":"child")"));
  EXPECT_THAT(json, Not(HasSubstr(R"("name":"grandchild")")));
  EXPECT_THAT(json, Not(HasSubstr(R"("name":"stray")")));
  EXPECT_THAT(json, HasSubstr(R"("name":"other")"));
  EXPECT_EQ(Count(json, "\"pass\":\"stray_point\""), 1u);
  EXPECT_EQ(Count(json, "\"pass\":\"end_before_start\",\"before\":110,\"after\":120"), 1u);
  EXPECT_EQ(Count(json, "\"type\":\"call\""), 1u);
}

TEST(TraceJson, AnUnknownSpanIsNotFound) {
  EventLines lines(kCall);
  const Trace trace = BuildTrace(lines.batch);
  const auto json = TraceJson(trace, {TraceView::kFull, SpanId{0x99}});
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().code, ErrorCode::kNotFound);
}

TEST(TraceJson, AttributesKeepTheirTypes) {
  EventBatch batch;
  batch.scopes.push_back({batch.strings.Intern("lib"), batch.strings.Intern("1.2"), 0, 0});
  batch.processes.push_back({batch.strings.Intern("s"), 0, 0, 0});
  batch.AddRow();
  batch.id1.back() = 1;
  batch.marks.back() = kHasStart | kHasEnd;
  const auto key = [&](const char* name) { PutVarint(batch.strings.Intern(name), batch.bytes); };
  key("int"), PutInt(INT64_MIN, batch.bytes);
  key("double"), PutDouble(0.1, batch.bytes);
  key("nan"), PutDouble(0.0 / 0.0, batch.bytes);
  key("bool"), PutBool(true, batch.bytes);
  key("bytes"), PutString(std::string("\xff\x00", 2), batch.bytes, ValueType::kBytes);
  key("twice"), PutInt(1, batch.bytes);
  key("twice"), PutInt(2, batch.bytes);
  key("bad"), PutString("a\xff", batch.bytes);
  std::string list;
  PutInt(1, list);
  PutString("x", list);
  key("list"), PutString(list, batch.bytes, ValueType::kArray);
  batch.EndAttributes();
  auto json = TraceJson(BuildTrace(batch));
  ASSERT_TRUE(json.ok());
  EXPECT_THAT(*json, HasSubstr(R"("scope":{"name":"lib","version":"1.2","attributes":{}})"));
  EXPECT_THAT(
      *json,
      HasSubstr(R"("attributes":{"int":-9223372036854775808,"double":0.1,"nan":"NaN","bool":true,)"
                R"("bytes":{"bytes":"/wA="},"twice":2,"bad":"a)"
                "\xEF\xBF\xBD"
                R"(","list":[1,"x"]})"));
}

TEST(TraceText, FitsTheWidthAndNamesTheLargestOwnTime) {
  EventLines lines(
      "span a 0..1500000000 name=GET_/checkout process=frontend kind=server\n"
      "span b parent=a 100000000..1400000000 "
      "name=charge_a_card_with_a_name_that_is_much_too_long_for_the_column "
      "process=payment-service-of-the-other-team status=error\n"
      "span c parent=gone 200000000..300000000 name=orphan process=stock\n");
  const Trace trace = BuildTrace(lines.batch);
  const std::string text = TraceText(trace);
  EXPECT_THAT(text, HasSubstr("trace 00000000000000000000000000000001\n"));
  EXPECT_THAT(text, HasSubstr("3 spans · 3 services · 1 error"));
  EXPECT_THAT(text, HasSubstr("incomplete: 1 parent missing, 2 roots; will not arrive"));
  EXPECT_THAT(text,
              HasSubstr("longest own time: payment-service-of-the-other-team charge_a_card_with"));
  EXPECT_THAT(text, HasSubstr("… 1.30 s of 1.50 s (87%)"));
  EXPECT_THAT(text, HasSubstr("✗"));
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto columns =
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(columns, 100) << line;
  }
}

TEST(TraceText, LongTracesAreCutInTheMiddleWithACount) {
  std::string events = "span a 0..1000 name=root\n";
  for (int i = 0; i < 500; ++i)
    events += fmt::format("span {:x} parent=a {}..{} name=s{}\n", 0x1000 + i, i, i + 1, i);
  EventLines lines(events);
  const Trace trace = BuildTrace(lines.batch);
  TraceTextOptions options;
  options.max_rows = 20;
  const std::string text = TraceText(trace, options);
  EXPECT_THAT(text, HasSubstr("⋮ 481 more spans"));
  EXPECT_THAT(text, HasSubstr("s499 "));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20 + 1 + 5 + 2);
}

TEST(TraceText, NamesCannotControlTheTerminal) {
  EventLines lines("span a 0..10 name=x\n");
  lines.batch.name[0] = lines.batch.strings.Intern("evil\x1b[2Jname\n\xc2\x9b");
  const std::string text = TraceText(BuildTrace(lines.batch));
  EXPECT_THAT(text, HasSubstr("evil?[2Jname??"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ClockAnswer, EveryTraceSeesTheSameClockAsSoonAsItIsStored) {
  store::memory::MemoryStore store;
  EventLines lines(
      "span a 3600100000000..3600140000000 process=x@h1 kind=client\n"
      "span b parent=a 3600050000000..3600070000000 process=y@h2 kind=server\n");  // 70 ms behind
  ASSERT_TRUE(store.AppendAndWait(std::move(lines.batch)).ok());
  const auto events = store.ReadTrace("default", {0, 1});
  ASSERT_TRUE(events.ok());
  const auto clocks = pipeline::ClocksFor(store, "default", *events);
  ASSERT_TRUE(clocks.ok());
  ASSERT_NE(clocks->Find("h2"), nullptr);
  EXPECT_EQ(clocks->Find("h2")->Align(3600050000000), 3600110000000);
  const auto stored = store.ReadClocks("default", {});
  ASSERT_TRUE(stored.ok());
  ASSERT_EQ(stored->size(), 2u);
  EXPECT_EQ((*stored)[1].offset_ns, -60000000);
  EXPECT_EQ((*stored)[1].error_ns, 10000000);

  BuildOptions options;
  options.clocks = &*clocks;
  const Trace trace = BuildTrace(*events, options);
  EXPECT_TRUE(trace.usable());
  EXPECT_EQ(trace.blocks[1].start_ns, 3600110000000);
  EXPECT_EQ(trace.blocks[1].raw_start_ns, 3600050000000);
  EXPECT_EQ(trace.clock_error_ns, 10000000);
}

TEST(ClockAnswer, RefreshingAgainChangesNothing) {
  store::memory::MemoryStore store;
  EventLines lines(
      "span a 3600100000000..3600140000000 process=x@h1 kind=client\n"
      "span b parent=a 3600050000000..3600070000000 process=y@h2 kind=server\n");
  ASSERT_TRUE(store.AppendAndWait(std::move(lines.batch)).ok());
  const store::TimeRange time{3600000000000, 3700000000000};
  ASSERT_TRUE(pipeline::RefreshClocks(store, "default", time).ok());
  const auto first = store.ReadClocks("default", {});
  ASSERT_TRUE(pipeline::RefreshClocks(store, "default", time).ok());
  const auto second = store.ReadClocks("default", {});
  ASSERT_EQ(first->size(), second->size());
  for (size_t i = 0; i < first->size(); ++i)
    EXPECT_EQ((*first)[i].offset_ns, (*second)[i].offset_ns);
}

TEST(TraceJson, AHundredThousandSpansInASecond) {
  EventBatch batch;
  batch.scopes.push_back({});
  batch.processes.push_back({batch.strings.Intern("s"), 0, 0, 0});
  batch.processes.push_back({batch.strings.Intern("t"), 0, 0, 0});
  for (uint64_t i = 0; i < 100000; ++i) {
    batch.AddRow();
    batch.id1.back() = i + 1;
    batch.id2.back() = (i + 3) / 4;
    batch.start_ns.back() = static_cast<Nanos>(i);
    batch.end_ns.back() = static_cast<Nanos>(400000 - i);
    batch.marks.back() = kHasStart | kHasEnd;
    batch.process.back() = static_cast<uint32_t>(i % 2);
    batch.name.back() = batch.strings.Intern("operation");
    for (const char* key : {"http.method", "url.path", "user.id", "peer", "session", "size"}) {
      PutVarint(batch.strings.Intern(key), batch.bytes);
      PutString("value-0123456", batch.bytes);
    }
    batch.EndAttributes();
  }
  const auto time = [](const char* what, auto step) {
    // CPU time: what others do on this machine is not ours.
    const std::clock_t start = std::clock();
    auto result = step();
    const double ms = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    fmt::print("{}: {:.0f} ms\n", what, ms);
    return std::make_pair(std::move(result), ms);
  };
  const auto [trace, build_ms] = time("build", [&] { return BuildTrace(batch); });
  const auto [full, full_ms] = time("full JSON", [&, &t = trace] { return TraceJson(t); });
  const auto [waterfall, columns_ms] = time("waterfall", [&, &t = trace] {
    return TraceJson(t, {TraceView::kWaterfall, {}});
  });
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(trace.blocks.size(), 100000u);
  EXPECT_LT(waterfall->size(), full->size() / 5);
  // Far above what is measured (bench), so that a sanitizer does not fail it; quadratic work would.
  EXPECT_LT(build_ms + full_ms + columns_ms, 20000);
}

}  // namespace
}  // namespace wf::answer
