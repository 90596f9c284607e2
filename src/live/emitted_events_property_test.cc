// The emit plan gives the same rows: random queries over random executions, whose events arrive as processes
// would report them, in any order and in pieces, with evaluations in between.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "lang/query/query_lab_test.h"
#include "lang/query/random_query_test.h"
#include "lang/query/rewrite.h"
#include "live/emitted_events.h"

namespace wf::live {
namespace {

using query::lab::Pick;

struct Piece {
  EmittedEvents::Process process;
  std::string bytes;
};

// Ids as a process makes them, and no defaults that a process does not have.
query::Execution AsLive(query::Execution execution) {
  for (size_t i = 0; i < execution.events.size(); ++i) {
    query::Event& event = execution.events[i];
    const uint64_t id = (i + 1) * 0x9E37'79B9'7F4A'7C15u;
    event.id.assign(reinterpret_cast<const char*>(&id), sizeof id);
    event.proc = advice::Value("p" + std::to_string(Pick(2)));
    event.pid = advice::Value(int64_t{Pick(3)});
  }
  uint32_t on_cycle = 0;
  RC_ASSERT(Arrange(execution, on_cycle));
  return execution;
}

uint64_t IdOf(const query::Event& event) {
  uint64_t id;
  std::memcpy(&id, event.id.data(), sizeof id);
  return id;
}

// What src/client emits: an event with the ids that its branches carry. Where branches rejoin without a
// tracepoint of the query, a link, or nothing if the process does not know the plan.
std::vector<Piece> Emitted(const advice::Program& program, const query::Execution& execution) {
  const auto places = advice::EmittedPlaces(program);
  std::vector<Piece> pieces;
  std::vector<std::vector<uint64_t>> carried(execution.events.size());
  for (const uint32_t index : execution.order) {
    const query::Event& event = execution.events[index];
    advice::EmittedEvent emitted;
    for (const uint32_t before : event.after)
      emitted.after.insert(emitted.after.end(), carried[before].begin(), carried[before].end());
    std::sort(emitted.after.begin(), emitted.after.end());
    emitted.after.erase(std::unique(emitted.after.begin(), emitted.after.end()),
                        emitted.after.end());
    emitted.id = IdOf(event);
    emitted.time_ns = event.time_ns;
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].tracepoint != event.tracepoint) continue;
      emitted.place = static_cast<uint32_t>(i + 1);
      for (const std::string& name : places[i].variables)
        emitted.values.push_back(event.Variable(name));
    }
    if (emitted.place == 0 && (emitted.after.size() < 2 || Pick(3) == 0)) {
      carried[index] = emitted.after;
      continue;
    }
    carried[index] = {emitted.id};
    Piece piece{{std::get<std::string>(event.host), std::get<std::string>(event.proc),
                 std::get<int64_t>(event.pid)},
                {}};
    AppendEvent(emitted, piece.bytes);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

void CheckRows(const std::string& text, const query::Execution& execution) {
  RC_LOG() << text << "\n" << WriteEvents(execution);
  const auto query = query::ParseQuery(text);
  RC_PRE(query.ok());  // sub-queries of sub-queries may exceed the limits of a query
  const auto reference = RunPlan(query::Plan::kReference, **query, execution);
  const auto rewritten = Rewrite(**query);
  RC_ASSERT(reference.ok() && rewritten.ok());
  const auto program = std::make_shared<const advice::Program>(rewritten->program);

  std::vector<Piece> pieces = Emitted(*program, execution);
  for (size_t i = pieces.size(); i > 1; --i)
    std::swap(pieces[i - 1], pieces[static_cast<size_t>(Pick(static_cast<int>(i)))]);
  EmittedEvents events(program, 7, std::make_shared<EmittedMemory>());
  advice::Results all(*program);
  uint64_t lost = 0;
  const auto evaluate = [&](EmittedEvents::Rest rest) {
    for (const auto& [start, part] : events.Evaluate(20, rest, Pick(2) * kMinute).parts) {
      RC_ASSERT(all.Merge(part.partial));
      lost += part.lost;
    }
  };
  for (const Piece& piece : pieces) {
    for (int times = Pick(4) == 0 ? 2 : 1; times > 0; --times)
      RC_ASSERT(events.Take(piece.process, piece.bytes, 20));
    if (Pick(3) == 0) evaluate(EmittedEvents::Rest::kMayCome);
  }
  for (int i = 0; i < 100 && events.waiting(); ++i) evaluate(EmittedEvents::Rest::kMayCome);
  evaluate(EmittedEvents::Rest::kIsLost);
  RC_ASSERT(lost == 0u);
  RC_ASSERT(query::testing::RowsText(all.Rows()) == query::testing::RowsText(reference->rows));
  RC_CLASSIFY(!reference->rows.empty(), "has rows");
}

RC_GTEST_PROP(EmittedEventsProperty, RowsAreThoseOfTheReference, ()) {
  CheckRows(query::lab::RandomQuery().Text(), AsLive(query::lab::RandomExecution(9)));
}

RC_GTEST_PROP(EmittedEventsProperty, RowsOfLargerExecutionsToo, ()) {
  const std::string source = query::lab::OneOf(
      std::vector<std::string>{"A", "First(A)", "MostRecent(A)", "MostRecentN(2, A, C)",
                               "(From c In C GroupBy c.s Select c.s As x, SUM(c.y) As y)"});
  CheckRows("From b In B Join a In " + source +
                " On a -> b GroupBy a.x Select a.x, COUNT, SUM(a.y), MAX(b.time)",
            AsLive(query::lab::RandomExecution(40)));
}

}  // namespace
}  // namespace wf::live
