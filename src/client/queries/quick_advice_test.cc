// Advice that was made ready does what the interpreter does, or nothing: two lines of baggage go through the same hits,
// the one by QuickAdvice where it can, the other by the interpreter alone.
#include "client/queries/quick_advice.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "advice/advice_test_support.h"
#include "advice/interpreter.h"

namespace wherefore::client {
namespace {

using wf::advice::AggregateKind;
using wf::advice::Column;
using wf::advice::Constant;
using wf::advice::Expression;
using wf::advice::Grouping;
using wf::advice::Keep;
using wf::advice::Op;
using wf::advice::PackedTuples;
using wf::advice::Program;
using wf::advice::Rows;
using wf::advice::Step;

constexpr const char* kFields = R"({"n", n}, {"s", s}, {"list", list})";
internal::Tracepoint points[] = {{"q.a", kFields}, {"q.b", kFields}, {"q.c", kFields}};

class LineBaggage : public wf::advice::Baggage {
 public:
  LineBaggage(BaggageLine& line, QueryInterval& interval) : line_(line), interval_(interval) {}
  PackedTuples Unpack(const Program& program, uint32_t slot) override {
    return line_.Unpack(program.query, slot, program.slots[slot]);
  }
  bool Borrow(const Program& program, uint32_t slot, wf::advice::BorrowedRows& into) override {
    return line_.Borrow(program.query, slot, program.slots[slot], into);
  }
  void Pack(const Program& program, uint32_t slot, int64_t time, std::string_view id,
            Rows rows) override {
    if (line_.Pack(program.query, slot, program.slots[slot], interval_.query->limits, time, id,
                   rows) == PackResult::kPacked)
      interval_.NoteHeld(line_, line_.HeldBy(program.query));
  }

 private:
  BaggageLine& line_;
  QueryInterval& interval_;
};

class IntoResults : public wf::advice::Emitter {
 public:
  explicit IntoResults(wf::advice::Results& results) : results_(results) {}
  void EmitTuples(const Program&, Rows rows) override { results_.Add(rows); }

 private:
  wf::advice::Results& results_;
};

Expression RandomColumn(uint32_t width) {
  if (width == 0 || *rc::gen::inRange(0, 8) == 0) return Constant(int64_t{7});
  const auto column = *rc::gen::inRange<uint32_t>(0, width);
  if (*rc::gen::inRange(0, 8) != 0) return Column(column);
  Expression text = Column(column);
  text.code.push_back({Op::kUpper, 0});  // makes a text, or null
  return text;
}

Expression RandomCondition(uint32_t width) {
  return wf::advice::Compared(*rc::gen::element(Op::kEqual, Op::kNotEqual, Op::kLess),
                              RandomColumn(width), RandomColumn(width));
}

std::vector<Expression> RandomColumns(uint32_t width) {
  std::vector<Expression> columns;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) columns.push_back(RandomColumn(width));
  return columns;
}

// q.a packs into slot 0; q.b unpacks that and packs into slot 1; q.c unpacks both and emits.
Program RandomProgram() {
  std::vector<wf::advice::Advice> all;
  std::vector<wf::advice::Slot> slots;
  for (uint32_t place = 0; place < 3; ++place) {
    wf::advice::Advice advice;
    advice.tracepoints = {points[place].name};
    const std::vector<std::string> names = {"n", "s", "list", "host", "time", "procId", "absent"};
    wf::advice::Observe observe;
    for (const std::string& name : names)
      if (*rc::gen::inRange(0, name == "absent" ? 20 : 3) == 0) observe.variables.push_back(name);
    auto width = static_cast<uint32_t>(observe.variables.size());
    advice.steps.emplace_back(observe);
    const auto filter = [&] {
      if (*rc::gen::inRange(0, 3) == 0)
        advice.steps.emplace_back(wf::advice::Filter{RandomCondition(width)});
    };
    filter();
    for (uint32_t slot = 0; slot < place; ++slot) {
      if (*rc::gen::inRange(0, 4) == 0) continue;
      advice.steps.emplace_back(wf::advice::Unpack{slot, false, {}});
      width += slots[slot].columns;
      filter();
    }
    if (place < 2) {
      wf::advice::Pack pack;
      pack.slot = place;
      pack.keep = *rc::gen::element(Keep::kAll, Keep::kAll, Keep::kFirst, Keep::kMostRecent);
      pack.limit = pack.keep == Keep::kAll ? 0 : *rc::gen::element(1u, 1u, 2u);
      pack.grouping.columns = RandomColumns(width);
      if (pack.keep != Keep::kAll && *rc::gen::inRange(0, 2) == 0)
        advice.steps.emplace_back(wf::advice::RequireTuples{});
      slots.push_back(SlotOf(pack));
      advice.steps.emplace_back(pack);
    } else {
      wf::advice::Emit emit;
      emit.grouped = *rc::gen::inRange(0, 3) != 0;
      emit.grouping.columns = RandomColumns(width);
      if (emit.grouped) {
        emit.grouping.aggregates.push_back(wf::advice::Over(AggregateKind::kCount, Constant(true)));
        emit.grouping.aggregates.push_back(wf::advice::Over(
            *rc::gen::element(AggregateKind::kSum, AggregateKind::kCount, AggregateKind::kMax),
            RandomColumn(width)));
      }
      for (uint32_t i = 0; i < emit.grouping.columns.size(); ++i) emit.select.push_back(Column(i));
      advice.steps.emplace_back(emit);
    }
    all.push_back(std::move(advice));
  }
  Program program = wf::advice::MakeProgram(std::move(all));
  program.query = 0x51;
  RC_ASSERT(Valid(program));
  return program;
}

struct World {
  explicit World(const std::shared_ptr<const LiveQuery>& query) : interval(query, 0) {}
  BaggageLine line;
  QueryInterval interval;
  wf::advice::Workspace workspace;
  wf::advice::MadeTexts made;

  void Interpret(const LiveQuery& query, std::string_view tracepoint, const HitEvent& event) {
    LineBaggage baggage(line, interval);
    IntoResults emitter(interval.results);
    RunAdvice(query.program, tracepoint, event, baggage, emitter, workspace);
  }
};

std::string Held(World& world, const Program& program) {
  std::string all;
  for (uint32_t slot = 0; slot < program.slots.size(); ++slot) {
    world.line.Unpack(program.query, slot, program.slots[slot]).Encode(program.slots[slot], all);
    all += '|';
  }
  return all;
}

RC_GTEST_PROP(QuickAdvice, DoesWhatTheInterpreterDoes, ()) {
  auto query = std::make_shared<LiveQuery>();
  query->program = RandomProgram();
  query->limits.tuples = *rc::gen::element(256u, 4u);
  query->limits.bytes = *rc::gen::element(3000u, 60u);
  std::vector<QuickAdvice> quick;
  ProcessIdentity process;
  process.host = "host-with-a-name";
  process.pid = 7;
  const bool known = *rc::gen::arbitrary<bool>();
  for (const internal::Tracepoint& point : points)
    quick.emplace_back(*query, point, known ? &process : nullptr);
  World ready(query), plain(query);
  size_t most_bytes = 0;
  const int hits = *rc::gen::inRange(1, 12);
  for (int hit = 0; hit < hits; ++hit) {
    // Now and then it is sent, and perhaps goes on where it was sent to.
    const int travels = *rc::gen::inRange(0, 8);
    for (World* world : {&ready, &plain}) {
      if (travels > 1) continue;
      const std::string bytes = world->line.Serialize();
      if (travels == 1) continue;
      world->line = BaggageLine();
      world->line.Receive(std::string_view(bytes));
    }
    const size_t place = *rc::gen::inRange<size_t>(0, 3);
    const auto n = *rc::gen::inRange<int64_t>(-1, 300);
    const std::string s = *rc::gen::element<std::string>("", "x", "text", std::string(100, 'y'));
    std::vector<std::string> list;
    for (int i = *rc::gen::element(0, 1, 2, 3, 3, 20); i > 0; --i)
      list.push_back(*rc::gen::element<std::string>("p", "q", "r", "a longer one than fits"));
    const TracepointField fields[] = {{"n", n}, {"s", s}, {"list", list}};
    const HitEvent event(points[place], process, fields, 3);
    const bool done =
        quick[place].ready() && quick[place].Run(event, &ready.line, ready.interval, ready.made);
    ready.made.Clear();
    if (!done) ready.Interpret(*query, points[place].name, event);
    plain.Interpret(*query, points[place].name, event);
    RC_CLASSIFY(done);
    RC_ASSERT(Held(ready, query->program) == Held(plain, query->program));
    most_bytes = std::max(most_bytes, ready.line.TravellingBytesOf(0x51));
    RC_ASSERT(ready.line.Overflowed(0x51) == plain.line.Overflowed(0x51));
  }
  RC_ASSERT(ready.interval.results.Rows() == plain.interval.results.Rows());
  RC_ASSERT(ready.interval.results.tuples() == plain.interval.results.tuples());
  RC_ASSERT(ready.interval.packed_tuples_max == plain.interval.packed_tuples_max);
  RC_ASSERT(ready.interval.baggage_bytes_max <= most_bytes);
}

// What the queries of the case studies are made of.
TEST(QuickAdvice, IsReadyForMostQueries) {
  LiveQuery query;
  wf::advice::Pack pack{0, Keep::kAll, 0, {{Column(0)}, {}}};
  wf::advice::Emit emit{
      {{Column(0), Column(1)}, {wf::advice::Over(AggregateKind::kCount, Constant(true))}},
      true,
      {Column(0), Column(1), Column(2)}};
  query.program = wf::advice::MakeProgram(
      {{{"q.a"}, {wf::advice::Observe{{"host"}}, pack}},
       {{"q.b"}, {wf::advice::Observe{{"list"}}, wf::advice::Unpack{0, false, {}}, emit}}});
  EXPECT_TRUE(QuickAdvice(query, points[0]).ready());
  EXPECT_TRUE(QuickAdvice(query, points[1]).ready());
  EXPECT_FALSE(QuickAdvice(query, points[2]).ready());  // it is not asked there
  query.program.sample = 0.5;
  EXPECT_FALSE(QuickAdvice(query, points[0]).ready());
}

}  // namespace
}  // namespace wherefore::client
