#include "lang/query/count_form.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lang/query/explain.h"
#include "lang/query/plan_lab_test.h"
#include "lang/query/query_lab_test.h"
#include "lang/query/rewrite.h"

namespace wf::query {
namespace {

using testing::Events;
using testing::Parsed;
using testing::RowsText;

std::string Counted(std::string_view text, const Execution& execution) {
  const auto counting = Counting(*Parsed(text));
  if (!counting) return counting.error().message;
  return RowsText(lab::IdealRun(counting->program, execution).Rows());
}

const char* const kRead = R"({"id":"s","tracepoint":"ST","time_ns":1,"host":"client-01"}
{"id":"g","tracepoint":"GET","time_ns":2,"host":"name-node","after":["s"],"vars":{"replicas":["A","B","C"]}}
{"id":"d","tracepoint":"DN","time_ns":3,"host":"data-07","after":["g"]}
{"id":"e","tracepoint":"DN","time_ns":4,"host":"data-08","after":["d"]}
)";

TEST(CountForm, CountsWhatTravelsInEverySlot) {
  // One tuple of ST, three of GET, as Q7 carries them: a weight and "client-01" are 11 bytes, and thrice a weight, a
  // replica of 2 and those 11, in frames of 22 + 4 + 4.
  EXPECT_EQ(Counted("From dn In DN Join get In GET On get -> dn Join st In ST On st -> get Where "
                    "st.host != dn.host GroupBy dn.host, get.replicas Select dn.host, "
                    "get.replicas, COUNT",
                    Events(kRead)),
            "[[2,4.0,4,83.0,83.0]]");
}

TEST(CountForm, AnAggregateIsOneTuple) {
  EXPECT_EQ(Counted("From dn In DN Join get In GET On get -> dn Select COUNT", Events(kRead)),
            "[[2,1.0,1,27.0,27]]");
}

TEST(CountForm, AQueryWithoutJoinCarriesNothing) {
  EXPECT_EQ(Counted("From dn In DN GroupBy dn.host Select dn.host, COUNT", Events(kRead)),
            "[[2,0.0,0,0.0,0]]");
}

TEST(CountForm, FiltersKeepTheirLimits) {
  EXPECT_EQ(Counted("From last In DN Join dn In MostRecent(DN) On dn -> last Select dn.host",
                    Events(kRead)),
            "[[1,1.0,1,53.0,53]]");
}

// Nothing that arrives goes uncounted.
RC_GTEST_PROP(CountForm, IsNeverBelowWhatIsCarried, ()) {
  using lab::OneOf;
  const std::string text =
      "From q In A, B Join p In " +
      OneOf(std::vector<std::string>{"A", "First(A)", "MostRecentN(2, B)", "A, B"}) +
      " On p -> q Join r In " + OneOf(std::vector<std::string>{"C", "B", "FirstN(2, A)"}) +
      " On r -> " + OneOf(std::vector<std::string>{"p", "q"}) + " Where " +
      OneOf(std::vector<std::string>{"true", "p.y > 0", "r.y = q.y"}) + " Select " +
      OneOf(std::vector<std::string>{"p.x, r.y, q.s", "SUM(p.x), r.l", "COUNT", "MAX(p.y + r.y)"});
  const Execution execution = lab::RandomExecution();
  RC_LOG() << text << "\n" << WriteEvents(execution);
  const auto query = Parsed(text);
  const auto rewritten = Rewrite(*query);
  const auto counting = Counting(*query);
  RC_ASSERT(rewritten.ok());
  RC_ASSERT(counting.ok());
  const lab::IdealRun carried(rewritten->program, execution);
  const auto rows = lab::IdealRun(counting->program, execution).Rows();
  if (carried.arriving_max() == 0) return;
  RC_ASSERT(rows.size() == 1U);
  RC_ASSERT(std::get<int64_t>(rows[0][2]) >= static_cast<int64_t>(carried.arriving_max()));
}

}  // namespace
}  // namespace wf::query
