#include "model/clock.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <numeric>

#include "model/clock_alignment.h"
#include "model/clock_exchange.h"
#include "model/trace_builder.h"

namespace wf {
namespace {

std::vector<ClockOffset> OffsetsOf(const std::vector<ClockOffset>& all, const std::string& host) {
  std::vector<ClockOffset> out;
  for (const ClockOffset& o : all) {
    if (o.host == host) out.push_back(o);
  }
  return out;
}

// Calls between hosts whose clocks are off: what each host would have recorded.
struct Simulation {
  EventBatch batch;
  std::vector<uint32_t> rows;
  uint64_t next_trace = 1;

  explicit Simulation(int hosts) {
    batch.scopes.push_back({});
    for (int h = 0; h < hosts; ++h) {
      batch.processes.push_back(
          {batch.strings.Intern("s"), batch.strings.Intern("h" + std::to_string(h)), 0, 0});
    }
  }
  void Span(uint32_t host, uint64_t id, uint64_t parent, SpanKind kind, Nanos start, Nanos end) {
    rows.push_back(static_cast<uint32_t>(batch.AddRow()));
    batch.trace_lo.back() = next_trace;
    batch.id1.back() = id;
    batch.id2.back() = parent;
    batch.parent_ref.back() = parent == 0 ? ParentRef::kNone : ParentRef::kChildOf;
    batch.kind.back() = kind;
    batch.process.back() = host;
    batch.start_ns.back() = start;
    batch.end_ns.back() = end;
    batch.marks.back() = kHasStart | kHasEnd;
  }
  // Clocks read `skew` more than the truth.
  void Call(uint32_t from, uint32_t to, Nanos at, Nanos there, Nanos work, Nanos back,
            Nanos from_skew, Nanos to_skew) {
    Span(from, 1, 0, SpanKind::kClient, at + from_skew, at + there + work + back + from_skew);
    Span(to, 2, 1, SpanKind::kServer, at + there + to_skew, at + there + work + to_skew);
    ++next_trace;
  }
  std::vector<ClockOffset> Solve() const {
    ExchangeTable table;
    CollectExchanges(batch, rows, table);
    return SolveClocks(table.Exchanges());
  }
  // Traces one by one, by the given clocks.
  template <typename Visit>
  void ForEachTrace(const std::vector<ClockOffset>& offsets, Visit visit) const {
    const HostClocks clocks(offsets);
    BuildOptions options;
    options.clocks = &clocks;
    for (uint64_t t = 1; t < next_trace; ++t) {
      std::vector<uint32_t> mine;
      for (const uint32_t row : rows) {
        if (batch.trace_lo[row] == t) mine.push_back(row);
      }
      visit(BuildTrace(batch, mine, options));
    }
  }
};

TEST(Clock, NoSkewNothingMoves) {
  EXPECT_TRUE(rc::check("zero skew is left untouched", [] {
    const int hosts = *rc::gen::inRange(2, 6);
    Simulation simulation(hosts);
    for (int i = 0, n = *rc::gen::inRange(1, 30); i < n; ++i) {
      const auto from = *rc::gen::inRange<uint32_t>(0, hosts),
                 to = *rc::gen::inRange<uint32_t>(0, hosts);
      if (from == to) continue;
      simulation.Call(from, to, *rc::gen::inRange<Nanos>(0, 3 * kClockWindow),
                      *rc::gen::inRange<Nanos>(0, kMilli), *rc::gen::inRange<Nanos>(0, kSecond),
                      *rc::gen::inRange<Nanos>(0, kMilli), 0, 0);
    }
    for (const ClockOffset& o : simulation.Solve()) RC_ASSERT(o.offset_ns == 0);
  }));
}

TEST(Clock, SkewIsRecoveredWithinTheErrorAndCausalityHolds) {
  EXPECT_TRUE(
      rc::check("offsets are within their error; no message arrives before it was sent", [] {
        const int hosts = *rc::gen::inRange(2, 6);
        std::vector<Nanos> skew;
        for (int h = 0; h < hosts; ++h) skew.push_back(*rc::gen::inRange<Nanos>(-kSecond, kSecond));
        Simulation simulation(hosts);
        for (int h = 1; h < hosts; ++h) {
          simulation.Call(
              0, static_cast<uint32_t>(h), kHour + kMinute, *rc::gen::inRange<Nanos>(0, kSecond),
              kMilli, *rc::gen::inRange<Nanos>(0, kSecond), skew[0], skew[static_cast<size_t>(h)]);
        }
        for (int i = 0, n = *rc::gen::inRange(1, 40); i < n; ++i) {
          const auto from = *rc::gen::inRange<uint32_t>(0, hosts),
                     to = *rc::gen::inRange<uint32_t>(0, hosts);
          if (from == to) continue;
          simulation.Call(from, to, kHour + kMinute + *rc::gen::inRange<Nanos>(0, kClockWindow / 2),
                          *rc::gen::inRange<Nanos>(0, kMilli), *rc::gen::inRange<Nanos>(0, kSecond),
                          *rc::gen::inRange<Nanos>(0, kMilli), skew[from], skew[to]);
        }
        const auto offsets = simulation.Solve();
        // One component, so one reference, whose offset is 0 by definition.
        const auto reference =
            std::find_if(offsets.begin(), offsets.end(),
                         [](const ClockOffset& o) { return o.error_ns == 0 && o.offset_ns == 0; });
        RC_ASSERT(reference != offsets.end());
        const auto skew_of = [&](const ClockOffset& o) {
          return skew[static_cast<size_t>(std::stoi(o.host.substr(1)))];
        };
        for (const ClockOffset& o : offsets) {
          const Nanos truth = skew_of(o) - skew_of(*reference);
          RC_ASSERT(std::llabs(o.offset_ns - truth) <= o.error_ns);
        }
        simulation.ForEachTrace(offsets, [](const Trace& trace) {
          RC_ASSERT(trace.usable());
          for (const Edge& edge : trace.edges) {
            RC_ASSERT(trace.points[edge.from].time_ns <= trace.points[edge.to].time_ns);
          }
        });
      }));
}

TEST(Clock, CallsAcrossWindowsKeepCausalityWithinTheError) {
  EXPECT_TRUE(
      rc::check("constant skew, calls anywhere in several windows: every trace is usable", [] {
        const int hosts = *rc::gen::inRange(2, 5);
        std::vector<Nanos> skew;
        for (int h = 0; h < hosts; ++h) skew.push_back(*rc::gen::inRange<Nanos>(-kMinute, kMinute));
        Simulation simulation(hosts);
        for (int i = 0, n = *rc::gen::inRange(1, 40); i < n; ++i) {
          const auto from = *rc::gen::inRange<uint32_t>(0, hosts),
                     to = *rc::gen::inRange<uint32_t>(0, hosts);
          if (from == to) continue;
          simulation.Call(from, to, *rc::gen::inRange<Nanos>(0, 4 * kClockWindow),
                          *rc::gen::inRange<Nanos>(0, kMilli), *rc::gen::inRange<Nanos>(0, kSecond),
                          *rc::gen::inRange<Nanos>(0, kMilli), skew[from], skew[to]);
        }
        simulation.ForEachTrace(simulation.Solve(),
                                [](const Trace& trace) { RC_ASSERT(trace.usable()); });
      }));
}

TEST(Clock, AHostThatJoinsLaterDoesNotMoveThoseWhoseClocksAreKnown) {
  // c talks most, but is not heard of in the first window: a and b keep the offsets they have there.
  const auto offsets = SolveClocks({{"a", "b", 0, 5000, 1},
                                    {"b", "a", 0, -5000, 1},
                                    {"a", "c", kClockWindow, 900, 50},
                                    {"c", "a", kClockWindow, -900, 50},
                                    {"b", "c", kClockWindow, -4100, 50},
                                    {"c", "b", kClockWindow, 4100, 50}});
  for (const ClockOffset& o : OffsetsOf(offsets, "a")) EXPECT_EQ(o.offset_ns, 0);
  for (const ClockOffset& o : OffsetsOf(offsets, "b")) EXPECT_EQ(o.offset_ns, 5000);
  EXPECT_EQ(OffsetsOf(offsets, "b").size(), 2u);
  ASSERT_EQ(OffsetsOf(offsets, "c").size(), 1u);
  EXPECT_EQ(OffsetsOf(offsets, "c")[0].offset_ns, 900);
}

TEST(Clock, ACallAtTheBorderOfAWindowIsAsGoodAsAnyOther) {
  for (const Nanos skew : {-30 * kSecond, 30 * kSecond, -2 * kClockWindow}) {
    // Recorded in two windows: by the clocks' difference, or because the call lasts across the border.
    for (const Nanos at : {kHour - kSecond, kHour + 10 * kSecond, kHour + 2 * kMinute}) {
      Simulation simulation(2);
      simulation.Call(0, 1, at, kMilli, 5 * kSecond, kMilli, 0, skew);
      const auto offsets = simulation.Solve();
      ASSERT_EQ(OffsetsOf(offsets, "h1").size(), 1u);
      EXPECT_EQ(OffsetsOf(offsets, "h1")[0].offset_ns - OffsetsOf(offsets, "h0")[0].offset_ns,
                skew);
      simulation.ForEachTrace(offsets, [](const Trace& trace) { EXPECT_TRUE(trace.usable()); });
    }
  }
}

TEST(Clock, AWindowThatProvesLittleGoesWithTheOthers) {
  // The first window allows that nothing is off; the second shows that b is 100 behind.
  const auto offsets = SolveClocks(
      {{"b", "a", 0, 110, 1}, {"a", "b", kClockWindow, -90, 1}, {"b", "a", kClockWindow, 110, 1}});
  ASSERT_EQ(OffsetsOf(offsets, "b").size(), 2u);
  EXPECT_EQ(OffsetsOf(offsets, "b")[0].offset_ns, -100);
  EXPECT_EQ(OffsetsOf(offsets, "b")[1].offset_ns, -100);
  EXPECT_EQ(OffsetsOf(offsets, "b")[0].error_ns, 10);
}

TEST(Clock, MillisecondsOfSkewWithSymmetricDelaysAreFoundExactly) {
  Simulation simulation(2);
  for (int i = 0; i < 100; ++i) {
    simulation.Call(0, 1, kHour + kMinute + i * kSecond, 100 * kMicro, kMilli, 100 * kMicro, 0,
                    -7 * kMilli);
  }
  const auto offsets = OffsetsOf(simulation.Solve(), "h1");
  ASSERT_EQ(offsets.size(), 1u);
  EXPECT_EQ(offsets[0].offset_ns, -7 * kMilli);
  EXPECT_EQ(offsets[0].error_ns, 100 * kMicro);
}

TEST(Clock, ATimedOutCallIsNoEvidenceOfSkew) {
  Simulation simulation(2);
  simulation.Call(0, 1, kHour, kMilli, 10 * kMilli, kMilli, 0, 0);
  // The client gave up after 100 ms; the server worked on for 5 s.
  simulation.Span(0, 1, 0, SpanKind::kClient, kHour, kHour + 100 * kMilli);
  simulation.Span(1, 2, 1, SpanKind::kServer, kHour + kMilli, kHour + 5 * kSecond);
  for (const ClockOffset& o : simulation.Solve()) EXPECT_EQ(o.offset_ns, 0) << o.host;
}

TEST(Clock, AFailedCallIsNoEvidenceOfSkew) {
  Simulation simulation(2);
  simulation.Call(0, 1, kHour, kMilli, 10 * kMilli, kMilli, 0, 0);
  // The request lay in the server's queue until the client had nearly given up.
  simulation.Span(0, 1, 0, SpanKind::kClient, kHour, kHour + 100 * kMilli);
  simulation.batch.status.back() = SpanStatus::kError;
  simulation.Span(1, 2, 1, SpanKind::kServer, kHour + 95 * kMilli, kHour + 145 * kMilli);
  for (const ClockOffset& o : simulation.Solve()) EXPECT_EQ(o.offset_ns, 0) << o.host;
}

TEST(Clock, AChildOfUnknownKindThatEndsLaterIsNoEvidenceOfSkew) {
  Simulation simulation(2);
  simulation.Span(0, 1, 0, SpanKind::kUnspecified, kHour, kHour + 100 * kMilli);
  simulation.Span(1, 2, 1, SpanKind::kUnspecified, kHour + 90 * kMilli, kHour + 130 * kMilli);
  ++simulation.next_trace;
  simulation.Span(0, 1, 0, SpanKind::kUnspecified, kHour, kHour + 100 * kMilli);
  simulation.Span(1, 2, 1, SpanKind::kUnspecified, kHour + kMilli, kHour + 99 * kMilli);
  for (const ClockOffset& o : simulation.Solve()) EXPECT_EQ(o.offset_ns, 0) << o.host;
}

TEST(Clock, OneWayMessagesMoveAHostAsLittleAsTheyAllow) {
  const auto offsets = SolveClocks({{"a", "b", 0, -4000, 10}, {"a", "c", 0, 5000, 1}});
  ASSERT_EQ(offsets.size(), 3u);
  EXPECT_EQ(offsets[0].offset_ns, 0);
  EXPECT_EQ(offsets[1].host, "b");
  EXPECT_EQ(offsets[1].offset_ns, -4000);
  EXPECT_EQ(offsets[1].error_ns, 4000);
  EXPECT_EQ(offsets[2].offset_ns, 0);
}

TEST(Clock, ContradictionsAreSolvedWithTheLeastViolationAndSaidSo) {
  // b must be at most -100 and at least +300 against a: no offset is right; 100 is wrong by 200 both ways.
  const auto offsets = SolveClocks({{"a", "b", 0, -100, 5}, {"b", "a", 0, -300, 5}});
  ASSERT_EQ(offsets.size(), 2u);
  EXPECT_EQ(offsets[0].offset_ns, 0);
  EXPECT_EQ(offsets[1].offset_ns, 100);
  EXPECT_EQ(offsets[1].error_ns, 200);
}

TEST(Clock, UnconnectedHostsHaveTheirOwnReference) {
  const auto offsets = SolveClocks(
      {{"a", "b", 0, 1, 9}, {"b", "a", 0, 1, 9}, {"c", "d", 0, -50, 1}, {"d", "c", 0, 70, 1}});
  EXPECT_EQ(OffsetsOf(offsets, "a")[0].offset_ns, 0);
  EXPECT_EQ(OffsetsOf(offsets, "c")[0].offset_ns, 0);
  EXPECT_EQ(OffsetsOf(offsets, "d")[0].offset_ns, -60);
}

TEST(Clock, InputOrderDoesNotMatter) {
  std::vector<ClockExchange> exchanges = {{"a", "b", 0, -90, 3},
                                          {"b", "a", 0, 110, 3},
                                          {"b", "c", 0, 40, 3},
                                          {"c", "b", 0, -10, 3},
                                          {"a", "b", kClockWindow, -95, 2},
                                          {"b", "a", kClockWindow, 100, 2},
                                          {"a", "b", 0, -95, 1}};
  const auto first = SolveClocks(exchanges);
  std::reverse(exchanges.begin(), exchanges.end());
  const auto second = SolveClocks(exchanges);
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].host, second[i].host);
    EXPECT_EQ(first[i].offset_ns, second[i].offset_ns);
    EXPECT_EQ(first[i].error_ns, second[i].error_ns);
  }
}

TEST(Clock, AHostWithoutNewEvidenceKeepsItsOffset) {
  // The first window shows 100; the second only that it is between -1000 and 1000.
  const auto offsets = SolveClocks({{"a", "b", 0, 110, 3},
                                    {"b", "a", 0, -90, 3},
                                    {"a", "b", kClockWindow, 1000, 1},
                                    {"b", "a", kClockWindow, 1000, 1}});
  const auto b = OffsetsOf(offsets, "b");
  ASSERT_EQ(b.size(), 2u);
  EXPECT_EQ(b[0].offset_ns, 100);
  EXPECT_EQ(b[1].offset_ns, 100);
  EXPECT_EQ(b[1].error_ns, 1100);
}

TEST(Clock, WindowsSolvedLaterContinueFromWhatIsKnown) {
  const std::vector<ClockExchange> first = {{"a", "b", 0, 110, 3}, {"b", "a", 0, -90, 3}};
  // In the second window only b and c are heard of: b is the reference, and keeps what is known of it.
  const std::vector<ClockExchange> second = {{"b", "c", kClockWindow, 10, 1},
                                             {"c", "b", kClockWindow, 10, 1}};
  const auto known = SolveClocks(first);
  const auto offsets = SolveClocks(second, known);
  EXPECT_EQ(OffsetsOf(offsets, "b")[0].offset_ns, 100);
  EXPECT_EQ(OffsetsOf(offsets, "c")[0].offset_ns, 100);
  std::vector<ClockExchange> both = first;
  both.insert(both.end(), second.begin(), second.end());
  const auto at_once = SolveClocks(both);
  EXPECT_EQ(OffsetsOf(at_once, "c")[0].offset_ns, OffsetsOf(at_once, "b")[1].offset_ns);
}

TEST(ClockAlignment, AGapIsHeldUntilTheNextWindowIsNear) {
  const HostClocks clocks({{"h", 0, 100, 1}, {"h", 10 * kClockWindow, 500, 2}});
  const HostClock* clock = clocks.Find("h");
  const auto offset = [&](Nanos t) { return t - clock->Align(t); };
  EXPECT_EQ(offset(0), 100);
  EXPECT_EQ(offset(9 * kClockWindow + kClockWindow / 2), 100);
  EXPECT_EQ(offset(10 * kClockWindow), 300);
  EXPECT_EQ(offset(11 * kClockWindow), 500);
  EXPECT_EQ(clock->Error(5 * kClockWindow), 1);
  EXPECT_EQ(clock->Error(10 * kClockWindow), 2 + 200 + 1);
}

TEST(ClockAlignment, OrderOnOneHostIsAlwaysTheRecordedOrder) {
  EXPECT_TRUE(rc::check("Align never reverses two times, whatever the offsets", [] {
    std::vector<ClockOffset> offsets;
    for (int i = 0, n = *rc::gen::inRange(1, 8); i < n; ++i) {
      // Some jumps are larger than a whole window.
      offsets.push_back({"h", *rc::gen::inRange<Nanos>(0, 12) * kClockWindow,
                         *rc::gen::inRange<Nanos>(-2 * kClockWindow, 2 * kClockWindow), 5});
    }
    const HostClocks clocks(offsets);
    const HostClock* clock = clocks.Find("h");
    RC_ASSERT(clock != nullptr);
    std::vector<Nanos> times;
    for (int i = 0; i < 40; ++i)
      times.push_back(*rc::gen::inRange<Nanos>(-kClockWindow, 14 * kClockWindow));
    for (const ClockOffset& o : offsets) {  // and just around every window's middle
      for (Nanos d = -2; d <= 2; ++d) times.push_back(o.from_ns + kClockWindow / 2 + d);
    }
    std::sort(times.begin(), times.end());
    for (size_t i = 1; i < times.size(); ++i)
      RC_ASSERT(clock->Align(times[i - 1]) <= clock->Align(times[i]));
  }));
}

TEST(ClockAlignment, DriftOverManyWindowsKeepsCausalityWithinTheError) {
  // A clock that gains 50 ppm: 30 ms a window.
  Simulation simulation(2);
  const auto skew = [](Nanos t) { return t / 20000; };
  for (Nanos t = 0; t < 6 * kClockWindow; t += 7 * kSecond) {
    simulation.Span(0, 1, 0, SpanKind::kClient, t, t + 3 * kMilli);
    simulation.Span(1, 2, 1, SpanKind::kServer, t + kMilli + skew(t), t + 2 * kMilli + skew(t));
    ++simulation.next_trace;
  }
  const auto offsets = simulation.Solve();
  simulation.ForEachTrace(offsets, [](const Trace& trace) { EXPECT_TRUE(trace.usable()); });
}

TEST(ClockAlignment, HostsWithoutANameAreNeverMoved) {
  const HostClocks clocks({{"h", 0, 1000, 1}});
  EXPECT_EQ(clocks.Find(""), nullptr);
  EXPECT_EQ(clocks.Find("other"), nullptr);
  ASSERT_NE(clocks.Find("h"), nullptr);
  EXPECT_EQ(clocks.Find("h")->Align(5000), 4000);
}

TEST(ClockExchange, EventsOfCallsEdgesQueuesAndTasksAreExchanges) {
  EventBatch batch;
  batch.scopes.push_back({});
  batch.processes.push_back({batch.strings.Intern("x"), batch.strings.Intern("a"), 0, 0});
  batch.processes.push_back({batch.strings.Intern("y"), batch.strings.Intern("b"), 0, 0});
  const auto add = [&](EventType type, uint32_t process, uint64_t id, Nanos time) {
    batch.AddRow();
    batch.trace_lo.back() = 1;
    batch.type.back() = type;
    batch.id1.back() = id;
    batch.process.back() = process;
    batch.start_ns.back() = time;
  };
  add(EventType::kRpcClientSend, 0, 1, 100);
  add(EventType::kRpcServerReceive, 1, 1, 130);
  add(EventType::kRpcServerSend, 1, 1, 150);
  add(EventType::kRpcClientQueue, 0, 1, 155);
  add(EventType::kRpcClientReceive, 0, 1, 170);
  add(EventType::kEdgeBegin, 0, 2, 200);
  add(EventType::kEdgeEnd, 1, 2, 212);
  std::vector<uint32_t> rows(batch.size());
  std::iota(rows.begin(), rows.end(), 0);
  ExchangeTable table;
  CollectExchanges(batch, rows, table);
  const auto exchanges = table.Exchanges();
  ASSERT_EQ(exchanges.size(), 2u);
  EXPECT_EQ(exchanges[0].from_host, "a");
  EXPECT_EQ(exchanges[0].least_ns, 12);
  EXPECT_EQ(exchanges[0].count, 2);
  EXPECT_EQ(exchanges[1].least_ns, 5);
  EXPECT_EQ(exchanges[1].count, 2);
}

// A browser tells events, the server that answers it sends spans.
TEST(ClockExchange, SpansCausedByBlocksAndCallsOfEventsAreExchanges) {
  EventBatch batch;
  batch.scopes.push_back({});
  batch.processes.push_back({batch.strings.Intern("page"), batch.strings.Intern("browser"), 0, 0});
  batch.processes.push_back({batch.strings.Intern("site"), batch.strings.Intern("server"), 0, 0});
  const auto add = [&](EventType type, uint32_t process, uint64_t id, uint64_t parent, Nanos start,
                       Nanos end) {
    batch.AddRow();
    batch.trace_lo.back() = 1;
    batch.type.back() = type;
    batch.id1.back() = id;
    batch.id2.back() = parent;
    batch.process.back() = process;
    batch.start_ns.back() = start;
    batch.end_ns.back() = end;
    batch.marks.back() = type == EventType::kSpan ? kHasStart | kHasEnd : kHasStart;
    if (type == EventType::kSpan) batch.kind.back() = SpanKind::kServer;
    if (type == EventType::kBlockBegin) batch.kind.back() = SpanKind::kClient;
  };
  // The server's clock is 1000 behind.
  add(EventType::kRpcClientSend, 0, 7, 1, 2000, 0);  // the navigation names the span that served it
  add(EventType::kRpcClientReceive, 0, 7, 1, 2060, 0);
  add(EventType::kSpan, 1, 7, 0, 1030, 1050);
  add(EventType::kBlockBegin, 0, 8, 2, 2100, 0);  // a request whose block is the span's parent
  add(EventType::kBlockEnd, 0, 8, 2, 2150, 0);
  add(EventType::kSpan, 1, 9, 8, 1120, 1145);
  std::vector<uint32_t> rows(batch.size());
  std::iota(rows.begin(), rows.end(), 0);
  ExchangeTable table;
  CollectExchanges(batch, rows, table);
  const auto exchanges = table.Exchanges();
  ASSERT_EQ(exchanges.size(), 2u);
  EXPECT_EQ(exchanges[0].from_host, "browser");
  EXPECT_EQ(exchanges[0].least_ns, -980);
  EXPECT_EQ(exchanges[0].count, 2);
  EXPECT_EQ(exchanges[1].from_host, "server");
  EXPECT_EQ(exchanges[1].least_ns, 1005);
  EXPECT_EQ(exchanges[1].count, 2);
}

}  // namespace
}  // namespace wf
