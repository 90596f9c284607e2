// Queries on the emit plan in a process: what is emitted, what travels, and how a request keeps the plan it began on.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "advice/advice_test_support.h"
#include "advice/emitted_events.h"
#include "client/queries/causal_past.h"
#include "client/queries/test_query_server.h"
#include "wherefore/baggage.h"
#include "wherefore/tracepoint.h"
#include "wherefore/tracer.h"

namespace wherefore {
namespace {

using client::BaggageLine;
using client::LiveQuery;
using client::QueryPlan;
using client::TestQueryServer;
using wf::advice::Column;
using wf::advice::Constant;
using wf::advice::Emit;
using wf::advice::EmittedEvent;
using wf::advice::Keep;
using wf::advice::kLostPast;
using wf::advice::MakeProgram;
using wf::advice::Observe;
using wf::advice::Over;
using wf::advice::Pack;
using wf::advice::Program;
using wf::advice::Unpack;

using std::chrono::milliseconds;

void Item(int64_t n) { WHEREFORE_TRACEPOINT("emit.item", {"n", n}); }
void Sum() { WHEREFORE_TRACEPOINT("emit.sum"); }

// From s In emit.sum Join i In emit.item On i -> s Select i.n, COUNT
Program Items(uint64_t query) {
  Pack pack{0, Keep::kAll, 0, {{Column(0)}, {}}};
  Emit emit{{{Column(0)}, {Over(wf::advice::AggregateKind::kCount, Constant(true))}},
            true,
            {Column(0), Column(1)}};
  Program program = MakeProgram({{{"emit.item"}, {Observe{{"n"}}, pack}},
                                 {{"emit.sum"}, {Observe{{}}, Unpack{0, false, {}}, emit}}});
  program.query = query;
  return program;
}

LiveQuery Query(QueryPlan plan, uint64_t id = 0x77) {
  LiveQuery query;
  query.program = Items(id);
  query.plan = plan;
  return query;
}

void PackOne(BaggageLine& line, const Program& program, int64_t n) {
  wf::advice::Rows rows(1, 0);
  rows.AddColumn(wf::advice::Value(n));
  rows.EndRow(1);
  EXPECT_EQ(line.Pack(program.query, 0, program.slots[0], {}, 0, "", rows),
            client::PackResult::kPacked);
}

using Ids = std::vector<uint64_t>;

TEST(CausalPast, OneIdTravelsHoweverManyEventsThereAre) {
  const Program program = Items(0x77);
  BaggageLine line;
  EXPECT_EQ(CausalPast(line, program), Ids{});
  size_t size = 0;
  for (uint64_t id = 1; id <= 1000; ++id) {
    SetCausalPast(line, program, id << 48 | 1);
    BaggageLine received(client::BaggageSnapshot::FromBytes(line.Serialize()));
    EXPECT_EQ(CausalPast(received, program), Ids{id << 48 | 1});
    EXPECT_EQ(line.TravellingBytesOf(program.query), line.Serialize().size());
    size = std::max(size, line.Serialize().size());
    // Now and then another process goes on with it.
    if (id % 7 == 0) line = std::move(received);
  }
  EXPECT_LE(size, 40u);
}

TEST(CausalPast, BranchesThatRejoinHoldAnIdEach) {
  const Program program = Items(0x77);
  BaggageLine line;
  SetCausalPast(line, program, 1);
  BaggageLine left(line.Freeze()), right(line.Freeze()), idle(line.Freeze());
  SetCausalPast(left, program, 2);
  SetCausalPast(right, program, 3);
  EXPECT_EQ(CausalPast(left, program), Ids{2});
  line.Join(left.Finish());
  line.Join(right.Finish());
  line.Join(idle.Finish());
  EXPECT_EQ(CausalPast(line, program), (Ids{1, 2, 3}));
  SetCausalPast(line, program, 4);
  EXPECT_EQ(CausalPast(line, program), Ids{4});
}

TEST(CausalPast, ARequestKeepsThePlanItBeganOn) {
  LiveQuery rewritten = Query(QueryPlan::kRewritten), emit = Query(QueryPlan::kEmit);
  EXPECT_EQ(PlanOfRequest(nullptr, rewritten), QueryPlan::kRewritten);
  EXPECT_EQ(PlanOfRequest(nullptr, emit), QueryPlan::kEmit);
  BaggageLine empty, packed, emitted;
  EXPECT_EQ(PlanOfRequest(&empty, emit), QueryPlan::kEmit);
  PackOne(packed, emit.program, 1);
  EXPECT_EQ(PlanOfRequest(&packed, emit), QueryPlan::kRewritten);
  SetCausalPast(emitted, emit.program, 9);
  EXPECT_EQ(PlanOfRequest(&emitted, rewritten), QueryPlan::kEmit);
  // Of another query.
  EXPECT_EQ(PlanOfRequest(&packed, Query(QueryPlan::kEmit, 0x78)), QueryPlan::kEmit);
  // Branches of both kinds.
  emitted.Join(packed.Finish());
  EXPECT_EQ(PlanOfRequest(&emitted, rewritten), QueryPlan::kEmit);
  EXPECT_EQ(CausalPast(emitted, emit.program), (Ids{kLostPast, 9}));
}

TEST(CausalPast, ARequestThatOverflowedStaysWhereItIsCounted) {
  LiveQuery emit = Query(QueryPlan::kEmit);
  BaggageLine line;
  wf::advice::Rows rows(1, 0);
  rows.AddColumn(wf::advice::Value(int64_t{1}));
  rows.EndRow(1);
  EXPECT_EQ(line.Pack(emit.program.query, 0, emit.program.slots[0], {0, 0}, 0, "", rows),
            client::PackResult::kOverflowed);
  EXPECT_EQ(PlanOfRequest(&line, emit), QueryPlan::kRewritten);
}

// --- With a server

bool Eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < until) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return false;
}

std::string Told(const Program& program, const char* plan, int max_tuples) {
  return "{\"id\":\"" + client::QueryIdText(program.query) + "\",\"program\":\"" +
         client::ToBase64(wf::advice::Encode(program)) + "\",\"plan\":\"" + plan +
         "\",\"interval_ms\":1000,\"max_tuples\":" + std::to_string(max_tuples) +
         ",\"max_bytes\":3000}";
}

std::vector<EmittedEvent> EventsOf(const TestQueryServer& server, const Program& program) {
  std::vector<EmittedEvent> events;
  for (const auto& report : server.Reports()) {
    for (const auto& [unused, result] : report.Get("results").children) {
      std::string bytes;
      if (result.Get("query").text != client::QueryIdText(program.query)) continue;
      EXPECT_TRUE(client::FromBase64(result.Get("events").text, bytes));
      EXPECT_TRUE(DecodeEvents(bytes, EmittedPlaces(program), events));
    }
  }
  return events;
}

class EmitPlan : public testing::Test {
 protected:
  EmitPlan() {
    TracerOptions options;
    options.endpoint = server_.url();
    options.service_name = "unit";
    options.shutdown_deadline = milliseconds(20'000);
    tracer_ = std::make_unique<Tracer>(options);
  }
  bool Tell(const Program& program, const char* plan, int max_tuples = 256) {
    server_.SetRaw(Told(program, plan, max_tuples));
    return Eventually([&] { return server_.TakenOver(); });
  }
  TestQueryServer server_;
  std::unique_ptr<Tracer> tracer_;
};

TEST_F(EmitPlan, EventsAreEmittedBehindThoseThatHappenedBefore) {
  const Program program = Items(0x1234'5678'9abc'0001);
  ASSERT_TRUE(Tell(program, "emit", 2));
  {
    Block block(*tracer_, "request");
    for (int64_t n = 0; n < 300; ++n) Item(n);
    Branch branch;
    std::thread other(branch.Bind([] { Item(300); }));
    other.join();
    Item(301);
    branch.Join();
    Sum();
  }
  tracer_.reset();
  std::map<uint64_t, EmittedEvent> by_id;
  for (const EmittedEvent& event : EventsOf(server_, program)) by_id[event.id] = event;
  const auto total = server_.TotalOf(program, 1'000);
  EXPECT_EQ(total.overflowed, 0u);
  EXPECT_EQ(total.lost, 0u);
  EXPECT_EQ(total.packed_max, 1u);
  EXPECT_LE(total.bytes_max, 40u);
  EXPECT_TRUE(total.results.empty());
  ASSERT_EQ(by_id.size(), 304u) << "303 hits and a link";
  const EmittedEvent* sum = nullptr;
  for (const auto& [id, event] : by_id)
    if (event.place == 2) sum = &event;
  ASSERT_NE(sum, nullptr);
  ASSERT_EQ(sum->after.size(), 1u);
  EXPECT_EQ(by_id.at(sum->after[0]).place, 0u) << "the link";
  // All that happened before it.
  std::set<uint64_t> before;
  std::vector<uint64_t> open = sum->after;
  while (!open.empty()) {
    const uint64_t id = open.back();
    open.pop_back();
    if (!before.insert(id).second) continue;
    ASSERT_EQ(by_id.count(id), 1u);
    for (const uint64_t more : by_id[id].after) open.push_back(more);
  }
  EXPECT_EQ(before.size(), 303u);
}

TEST_F(EmitPlan, ManyEventsComeInPieces) {
  const Program program = Items(0x1234'5678'9abc'0004);
  ASSERT_TRUE(Tell(program, "emit"));
  constexpr int64_t kItems = 50'000;
  {
    Block block(*tracer_, "request");
    for (int64_t n = 0; n < kItems; ++n) Item(n);
    Sum();
  }
  tracer_.reset();
  EXPECT_EQ(EventsOf(server_, program).size(), kItems + 1u);
  const auto total = server_.TotalOf(program, 1'000);
  EXPECT_TRUE(total.sound);
  EXPECT_EQ(total.lost, 0u);
  EXPECT_EQ(total.tuples, kItems + 1u);
  for (const auto& report : server_.Reports()) {
    for (const auto& [unused, result] : report.Get("results").children)
      EXPECT_LT(result.Get("events").text.size(), 2 * client::EmittedPieces::kPiece);
  }
}

TEST_F(EmitPlan, ARequestThatBeganBeforeTheChangeEndsOnItsPlan) {
  const Program program = Items(0x1234'5678'9abc'0002);
  ASSERT_TRUE(Tell(program, "rewritten", 256));
  {
    Block block(*tracer_, "old");
    Item(1);
    ASSERT_TRUE(Tell(program, "emit", 256));
    Sum();
  }
  {
    Block block(*tracer_, "new");
    Item(2);
    ASSERT_TRUE(Tell(program, "rewritten", 256));
    Sum();
  }
  tracer_.reset();
  EXPECT_EQ(EventsOf(server_, program).size(), 2u);
  const auto rows = server_.TotalOf(program, 1'000).results.Rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(std::get<int64_t>(rows[0][0]), 1);
  EXPECT_EQ(std::get<int64_t>(rows[0][1]), 1);
}

// The server changes its mind while requests branch and rejoin: each ends on the plan it began on and counts once.
TEST_F(EmitPlan, PlansChangeBesideRunningRequests) {
  const Program program = Items(0x1234'5678'9abc'0003);
  ASSERT_TRUE(Tell(program, "emit"));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> requests{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      while (!stop) {
        Block block(*tracer_, "request");
        Item(1);
        Branch branch;
        std::thread other(branch.Bind([] { Item(2); }));
        Item(3);
        other.join();
        branch.Join();
        Sum();
        ++requests;
      }
    });
  }
  for (int round = 0; round < 20; ++round)
    ASSERT_TRUE(Tell(program, round % 2 == 0 ? "rewritten" : "emit"));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  tracer_.reset();
  uint64_t sums = 0, items = 0;
  for (const EmittedEvent& event : EventsOf(server_, program)) {
    sums += event.place == 2;
    items += event.place == 1;
    EXPECT_EQ(std::count(event.after.begin(), event.after.end(), kLostPast), 0);
  }
  EXPECT_EQ(items, 3 * sums);
  const auto total = server_.TotalOf(program, 1'000);
  EXPECT_EQ(total.lost + total.overflowed, 0u);
  std::map<int64_t, uint64_t> on_baggage{{1, 0}, {2, 0}, {3, 0}};
  for (const auto& row : total.results.Rows())
    on_baggage[std::get<int64_t>(row[0])] = static_cast<uint64_t>(std::get<int64_t>(row[1]));
  ASSERT_EQ(on_baggage.size(), 3u);
  for (const auto& [n, count] : on_baggage) EXPECT_EQ(count + sums, requests) << n;
}

}  // namespace
}  // namespace wherefore
