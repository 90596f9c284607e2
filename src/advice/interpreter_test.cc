#include "advice/interpreter.h"

#include <gtest/gtest.h>

#include "advice/advice_test_support.h"

namespace wf::advice {
namespace {

Value I(int64_t value) { return value; }
Value S(const char* text) { return std::string(text); }

std::string Text(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* real = std::get_if<double>(&value)) return std::to_string(*real);
  return value.null() ? "null" : "other";
}

std::string Text(const std::vector<Tuple>& rows) {
  std::string text;
  for (const Tuple& row : rows) {
    for (const Value& value : row) text += Text(value) + " ";
    text += "| ";
  }
  return text;
}

// Q2 of the paper: From incr In DataNodeMetrics.incrBytesRead Join cl In First(ClientProtocols) On cl -> incr
// GroupBy cl.procName Select cl.procName, SUM(incr.delta)
Program Q2() {
  Pack pack{0, Keep::kFirst, 1, {{Column(0)}, {}}};
  Emit emit{{{Column(1)}, {Over(AggregateKind::kSum, Column(0))}}, true, {Column(0), Column(1)}};
  return MakeProgram({{{"ClientProtocols"}, {Observe{{"procName"}}, pack}},
                      {{"incrBytesRead"}, {Observe{{"delta"}}, Unpack{0, false, {}}, emit}}});
}

TEST(Interpreter, Q2) {
  const Program program = Q2();
  ASSERT_TRUE(Valid(program));
  TestEmitter emitter(program);
  for (const char* client : {"HGet", "HScan", "HGet"}) {
    TestBaggage baggage;
    RunAdvice(program, "incrBytesRead", TestEvent({{"delta", I(1'000)}}), baggage, emitter);
    RunAdvice(program, "ClientProtocols", TestEvent({{"procName", S(client)}}, 5), baggage,
              emitter);
    RunAdvice(program, "ClientProtocols", TestEvent({{"procName", S("inner")}}, 1), baggage,
              emitter);
    RunAdvice(program, "incrBytesRead", TestEvent({{"delta", I(7)}}), baggage, emitter);
    RunAdvice(program, "incrBytesRead", TestEvent({{"delta", I(5)}}), baggage, emitter);
    EXPECT_EQ(baggage.slots[0].tuple_count(), 1u);
  }
  EXPECT_EQ(Text(emitter.results.Rows()), "HGet 24 | HScan 12 | ");
}

TEST(Interpreter, ListsGiveATupleForEachElementAndMultiply) {
  Emit emit{{{Column(0), Column(1), Column(2)}, {}}, false, {Column(0), Column(1), Column(2)}};
  const Program program = MakeProgram({{{"t"}, {Observe{{"a", "b", "c"}}, emit}}});
  ASSERT_TRUE(Valid(program));
  TestBaggage baggage;
  TestEmitter emitter(program);
  TestEvent event({{"a", List{I(1), I(2)}}, {"b", S("x")}, {"c", List{I(3), I(4)}}});
  EXPECT_TRUE(RunAdvice(program, "t", event, baggage, emitter));
  EXPECT_EQ(Text(emitter.results.Rows()), "1 x 3 | 1 x 4 | 2 x 3 | 2 x 4 | ");
  emitter.results.Clear();
  event.variables["c"] = List{};
  EXPECT_TRUE(RunAdvice(program, "t", event, baggage, emitter));
  EXPECT_TRUE(emitter.results.empty());
  event.variables["a"] = List(1'000, I(1));
  event.variables["c"] = List(1'000, I(1));
  EXPECT_FALSE(RunAdvice(program, "t", event, baggage, emitter));
  EXPECT_TRUE(emitter.results.empty());
}

// Both sides of a join are bags and one side arrives aggregated: SUM of the one side counts every pair, as does SUM of
// the other.
TEST(Interpreter, AggregatesOfOneSideCarryACount) {
  Pack pack{0, Keep::kAll, 0, {{}, {Over(AggregateKind::kSum, Column(0))}}};
  Pack other{1, Keep::kAll, 0, {{Column(0)}, {}}};
  Emit emit{{{},
             {CarriedFrom(AggregateKind::kSum, 0, 0), Over(AggregateKind::kSum, Column(0)),
              Over(AggregateKind::kSum, Column(1)), Over(AggregateKind::kCount, Constant(true))}},
            true,
            {Column(0), Column(1), Column(2), Column(3)}};
  const Program program =
      MakeProgram({{{"a"}, {Observe{{"x"}}, pack}},
                   {{"b"}, {Observe{{"y"}}, other}},
                   {{"c"}, {Observe{{"z"}}, Unpack{0, false, {}}, Unpack{1, false, {}}, emit}}});
  ASSERT_TRUE(Valid(program));
  TestBaggage baggage;
  TestEmitter emitter(program);
  for (int64_t x : {1, 2, 3}) RunAdvice(program, "a", TestEvent({{"x", I(x)}}), baggage, emitter);
  for (int64_t y : {10, 10, 20, 30})
    RunAdvice(program, "b", TestEvent({{"y", I(y)}}), baggage, emitter);
  EXPECT_EQ(baggage.slots[0].tuple_count(), 1u);
  EXPECT_EQ(baggage.slots[1].tuple_count(), 3u);
  RunAdvice(program, "c", TestEvent({{"z", I(100)}}), baggage, emitter);
  // 3 x 4 pairs: x sums to 6 for each of 4, z to 100 for each of 12, y to 70 for each of 3.
  EXPECT_EQ(Text(emitter.results.Rows()), "24 1200 210 12 | ");
}

TEST(Interpreter, AnEventNeverJoinsItself) {
  Pack pack{0, Keep::kAll, 0, {{Column(0)}, {}}};
  Emit emit{{{Column(0), Column(1)}, {}}, false, {Column(0), Column(1)}};
  const Program program = MakeProgram(
      {{{"t"}, {Observe{{"n"}}, pack}}, {{"t"}, {Observe{{"n"}}, Unpack{0, false, {}}, emit}}});
  TestBaggage baggage;
  TestEmitter emitter(program);
  for (int64_t n : {1, 2, 3}) RunAdvice(program, "t", TestEvent({{"n", I(n)}}), baggage, emitter);
  EXPECT_EQ(Text(emitter.results.Rows()), "2 1 | 3 1 | 3 2 | ");
}

TEST(Interpreter, AnAggregatedSubQueryIsFinishedWhereItIsUnpacked) {
  Pack pack{
      0,
      Keep::kAll,
      0,
      {{Column(0)},
       {Over(AggregateKind::kCount, Constant(true)), Over(AggregateKind::kAverage, Column(1))}}};
  Unpack unpack{
      0, true, {Column(0), Compared(Op::kMultiply, Column(1), Constant(I(10))), Column(2)}};
  Emit emit{{{Column(0), Column(1), Column(2)}, {}}, false, {Column(0), Column(1), Column(2)}};
  const Program program =
      MakeProgram({{{"a"}, {Observe{{"k", "v"}}, pack}}, {{"b"}, {Observe{{}}, unpack, emit}}});
  ASSERT_TRUE(Valid(program));
  TestBaggage baggage;
  TestEmitter emitter(program);
  RunAdvice(program, "b", TestEvent({}), baggage, emitter);
  EXPECT_TRUE(emitter.results.empty());  // no tuples, no row
  RunAdvice(program, "a", TestEvent({{"k", I(1)}, {"v", I(4)}}), baggage, emitter);
  RunAdvice(program, "a", TestEvent({{"k", 1.0}, {"v", I(6)}}), baggage, emitter);  // the same key
  RunAdvice(program, "a", TestEvent({{"k", S("x")}, {"v", I(6)}}), baggage, emitter);
  RunAdvice(program, "b", TestEvent({}), baggage, emitter);
  EXPECT_EQ(Text(emitter.results.Rows()), "1 20 5.000000 | x 10 6.000000 | ");
}

// Where comes after First: the event is picked, and then has no tuple.
TEST(Interpreter, AFilteredEventIsStillPickedUnlessItsSourceNeedsTuples) {
  const Expression big = Compared(Op::kGreater, Column(0), Constant(I(10)));
  for (const bool require : {false, true}) {
    Advice packs{{"a"}, {Observe{{"x"}}, Filter{big}}};
    if (require) packs.steps.push_back(RequireTuples{});
    packs.steps.push_back(Pack{0, Keep::kFirst, 1, {{Column(0)}, {}}});
    Emit emit{{{Column(0)}, {}}, false, {Column(0)}};
    const Program program =
        MakeProgram({packs, {{"b"}, {Observe{{}}, Unpack{0, false, {}}, emit}}});
    ASSERT_TRUE(Valid(program));
    TestBaggage baggage;
    TestEmitter emitter(program);
    RunAdvice(program, "a", TestEvent({{"x", I(1)}}, 1, "e1"), baggage, emitter);
    RunAdvice(program, "a", TestEvent({{"x", I(20)}}, 2, "e2"), baggage, emitter);
    RunAdvice(program, "b", TestEvent({}), baggage, emitter);
    EXPECT_EQ(Text(emitter.results.Rows()), require ? "20 | " : "");
  }
}

TEST(Results, PartialsOfTwoProcessesMerge) {
  const Program program = Q2();
  Results a(program), b(program), total(program);
  const auto add = [](Results& results, Value key, int64_t delta, uint64_t weight) {
    Rows rows(1, 1);
    rows.AddColumn(std::move(key));
    AggregateState state(AggregateKind::kSum);
    state.Add(delta, weight);
    rows.AddState(std::move(state));
    rows.EndRow(weight);
    results.Add(rows);
  };
  add(a, S("x"), 5, 2);
  add(a, 1.0, 5, 1);
  add(b, I(1), 7, 1);
  add(b, Value(), 1, 1);
  EXPECT_TRUE(total.Merge(a.Encode()));
  EXPECT_TRUE(total.Merge(b.Encode()));
  EXPECT_EQ(Text(total.Rows()), "null 1 | 1 12 | x 10 | ");
  EXPECT_EQ(total.tuples(), 4u);
  Program other = program;
  other.query = 9;
  Results stranger(other);
  EXPECT_FALSE(stranger.Merge(a.Encode()));
  EXPECT_FALSE(total.Merge(a.Encode() + "x"));
  EXPECT_FALSE(total.Merge(""));
  EXPECT_EQ(total.groups(), 3u);
}

TEST(Results, GroupsBeyondTheLimitAreCountedAsLost) {
  Emit emit{{{Column(0)}, {}}, false, {Column(0)}};
  const Program program = MakeProgram({{{"t"}, {Observe{{"n"}}, emit}}});
  Results results(program, 2);
  for (int64_t n : {1, 2, 3, 2, 4}) {
    Rows rows(1, 0);
    rows.AddColumn(n);
    rows.EndRow(1);
    results.Add(rows);
  }
  EXPECT_EQ(Text(results.Rows()), "1 | 2 | 2 | ");
  EXPECT_EQ(Text(results.Rows(1)), "1 | ");
  EXPECT_EQ(results.lost(), 2u);
  Results total(program);
  EXPECT_TRUE(total.Merge(results.Encode()));
  EXPECT_EQ(total.lost(), 2u);
  EXPECT_EQ(total.tuples(), 5u);
}

TEST(Program, WhatIsEncodedIsDecoded) {
  Program program = Q2();
  program.sample = 0.25;
  program.slots[0].aggregates = {};
  const std::string bytes = Encode(program);
  Program read;
  ASSERT_TRUE(Decode(bytes, read));
  EXPECT_EQ(Encode(read), bytes);
  EXPECT_EQ(read.query, program.query);
  EXPECT_EQ(read.sample, program.sample);
  EXPECT_EQ(read.advice[0].tracepoints, program.advice[0].tracepoints);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(Decode(std::string_view(bytes).substr(0, size), read)) << size;
}

TEST(Program, ValidRefusesWhatDoesNotFit) {
  const auto broken = [](auto&& breaks) {
    Program program = Q2();
    breaks(program);
    Program read;
    return !Valid(program) && !Decode(Encode(program), read);
  };
  EXPECT_TRUE(broken([](Program& p) { p.slots.clear(); }));
  EXPECT_TRUE(broken([](Program& p) { p.slots[0].columns = 2; }));
  EXPECT_TRUE(broken([](Program& p) { p.slots[0].keep = Keep::kAll; }));
  EXPECT_TRUE(broken([](Program& p) { p.result_columns.pop_back(); }));
  EXPECT_TRUE(broken([](Program& p) { p.advice[1].steps.erase(p.advice[1].steps.begin() + 1); }));
  EXPECT_TRUE(broken([](Program& p) { p.advice[0].steps.pop_back(); }));
  EXPECT_TRUE(broken([](Program& p) { p.advice.pop_back(); }));
  EXPECT_TRUE(broken([](Program& p) { p.advice[0].tracepoints.clear(); }));
  EXPECT_TRUE(broken([](Program& p) {
    std::get<Observe>(p.advice[0].steps[0]).variables = {"a", "a"};
  }));
  EXPECT_TRUE(broken([](Program& p) {
    std::get<Emit>(p.advice[1].steps[2]).grouping.aggregates[0] =
        CarriedFrom(AggregateKind::kSum, 0, 0);
  }));
}

// Values of the contract's hash, worked out by an independent implementation.
TEST(Program, SampledIsTheContractsHash) {
  EXPECT_TRUE(Sampled("anything", 1));
  EXPECT_FALSE(Sampled("anything", 0));
  struct Known {
    const char* id;
    double hash;
  };
  for (const Known& known :
       {Known{"", 0.936769448390}, Known{"a", 0.510294517657}, Known{"e1", 0.313131085244}}) {
    EXPECT_FALSE(Sampled(known.id, known.hash - 1e-9)) << known.id;
    EXPECT_TRUE(Sampled(known.id, known.hash + 1e-9)) << known.id;
  }
  int kept = 0;
  for (int i = 0; i < 10'000; ++i) kept += Sampled("request " + std::to_string(i), 0.3) ? 1 : 0;
  EXPECT_NEAR(kept, 3'000, 200);
}

}  // namespace
}  // namespace wf::advice
