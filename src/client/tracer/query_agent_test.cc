// Queries in a process, from the server's answer to what is reported. The tracepoints are compiled in here.
#include "client/queries/query_agent.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "advice/advice_test_support.h"
#include "client/queries/advice_runner.h"
#include "client/queries/causal_past.h"
#include "client/queries/test_query_server.h"
#include "client/queries/thread_baggage.h"
#include "client/queries/tracepoint_registry.h"
#include "client/tracer/control_client.h"
#include "client/tracer/tracer_core.h"
#include "wherefore/baggage.h"
#include "wherefore/rpc.h"
#include "wherefore/tracepoint.h"
#include "wherefore/tracer.h"

namespace wherefore {
namespace {

using client::TestQueryServer;
using client::TracepointKind;
using wf::advice::AggregateKind;
using wf::advice::Column;
using wf::advice::Constant;
using wf::advice::Emit;
using wf::advice::Filter;
using wf::advice::Keep;
using wf::advice::MakeProgram;
using wf::advice::Observe;
using wf::advice::Over;
using wf::advice::Pack;
using wf::advice::Program;
using wf::advice::Tuple;
using wf::advice::Unpack;
using wf::advice::Value;

using std::chrono::milliseconds;
constexpr milliseconds kPatience{60'000};

void Work(int64_t delta, const char* kind) {
  WHEREFORE_TRACEPOINT("test.work", {"delta", delta}, {"kind", kind});
}
void Begin(int64_t request) { WHEREFORE_TRACEPOINT("test.begin", {"request", request}); }
void End() { WHEREFORE_TRACEPOINT("test.end"); }

bool Eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return false;
}

bool Woven(std::string_view name) {
  for (auto* point = client::FirstTracepoint(); point != nullptr; point = point->next) {
    if (point->name == name && point->woven.load() != nullptr) return true;
  }
  return false;
}

std::unique_ptr<Tracer> TracerOf(const TestQueryServer& server) {
  TracerOptions options;
  options.endpoint = server.url();
  options.service_name = "unit";
  options.shutdown_deadline = milliseconds(20'000);
  return std::make_unique<Tracer>(options);
}

uint64_t next_query = 0x1000;

// From w In test.work GroupBy w.kind Select w.kind, SUM(w.delta), COUNT
Program Sums() {
  Emit emit{{{Column(1)},
             {Over(AggregateKind::kSum, Column(0)), Over(AggregateKind::kCount, Constant(true))}},
            true,
            {Column(0), Column(1), Column(2)}};
  Program program = MakeProgram({{{"test.work"}, {Observe{{"delta", "kind"}}, emit}}});
  program.query = ++next_query;
  return program;
}

// From e In test.end Join b In First(test.begin) On b -> e Select b.request, COUNT
Program Joined(Keep keep = Keep::kFirst) {
  Pack pack{0, keep, keep == Keep::kAll ? 0u : 1u, {{Column(0)}, {}}};
  Emit emit{
      {{Column(0)}, {Over(AggregateKind::kCount, Constant(true))}}, true, {Column(0), Column(1)}};
  Program program = MakeProgram({{{"test.begin"}, {Observe{{"request"}}, pack}},
                                 {{"test.end"}, {Observe{{}}, Unpack{0, false, {}}, emit}}});
  program.query = ++next_query;
  return program;
}

int64_t Integer(const Value& value) { return std::get<int64_t>(value); }

TEST(Tracepoints, AreKnownBeforeTheyAreHit) {
  std::optional<TracepointKind> found;
  for (const TracepointKind& kind : client::TracepointKinds()) {
    if (kind.name == "test.never") found = kind;
  }
  if (next_query == 0) {  // never
    WHEREFORE_TRACEPOINT("test.never", {"a", 1}, {"b", std::string("x")});
  }
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->exports, (std::vector<std::string>{"a", "b"}));
}

TEST(Tracepoints, NamesOfFieldsAreReadOffTheSource) {
  EXPECT_EQ(client::FieldNames(""), std::vector<std::string>());
  EXPECT_EQ(client::FieldNames(R"({"delta", f(x, {"no", 1})}, {"b", "}{\"" }, { "c",y})"),
            (std::vector<std::string>{"delta", "b", "c"}));
}

TEST(Tracepoints, FieldsAreNotEvaluatedWhileOff) {
  int evaluated = 0;
  WHEREFORE_TRACEPOINT("test.lazy", {"n", ++evaluated});
  EXPECT_EQ(evaluated, 0);
}

TEST(QueryAgent, TellsTheTracepointsOfTheProcess) {
  TestQueryServer server;
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([&] { return !server.Reports().empty(); }));
  const client::JsonNode report = server.Reports()[0];
  EXPECT_EQ(report.Get("service").text, "unit");
  EXPECT_EQ(report.Get("pid").number, getpid());
  bool found = false;
  for (const auto& [unused, one] : report.Get("tracepoints").children) {
    if (one.Get("name").text != "test.work") continue;
    found = true;
    ASSERT_EQ(one.Get("exports").children.size(), 2u);
    EXPECT_EQ(one.Get("exports").children[0].second.text, "delta");
  }
  EXPECT_TRUE(found);
}

// The figure of the contract: 10^6 calls, all of them counted once.
TEST(QueryAgent, CountsAreExactOverAllIntervals) {
  constexpr int kThreads = 4, kHits = 250'000;
  TestQueryServer server;
  const Program program = Sums();
  server.SetQueries({program}, {1'000});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < kHits; ++i) Work(thread + 1, i % 2 == 0 ? "even" : "odd");
    });
  }
  for (std::thread& thread : threads) thread.join();
  server.SetQueries({});
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(program, 1'000).hits >= kThreads * kHits; }))
      << server.TotalOf(program, 1'000).hits;
  const auto total = server.TotalOf(program, 1'000);
  EXPECT_TRUE(total.sound);
  EXPECT_EQ(total.hits, static_cast<uint64_t>(kThreads * kHits));
  EXPECT_EQ(total.tuples, total.hits);
  EXPECT_EQ(total.lost + total.overflowed, 0u);
  EXPECT_GT(total.advice_ns, 0);
  const std::vector<Tuple> rows = total.results.Rows();
  ASSERT_EQ(rows.size(), 2u);
  for (const Tuple& row : rows) {
    EXPECT_EQ(Integer(row[1]), int64_t{kHits} / 2 * (1 + 2 + 3 + 4));
    EXPECT_EQ(Integer(row[2]), int64_t{kHits} / 2 * kThreads);
  }
}

TEST(QueryAgent, AQueryThatIsGoneIsTakenOutAtOnce) {
  TestQueryServer server;
  const Program first = Sums(), second = Sums();
  server.SetQueries({first, second}, {3'600'000});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  Work(1, "a");
  server.SetQueries({second}, {3'600'000});
  // Its interval lasts an hour, but it has no more to come.
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(first, 3'600'000).hits == 1; }));
  Work(1, "a");
  server.SetQueries({});
  ASSERT_TRUE(Eventually([] { return !Woven("test.work"); }));
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(second, 3'600'000).hits == 2; }));
  EXPECT_EQ(server.TotalOf(first, 3'600'000).hits, 1u);
  Work(1, "a");
}

// The clock is not read at every hit (advice_runner.cc): what the last interval surely had left must not reach the next.
TEST(QueryAgent, HitsAreInTheIntervalTheyHappenedIn) {
  constexpr int64_t kIntervalMs = 20;
  Emit emit{{{}, {Over(AggregateKind::kMin, Column(0)), Over(AggregateKind::kMax, Column(0))}},
            true,
            {Column(0), Column(1)}};
  Program program = MakeProgram({{{"test.work"}, {Observe{{"time"}}, emit}}});
  program.query = ++next_query;
  TestQueryServer server;
  server.SetQueries({program}, {kIntervalMs});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  const auto until = std::chrono::steady_clock::now() + milliseconds(30 * kIntervalMs);
  uint64_t hits = 0;
  for (; std::chrono::steady_clock::now() < until; ++hits) Work(1, "a");
  server.SetQueries({});
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(program, kIntervalMs).hits == hits; }));
  int intervals = 0, strayed = 0;
  for (const auto& report : server.Reports()) {
    for (const auto& [unused, result] : report.Get("results").children) {
      std::string bytes;
      wf::advice::Results results(program);
      ASSERT_TRUE(client::FromBase64(result.Get("partial").text, bytes) && results.Merge(bytes));
      const std::vector<Tuple> rows = results.Rows();
      ASSERT_EQ(rows.size(), 1u);
      const int64_t start = std::strtoll(result.Get("start_ns").text.c_str(), nullptr, 10);
      ++intervals;
      EXPECT_GE(Integer(rows[0][0]), start);
      // A thread that is held up between the two may read its time later.
      strayed += Integer(rows[0][1]) >= start + kIntervalMs * 1'000'000 ? 1 : 0;
    }
  }
  EXPECT_GE(intervals, 10);
  EXPECT_LE(strayed, intervals / 3);
}

TEST(QueryAgent, ALostServerTakesItsQueriesWithIt) {
  TestQueryServer server;
  const Program program = Sums();
  server.SetQueries({program}, {200});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  server.SetSilent(true);
  ASSERT_TRUE(Eventually([] { return !Woven("test.work"); }));
  // It comes back, with the same version as before: everything is told again.
  server.SetSilent(false);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  Work(5, "back");
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(program, 200).hits == 1; }));
}

// One that takes connections and does not answer: with intervals below half a second, too, everything is out within
// three. Before the answer was awaited for a second and a half longer.
TEST(QueryAgent, AServerThatHangsIsLostWithinThreeIntervals) {
  for (const int interval_ms : {50, 100, 300, 500, 999, 1'000, 5'000}) {
    const client::AskPatience patience = client::PatienceFor(interval_ms * 1'000'000L);
    EXPECT_LE((patience.wait + patience.grace) * 2, milliseconds(interval_ms) * 5) << interval_ms;
    EXPECT_GE(patience.grace, std::min(milliseconds(1'500), milliseconds(interval_ms)));
    EXPECT_GE(patience.wait, milliseconds(10));
  }
  TestQueryServer server;
  const Program program = Sums();
  server.SetQueries({program}, {400});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([&] { return server.TakenOver() && Woven("test.work"); }));
  Work(1, "before");  // so that a report is under way, too
  server.SetHanging(true);
  const auto since = std::chrono::steady_clock::now();
  ASSERT_TRUE(Eventually([] { return !Woven("test.work"); }));
  // 1.2 s; a busy machine may take longer, but not as long as a report that hangs (5 s).
  EXPECT_LT(std::chrono::steady_clock::now() - since, milliseconds(3'000));
  server.SetHanging(false);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  // Whoever reads the rows hears of the gap.
  ASSERT_TRUE(Eventually([&] {
    for (const auto& report : server.Reports()) {
      for (const auto& [unused, note] : report.Get("notes").children) {
        if (note.Get("query").text == client::QueryIdText(program.query) &&
            note.Get("text").text.find("taken out for") != std::string::npos)
          return true;
      }
    }
    return false;
  }));
}

TEST(QueryAgent, SaysWhenAQueryThatEndedIsReported) {
  TestQueryServer server;
  const Program program = Sums();
  server.SetQueries({program}, {3'600'000});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  Work(1, "a");
  server.SetQueries({});
  ASSERT_TRUE(Eventually([&] { return server.Drained(); }));
  EXPECT_EQ(server.TotalOf(program, 3'600'000).hits, 1u) << "before it said so";
}

TEST(QueryAgent, SaysThatItGoes) {
  TestQueryServer server;
  const Program program = Sums();
  server.SetQueries({program});
  auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  EXPECT_FALSE(server.Left());
  tracer.reset();
  EXPECT_TRUE(server.Left());
}

// A report is sent again after a failure: each result has a number of its own, whatever it is sent with.
TEST(QueryAgent, ResultsAreNumbered) {
  TestQueryServer server;
  const Program first = Sums(), second = Sums();
  server.SetQueries({first, second}, {3'600'000});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  Work(1, "a");
  server.SetQueries({});
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(second, 3'600'000).hits == 1; }));
  std::vector<uint64_t> numbers;
  for (const auto& report : server.Reports()) {
    EXPECT_EQ(report.Get("run").text.size(), 16u);
    for (const auto& [unused, result] : report.Get("results").children)
      numbers.push_back(static_cast<uint64_t>(result.Get("seq").number));
  }
  EXPECT_EQ(numbers, (std::vector<uint64_t>{1, 2}));
}

TEST(QueryAgent, JoinsThroughTheBaggageOfTheRequest) {
  TestQueryServer server;
  const Program program = Joined();
  server.SetQueries({program});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.end"); }));
  Begin(99);
  End();  // without a request nothing joins
  size_t sent_bytes = 0;
  for (uint64_t request = 1; request <= 3; ++request) {
    const ContextScope scope({TraceId{1, request}, BlockId{request}, 0});
    Begin(static_cast<int64_t>(request));
    Begin(1000);
    // As bytes before base64, which is what a limit is about.
    sent_bytes = std::max(sent_bytes, serialize_baggage().size());
    RpcCall call(*tracer, "call");
    std::string headers[3];
    for (const auto& [name, value] : call.Send())
      headers[name == "traceparent" ? 0 : name == "tracestate" ? 1 : 2] = value;
    std::thread([&] {
      RpcHandler handler(*tracer, "handle",
                         *RequestContext::FromHeaders(headers[0], headers[1], headers[2]));
      End();
    }).join();
  }
  End();
  server.SetQueries({});
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(program, 1'000).hits >= 3 + 3 * 3; }));
  const auto total = server.TotalOf(program, 1'000);
  const std::vector<Tuple> rows = total.results.Rows();
  ASSERT_EQ(rows.size(), 3u);
  for (int64_t request = 1; request <= 3; ++request) {
    EXPECT_EQ(Integer(rows[static_cast<size_t>(request - 1)][0]), request);
    EXPECT_EQ(Integer(rows[static_cast<size_t>(request - 1)][1]), 1);
  }
  EXPECT_EQ(total.packed_max, 1u);
  EXPECT_EQ(total.bytes_max, sent_bytes) << "framing and all";
}

TEST(QueryAgent, PastItsLimitARequestIsMarkedAndCounted) {
  TestQueryServer server;
  const Program program = Joined(Keep::kAll);
  server.SetQueries({program}, {1'000, 3, 3000});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.end"); }));
  for (uint64_t request = 1; request <= 2; ++request) {
    const ContextScope scope({TraceId{2, request}, BlockId{request}, 0});
    for (int64_t i = 0; i < (request == 1 ? 3 : 5); ++i) Begin(i);
    End();
    EXPECT_EQ(client::CurrentBaggage()->Overflowed(program.query), request == 2);
  }
  server.SetQueries({});
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(program, 1'000).hits >= 10; }));
  const auto total = server.TotalOf(program, 1'000);
  EXPECT_EQ(total.overflowed, 1u);
  EXPECT_EQ(total.packed_max, 3u);
}

TEST(QueryAgent, SamplesWholeRequests) {
  TestQueryServer server;
  Program program = Sums();
  program.sample = 0.5;
  server.SetQueries({program});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  uint64_t kept = 0;
  for (uint64_t request = 1; request <= 200; ++request) {
    const RequestContext context(TraceId{0xABCDEF, request}, BlockId{1}, 0);
    const ContextScope scope(context);
    Work(1, "a");
    Work(1, "a");
    if (wf::advice::Sampled(context.TraceHex(), 0.5)) kept += 2;
  }
  EXPECT_GT(kept, 100u);
  EXPECT_LT(kept, 300u);
  server.SetQueries({});
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(program, 1'000).hits >= kept; }));
  EXPECT_EQ(server.TotalOf(program, 1'000).hits, kept);
}

// A request without an id: what its first hit decides holds wherever it goes.
TEST(QueryAgent, SamplesWholeRequestsThatHaveNoId) {
  wf::advice::Program program;
  program.query = 0x51;
  int kept = 0;
  for (int request = 0; request < 200; ++request) {
    client::BaggageLine here;
    const auto drawn =
        request % 3 == 0 ? client::RequestSample::kKept : client::RequestSample::kLeftOut;
    const auto other =
        request % 3 == 0 ? client::RequestSample::kLeftOut : client::RequestSample::kKept;
    ASSERT_EQ(SampleOf(here, program, drawn), drawn);
    ASSERT_EQ(SampleOf(here, program, other), drawn);
    client::BaggageLine there;
    const std::string bytes = here.Serialize();
    there.Receive(std::string_view(bytes));
    ASSERT_EQ(SampleOf(there, program, other), drawn);
    here.JoinBytes(there.Serialize());
    ASSERT_EQ(SampleOf(here, program, other), drawn);
    // It is no past of the emit plan.
    ASSERT_TRUE(CausalPast(here, program).empty());
    ASSERT_FALSE(here.SlotsOf(program.query, 0).others);
    kept += drawn == client::RequestSample::kKept ? 1 : 0;
  }
  EXPECT_EQ(kept, 67);
}

TEST(QueryAgent, FieldsOfEveryTypeAndTheDefaults) {
  TestQueryServer server;
  const std::vector<std::string> names = {"host",  "procName", "procId", "tracepoint",
                                          "small", "large",    "real",   "yes",
                                          "text",  "list",     "absent"};
  Emit emit;
  for (uint32_t i = 0; i < names.size(); ++i) {
    emit.grouping.columns.push_back(Column(i));
    emit.select.push_back(Column(i));
  }
  Program program = MakeProgram({{{"test.types"}, {Observe{names}, emit}}});
  program.query = ++next_query;
  server.SetQueries({program});
  setenv("WHEREFORE_HOST", "host-by-name", 1);
  const auto tracer = TracerOf(server);
  unsetenv("WHEREFORE_HOST");
  ASSERT_TRUE(Eventually([] { return Woven("test.types"); }));
  const std::string text = "text";
  WHEREFORE_TRACEPOINT("test.types", {"small", -1}, {"large", uint64_t{1} << 63}, {"real", 0.5},
                       {"yes", true}, {"text", text},
                       {"list", std::vector<std::string>({"a", "b"})});
  WHEREFORE_TRACEPOINT("test.types", {"small", uint8_t{7}}, {"list", std::vector<int32_t>({-5})},
                       {"text", static_cast<const char*>(nullptr)});
  server.SetQueries({});
  ASSERT_TRUE(Eventually([&] { return server.TotalOf(program, 1'000).hits >= 2; }));
  const std::vector<Tuple> rows = server.TotalOf(program, 1'000).results.Rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(rows[0][0]), "host-by-name");
  EXPECT_EQ(std::get<std::string>(rows[0][1]), "unit");
  EXPECT_EQ(Integer(rows[0][2]), getpid());
  EXPECT_EQ(std::get<std::string>(rows[0][3]), "test.types");
  EXPECT_EQ(Integer(rows[0][4]), -1);
  EXPECT_EQ(std::get<double>(rows[0][5]), 9223372036854775808.0);
  EXPECT_EQ(std::get<double>(rows[0][6]), 0.5);
  EXPECT_EQ(std::get<bool>(rows[0][7]), true);
  EXPECT_EQ(std::get<std::string>(rows[0][8]), "text");
  EXPECT_EQ(std::get<std::string>(rows[0][9]), "a");
  EXPECT_EQ(std::get<std::string>(rows[1][9]), "b");
  EXPECT_TRUE(rows[0][10].null());
  EXPECT_EQ(Integer(rows[2][4]), 7);
  EXPECT_EQ(Integer(rows[2][9]), -5);
}

TEST(QueryAgent, ProgramsThatAreNotSoundAreRefused) {
  TestQueryServer server;
  server.SetRaw(R"({"id":"0000000000000001","program":"AAAA","interval_ms":50},)"
                R"({"id":"nonsense","program":"","interval_ms":50},7,null,)"
                R"({"program":{},"id":[]})");
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([&] { return tracer->core()->queries()->stats().refused_programs >= 5; }));
  EXPECT_EQ(tracer->core()->queries()->stats().queries, 0u);
  const Program program = Sums();
  server.SetQueries({program});
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
}

TEST(QueryAgent, OffByEnvironment) {
  setenv("WHEREFORE_QUERIES", "off", 1);
  TestQueryServer server;
  server.SetQueries({Sums()});
  {
    const auto tracer = TracerOf(server);
    ASSERT_TRUE(tracer->AwaitPolicies(kPatience));
    EXPECT_FALSE(Woven("test.work"));
  }
  unsetenv("WHEREFORE_QUERIES");
  EXPECT_TRUE(server.Reports().empty());
}

TEST(QueryAgent, WhatThereIsAtTheEndIsReported) {
  TestQueryServer server;
  const Program program = Sums();
  server.SetQueries({program}, {3'600'000});
  auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  Work(1, "a");
  tracer.reset();
  EXPECT_FALSE(Woven("test.work"));
  EXPECT_EQ(server.TotalOf(program, 3'600'000).hits, 1u);
}

TEST(QueryAgent, AChildOfForkRunsNoAdvice) {
  TestQueryServer server;
  server.SetQueries({Sums()});
  const auto tracer = TracerOf(server);
  ASSERT_TRUE(Eventually([] { return Woven("test.work"); }));
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1000; ++i) Work(1, "child");
    _exit(client::CollectIntervals(INT64_MAX, {}).empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Threads come and go and queries too, while all are being hit.
TEST(QueryAgent, WeavingBesideRunningAdvice) {
  TestQueryServer server;
  const auto tracer = TracerOf(server);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      while (!stop) {
        std::thread([&] {
          const ContextScope scope({TraceId{3, 1}, BlockId{1}, 0});
          for (int i = 0; i < 200; ++i) {
            Work(i, "a");
            Begin(i);
            End();
          }
        }).join();
      }
    });
  }
  for (int round = 0; round < 30; ++round) {
    const bool odd = round % 2 != 0;
    server.SetQueries({Sums(), Joined(odd ? Keep::kAll : Keep::kMostRecent)}, {10});
    ASSERT_TRUE(Eventually([] { return Woven("test.work") && Woven("test.end"); }));
    if (odd) {
      server.SetQueries({});
      ASSERT_TRUE(Eventually([] { return !Woven("test.work"); }));
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace wherefore
