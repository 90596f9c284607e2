// Live queries from start to end, with processes and clients that the test simulates.
#include "live/live_queries.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "json/json_reader.h"
#include "live/live_query_lab_test.h"
#include "live/tracepoint_registry.h"

namespace wf::live {
namespace {

using live_testing::Compiled;
using live_testing::Partial;
using live_testing::ReportJson;

class LiveQueriesTest : public testing::Test {
 protected:
  LiveQueriesTest() { Begin(); }
  void Begin() {
    processes_ = std::make_unique<ProcessRegistry>(*folder_.store);
    queries_ = std::make_unique<LiveQueries>(
        LiveQueriesContext{*folder_.store, *processes_, counters_, CompileLive,
                           [this](const std::string&) { return ++generation_; }});
    ASSERT_TRUE(queries_->Load("default").ok());
  }
  void Restart() {
    queries_.reset();
    processes_.reset();
    folder_.store.reset();
    folder_.Open();
    Begin();
  }
  void HaveTracepoint(const std::string& name) {
    ASSERT_TRUE(queries_
                    ->Report("default", R"({"instance":"p1","tracepoints":[{"name":")" + name +
                                            R"(","exports":["n"]}]})")
                    .ok());
  }
  // Returns its id.
  std::string Start(const std::string& json) {
    const auto started = queries_->Start("default", json);
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().message);
    JsonParser parser;
    return started.ok() ? std::string(parser.Parse(*started)->Get("id").String()) : "";
  }
  std::shared_ptr<const advice::Program> ProgramOf(const std::string& id, const std::string& text) {
    return Compiled(text, ParseSpanId(id)->value);
  }
  // Everything written until `wanted` appears in it.
  std::string ReadUntil(net::HttpBodyStream& stream, const std::string& wanted) {
    std::string all;
    for (int i = 0; i < 3'000 && all.find(wanted) == std::string::npos; ++i) {
      std::string piece;
      if (stream.Take(&piece) == net::HttpBodyStream::Took::kPiece) all += piece;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_NE(all.find(wanted), std::string::npos) << all;
    return all;
  }
  bool Gone(const std::string& id) {
    for (int i = 0; i < 3'000; ++i) {
      if (!queries_->Show("default", id).ok()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  live_testing::StoreFolder folder_;
  pipeline::Counters counters_;
  std::atomic<uint64_t> generation_{0};
  std::unique_ptr<ProcessRegistry> processes_;
  std::unique_ptr<LiveQueries> queries_;
};

constexpr char kByHost[] = "From x In Work GroupBy x.host Select x.host, COUNT";
const std::string kAsked =
    std::string("{\"query\":\"") + kByHost + "\",\"interval_ms\":100,\"total\":true}";

TEST_F(LiveQueriesTest, AnUnknownTracepointIsAnErrorThatNamesNearOnes) {
  HaveTracepoint("Work");
  const auto started = queries_->Start("default", R"({"query":"From x In Wrok Select COUNT"})");
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::kBadInput);
  EXPECT_NE(started.error().hint.find("Work"), std::string::npos) << started.error().hint;
}

TEST_F(LiveQueriesTest, ACheckTellsThePlaceOfEachFault) {
  HaveTracepoint("Work");
  EXPECT_EQ(*queries_->Check("default", R"({"query":"From x In Work Select COUNT"})"),
            "{\"columns\":[\"COUNT\"],\"tracepoints\":[\"Work\"],\"diagnostics\":[]}\n");
  const auto unknown = queries_->Check(
      "default", R"({"query":"From x In Work\nJoin y In First(Wrok) On y -> x Select COUNT"})");
  ASSERT_TRUE(unknown.ok());
  JsonParser parser;
  const JsonValue json = *parser.Parse(*unknown);
  ASSERT_EQ(json.Get("diagnostics").size(), 1u) << *unknown;
  for (const JsonValue one : json.Get("diagnostics").Elements()) {
    EXPECT_EQ(*one.Get("line").Int(), 2);
    EXPECT_EQ(one.Get("hint").String(), "did you mean Work?");
  }
  EXPECT_NE(queries_->Check("default", R"({"query":"From x In"})")->find("\"line\":1"),
            std::string::npos);
  EXPECT_FALSE(queries_->Check("default", "{}").ok());
}

TEST_F(LiveQueriesTest, BadRequestsSayWhatIsWrong) {
  HaveTracepoint("Work");
  for (const auto& [json, why] : std::vector<std::pair<std::string, std::string>>{
           {"{", "query:"},
           {"[]", "not a JSON object"},
           {"{}", "no query given"},
           {R"({"query":"From x In Work Select COUNT","colour":1})", "colour"},
           {R"({"query":"From x In Work Select COUNT","interval_ms":1})", "interval_ms"},
           {R"({"query":"From x In Work Select COUNT","standing":true,"total":true})", "total"},
           {R"x({"query":"From x In Work Select Nope(1)"})x", "Nope"},
           {R"({"query":"From x In Work Select COUNT","dataset":"calls"})", "calls"},
           {R"({"query":"From x In Work Select COUNT","dataset":"a b"})", "a b"},
       }) {
    const auto started = queries_->Start("default", json);
    ASSERT_FALSE(started.ok()) << json;
    EXPECT_EQ(started.error().code, ErrorCode::kBadInput) << json;
    EXPECT_NE(started.error().message.find(why), std::string::npos) << started.error().message;
  }
}

TEST_F(LiveQueriesTest, ReportsOfSeveralProcessesMeetInTheirInterval) {
  HaveTracepoint("Work");
  const std::string id = Start(kAsked);
  const auto program = ProgramOf(id, kByHost);
  const auto stream = queries_->Listen("default", id, {});
  ASSERT_TRUE(stream.ok());
  EXPECT_NE(queries_->ControlJson("default").find(id), std::string::npos);

  const Nanos start = IntervalStart(Now(), 100 * kMilli);
  for (const char* instance : {"p1", "p2"}) {
    const auto answer =
        queries_->Report("default", ReportJson(instance, id, start, Partial(*program, "a", 5), 5));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(*answer, "{\"accepted\":1,\"refused\":0}\n");
  }
  const std::string told = ReadUntil(**stream, "[[\"a\",10]]");
  EXPECT_NE(told.find("event: interval\ndata: {\"start_ns\":" + std::to_string(start)),
            std::string::npos)
      << told;

  // After the removal processes do not get the query any more; its last results are still accepted, then its
  // streams end.
  ASSERT_TRUE(queries_->Remove("default", id).ok());
  EXPECT_EQ(queries_->ControlJson("default"), "[]");
  const std::string rest = ReadUntil(**stream, "event: end");
  EXPECT_NE(
      rest.find("event: total\ndata: {\"columns\":[\"x.host\",\"COUNT\"],\"rows\":[[\"a\",10]]"),
      std::string::npos)
      << rest;
  EXPECT_TRUE(Gone(id));
  (void)queries_->Report("default", ReportJson("p1", id, start, Partial(*program, "a", 1), 1));
  EXPECT_EQ(counters_.Snapshot()["live_query_reports_after_end"], 1);
}

TEST_F(LiveQueriesTest, AnEndedQueryWaitsForThoseWhoHaveNotTakenItOver) {
  HaveTracepoint("Work");
  const std::string id =
      Start(R"({"query":")" + std::string(kByHost) + R"(","interval_ms":60000,"total":true})");
  const auto program = ProgramOf(id, kByHost);
  const auto stream = queries_->Listen("default", id, {});
  const auto rest = ProcessRegistry::Rest::kReported;
  processes_->Asked("default", {"p1", "s", "", 0}, generation_, rest);
  ASSERT_TRUE(queries_->Remove("default", id).ok());
  // p1 has not sent another request: its last results arrive now.
  ASSERT_TRUE(
      queries_->Report("default", ReportJson("p1", id, Now(), Partial(*program, "a", 3), 3)).ok());
  EXPECT_TRUE(queries_->Show("default", id).ok());
  processes_->Asked("default", {"p1", "s", "", 0}, generation_, rest);
  EXPECT_NE(ReadUntil(**stream, "event: end").find("\"rows\":[[\"a\",3]]"), std::string::npos);
}

TEST_F(LiveQueriesTest, AQueryGoesWithItsClient) {
  HaveTracepoint("Work");
  const std::string heard = Start(kAsked);
  auto stream = *queries_->Listen("default", heard, {});
  const std::string unheard = Start(kAsked);
  EXPECT_TRUE(Gone(unheard)) << "nobody ever listened";
  EXPECT_TRUE(queries_->Show("default", heard).ok());
  stream->Close();  // as the connection does when the client is gone
  EXPECT_TRUE(Gone(heard));
}

TEST_F(LiveQueriesTest, AStandingQueryStaysOverARestartWithItsCost) {
  HaveTracepoint("Work");
  const std::string id = Start(R"({"query":")" + std::string(kByHost) +
                               R"(","interval_ms":100,"standing":true,"name":"by host"})");
  const auto program = ProgramOf(id, kByHost);
  ASSERT_TRUE(
      queries_->Report("default", ReportJson("p1", id, Now(), Partial(*program, "a", 3), 3)).ok());
  EXPECT_FALSE(
      queries_->Start("default", R"({"query":"From x In Work Select COUNT","name":"by host"})")
          .ok())
      << "a name stands for one query";
  const std::string control = queries_->ControlJson("default");
  Restart();
  EXPECT_EQ(queries_->ControlJson("default"), control) << "the same program under the same id";
  const auto shown = queries_->Show("default", "by host");
  ASSERT_TRUE(shown.ok());
  EXPECT_NE(shown->find("\"hits\":3"), std::string::npos) << *shown;
  EXPECT_TRUE(queries_->Check("default", kAsked).ok()) << "compiled-in tracepoints are remembered";
  ASSERT_TRUE(queries_->Remove("default", "by host").ok());
  Restart();
  EXPECT_EQ(queries_->List("default"), "{\"queries\":[]}\n");
}

TEST_F(LiveQueriesTest, WhoComesLaterIsToldThePast) {
  HaveTracepoint("Work");
  const std::string id =
      Start(R"({"query":")" + std::string(kByHost) + R"(","interval_ms":50,"standing":true})");
  const auto program = ProgramOf(id, kByHost);
  const Nanos start = IntervalStart(Now(), 50 * kMilli);
  (void)queries_->Report("default", ReportJson("p1", id, start, Partial(*program, "a", 3), 3));
  ReadUntil(**queries_->Listen("default", id, {}), "event: interval");
  const auto later = queries_->Listen("default", id, start - 1);
  EXPECT_NE(ReadUntil(**later, "[[\"a\",3]]").find("id: " + std::to_string(start)),
            std::string::npos);
}

TEST_F(LiveQueriesTest, RowsLandInADataset) {
  HaveTracepoint("Work");
  const std::string id = Start(R"({"query":")" + std::string(kByHost) +
                               R"(","interval_ms":50,"standing":true,"dataset":"hosts"})");
  const auto program = ProgramOf(id, kByHost);
  const Nanos start = IntervalStart(Now(), 50 * kMilli);
  for (int i = 0; i < 2; ++i) {
    const Nanos at = start + i * 50 * kMilli;
    (void)queries_->Report("default", ReportJson("p1", id, at, Partial(*program, "a", 3), 3));
  }
  int64_t rows = 0;
  for (int i = 0; i < 3'000 && rows < 2; ++i) {
    const auto datasets = folder_.store->ReadDatasets("default");
    ASSERT_TRUE(datasets.ok());
    for (const store::DatasetStatus& one : *datasets)
      if (one.name == "hosts") rows = one.rows;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(rows, 2);
}

TEST_F(LiveQueriesTest, BadReportsAreCountedByName) {
  HaveTracepoint("Work");
  const std::string id = Start(kAsked);
  EXPECT_FALSE(queries_->Report("default", "{").ok());
  EXPECT_FALSE(queries_->Report("default", "{}").ok());
  EXPECT_FALSE(queries_->Report("default", R"({"instance":"p","tracepoints":[{}]})").ok());
  EXPECT_EQ(*queries_->Report("default", ReportJson("p", id, 0, "garbage", 1)),
            "{\"accepted\":0,\"refused\":1}\n");
  EXPECT_EQ(*queries_->Report("default", ReportJson("p", "0123456789abcdef", 0, "x", 1)),
            "{\"accepted\":0,\"refused\":1}\n");
  EXPECT_EQ(*queries_->Report("default", R"({"instance":"p","results":[{"query":"zz"}]})"),
            "{\"accepted\":0,\"refused\":1}\n");
  auto counted = counters_.Snapshot();
  EXPECT_EQ(counted["live_query_reports_malformed"], 2);
  EXPECT_EQ(counted["live_query_reports_unknown"], 1);
  EXPECT_EQ(*queries_->Report("other", ReportJson("p", id, 0, "x", 1)),
            "{\"accepted\":0,\"refused\":1}\n")
      << "a tenant's queries are its own";
}

TEST_F(LiveQueriesTest, NotesOfAgentsReachTheListener) {
  HaveTracepoint("Work");
  const std::string id = Start(kAsked);
  const auto stream = queries_->Listen("default", id, {});
  const std::string note = R"({"instance":"a","host":"web1","notes":[{"query":")" + id +
                           R"(","text":"no such function"}]})";
  ASSERT_TRUE(queries_->Report("default", note).ok());
  ASSERT_TRUE(queries_->Report("default", note).ok());
  const std::string told = ReadUntil(**stream, "event: interval");
  EXPECT_NE(told.find("{\"text\":\"web1: no such function\"}"), std::string::npos) << told;
  EXPECT_EQ(told.find("web1"), told.rfind("web1")) << "once";
}

TEST_F(LiveQueriesTest, AReportThatComesTwiceCountsOnce) {
  HaveTracepoint("Work");
  const std::string id = Start(kAsked);
  const auto program = ProgramOf(id, kByHost);
  const auto report = [&](const char* run, std::vector<int> numbers) {
    JsonWriter json;
    json.BeginObject().Field("instance", "p1").Field("host", "h").Field("run", run);
    json.Key("results").BeginArray();
    for (const int number : numbers) {
      json.BeginObject()
          .Field("query", id)
          .Field("seq", number)
          .Field("start_ns", Now())
          .Field("partial", Base64Encode(Partial(*program, "h", 1)))
          .Field("hits", 1)
          .EndObject();
    }
    json.EndArray().EndObject();
    EXPECT_TRUE(queries_->Report("default", json.Take()).ok());
  };
  report("r1", {1, 2});
  report("r1", {1, 2, 3});  // the answer to the first report was lost
  report("r1", {2});        // and part of it arrives late
  report("r2", {1});        // the same instance, started again
  JsonParser parser;
  const auto shown = queries_->Show("default", id);
  EXPECT_EQ(parser.Parse(*shown)->Get("cost").Get("hits").Int(), 4);
  EXPECT_EQ(counters_.Snapshot()["live_query_reports_twice"], 3);
}

TEST_F(LiveQueriesTest, TheEndDoesNotWaitForAProcessThatWent) {
  HaveTracepoint("Work");
  const std::string id =
      Start(R"({"query":")" + std::string(kByHost) + R"(","interval_ms":3600000})");
  const auto stream = queries_->Listen("default", id, {});
  processes_->Asked("default", {"gone", "s", "", 0}, 0, ProcessRegistry::Rest::kMayCome);
  ASSERT_TRUE(queries_->Remove("default", id).ok());
  processes_->Left("default", "gone");
  // Otherwise it would wait for the interval, an hour.
  EXPECT_NE(ReadUntil(**stream, "event: end").find("event: end"), std::string::npos);
}

TEST_F(LiveQueriesTest, TheEndDoesNotWaitForAProcessThatWasKilled) {
  processes_->Asked("default", {"killed", "s", "", 0}, 0, ProcessRegistry::Rest::kMayCome,
                    100 * kMilli);
  processes_->Asked("default", {"lives", "s", "", 0}, 0, ProcessRegistry::Rest::kMayCome,
                    20 * kSecond);
  EXPECT_EQ(processes_->Reached("default", 0).known, 2);
  for (int i = 0; i < 3'000 && processes_->Reached("default", 0).known != 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(processes_->Reached("default", 0).known, 1) << "it did not ask again";
}

constexpr char kJoined[] = "From x In Work Join b In Begin On b -> x GroupBy b.n Select b.n, COUNT";

// What a process reports of a request that packed too much, or of `events`.
std::string EmitReport(const std::string& id, Nanos start, int overflowed,
                       const std::string& events) {
  const auto program = Compiled(kJoined, ParseSpanId(id)->value);
  JsonWriter json;
  json.BeginObject().Field("instance", "p1").Field("host", "h").Key("results").BeginArray();
  json.BeginObject()
      .Field("query", id)
      .Field("start_ns", start)
      .Field("partial", Base64Encode(advice::Results(*program).Encode()))
      .Field("overflowed", overflowed);
  if (!events.empty()) json.Field("events", Base64Encode(events));
  json.EndObject().EndArray().EndObject();
  return json.Take();
}

TEST_F(LiveQueriesTest, AQueryThatOverflowsGoesOverToTheEmitPlan) {
  ASSERT_TRUE(queries_
                  ->Report("default", R"({"instance":"p1","tracepoints":[{"name":"Work"},
                                          {"name":"Begin","exports":["n"]}]})")
                  .ok());
  const std::string id =
      Start(R"({"query":")" + std::string(kJoined) + R"(","interval_ms":100,"total":true})");
  const auto stream = queries_->Listen("default", id, {});
  EXPECT_NE(queries_->ControlJson("default").find("\"plan\":\"rewritten\""), std::string::npos);
  const uint64_t before = generation_;
  const Nanos start = IntervalStart(Now(), 100 * kMilli);
  ASSERT_TRUE(queries_->Report("default", EmitReport(id, start, 1, "")).ok());
  ReadUntil(**stream, "run on the emit plan");
  EXPECT_NE(queries_->ControlJson("default").find("\"plan\":\"emit\""), std::string::npos);
  EXPECT_NE(queries_->Show("default", id)->find("\"plan\":\"emit\""), std::string::npos);
  for (int i = 0; i < 3'000 && generation_ == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(generation_, before + 1) << "processes are told";

  // Places by name: Begin with n, Work. A second process has the From event.
  std::string begins, works;
  advice::AppendEvent({1, start, 1, {}, {advice::Value(int64_t{7})}}, begins);
  advice::AppendEvent({2, start + 1, 1, {1}, {advice::Value(int64_t{8})}}, begins);
  advice::AppendEvent({3, start + 2, 2, {2}, {}}, works);
  advice::AppendEvent({4, start + 3, 2, {2}, {}}, works);
  ASSERT_TRUE(queries_->Report("default", EmitReport(id, start, 0, works)).ok());
  ASSERT_TRUE(queries_->Report("default", EmitReport(id, start, 0, begins)).ok());
  const std::string told = ReadUntil(**stream, "[[7,2],[8,2]]");
  EXPECT_NE(told.find("{\"start_ns\":" + std::to_string(start)), std::string::npos) << told;

  // An event whose past never arrives is counted as lost, at the latest when the query ends.
  std::string alone;
  advice::AppendEvent({6, start, 2, {5}, {}}, alone);
  ASSERT_TRUE(queries_->Report("default", EmitReport(id, start, 0, alone)).ok());
  ASSERT_TRUE(queries_->Report("default", EmitReport(id, start, 0, "garbage")).ok());
  ASSERT_TRUE(queries_->Remove("default", id).ok());
  const std::string rest = ReadUntil(**stream, "event: end");
  EXPECT_NE(rest.find("\"rows\":[[7,2],[8,2]]"), std::string::npos) << rest;
  EXPECT_NE(rest.find("\"lost\":1"), std::string::npos) << rest;
  EXPECT_EQ(counters_.Snapshot()["live_query_events_lost_past"], 1);
  EXPECT_EQ(counters_.Snapshot()["live_query_reports_malformed"], 1);
}

TEST_F(LiveQueriesTest, AStandingQueryKeepsThePlanOverARestart) {
  ASSERT_TRUE(queries_
                  ->Report("default", R"({"instance":"p1","tracepoints":[{"name":"Work"},
                                          {"name":"Begin","exports":["n"]}]})")
                  .ok());
  const std::string id = Start(R"({"query":")" + std::string(kJoined) + R"(","standing":true})");
  const uint64_t before = generation_;
  ASSERT_TRUE(queries_->Report("default", EmitReport(id, Now(), 1, "")).ok());
  for (int i = 0; i < 3'000 && generation_ == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  Restart();
  EXPECT_NE(queries_->Show("default", id)->find("\"plan\":\"emit\""), std::string::npos);
}

// A tracepoint in the kernel.
std::string WovenTracepoint(const std::string& name) {
  return R"({"version":1,"name":")" + name +
         R"(","locations":[{"exe":"/x","function":"f","at":"entry"}],"exports":{"n":"arg n"}})";
}

TEST_F(LiveQueriesTest, WhatTheKernelEmitsStaysOnBaggage) {
  HaveTracepoint("Begin");
  ASSERT_TRUE(
      folder_.store->PutDocument("default", "tracepoint", "Work", WovenTracepoint("Work")).ok());
  const std::string id = Start(R"({"query":")" + std::string(kJoined) + R"(","interval_ms":100})");
  const auto stream = queries_->Listen("default", id, {});
  ASSERT_TRUE(queries_->Report("default", EmitReport(id, Now(), 1, "")).ok());
  ReadUntil(**stream, "compiled in, which Work is not");
  EXPECT_NE(queries_->ControlJson("default").find("\"plan\":\"rewritten\""), std::string::npos);
}

TEST_F(LiveQueriesTest, WhatTheKernelPacksMayLeaveBaggage) {
  HaveTracepoint("Work");
  ASSERT_TRUE(
      folder_.store->PutDocument("default", "tracepoint", "Begin", WovenTracepoint("Begin")).ok());
  const std::string id = Start(R"({"query":")" + std::string(kJoined) + R"(","interval_ms":100})");
  const auto stream = queries_->Listen("default", id, {});
  ASSERT_TRUE(queries_->Report("default", EmitReport(id, Now(), 1, "")).ok());
  ReadUntil(**stream, "run on the emit plan");
  EXPECT_NE(queries_->ControlJson("default").find("\"plan\":\"emit\""), std::string::npos);
}

}  // namespace
}  // namespace wf::live
