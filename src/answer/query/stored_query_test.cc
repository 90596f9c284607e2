// Queries over stored traces: what a span's events are, what happened before what, and which traces are read whole.
#include "answer/query/stored_query.h"

#include <gtest/gtest.h>

#include "advice/program.h"
#include "answer/frame/answer.h"
#include "answer/questions/questions.h"
#include "json/json_writer.h"
#include "lang/query/parser.h"
#include "store/batch_builder.h"
#include "store/memory/memory_store.h"

namespace wf::answer {
namespace {

constexpr TraceId kFirst{0, 1}, kSecond_{0, 2}, kThird{0, 3};

class StoredQueryTest : public ::testing::Test {
 protected:
  // A shop asks a cart; the cart's span has a point. A second request never reaches the cart.
  void SetUp() override {
    store::BatchBuilder b;
    b.Process("shop", "", {{"host.name", "h1"}, {"region", "eu"}});
    b.Span(kFirst, 1, 0, 100, 50, "buy").Text("user", "ann").Int("items", 3).Int("time", 7);
    b.Span(kSecond_, 1, 0, 300, 10, "buy").Text("user", "bob").Int("items", 1);
    b.Process("cart", "h2");
    b.Span(kFirst, 2, 1, 110, 30, "load").Status(SpanStatus::kError);
    Point(b, 120, "miss", "key", "k1");
    Append(b);
  }

  static void Point(store::BatchBuilder& b, Nanos time, const std::string& name,
                    const std::string& key, const std::string& value) {
    EventBatch& batch = b.batch();
    PackedPoint point;
    point.time_ns = time;
    point.name = batch.strings.Intern(name);
    std::string attributes;
    PutVarint(batch.strings.Intern(key), attributes);
    PutString(value, attributes);
    point.attrs = attributes;
    PutPoint(point, batch.bytes);
    batch.EndPoints();
  }

  void Append(store::BatchBuilder& b) {
    store_.Append(b.Take(), [](Status status) { ASSERT_TRUE(status.ok()); });
  }

  Result<QueryRows> Run(const std::string& text, store::TimeRange from = {}) {
    auto query = query::ParseQuery(text);
    EXPECT_TRUE(query.ok()) << query.error().message;
    return RunStoredQuery(store_, "default", **query, from);
  }
  std::string Rows(const std::string& text, store::TimeRange from = {}) {
    const auto answer = Run(text, from);
    if (!answer.ok()) return answer.error().message;
    JsonWriter json;
    query::WriteRows(json, answer->rows);
    return json.Take();
  }
  // The same by whole traces: the corrected clock is only in the model.
  std::string Modeled(std::string text) {
    const size_t select = text.find(" Select");
    const std::string condition = " Where Has(x.alignedTime)";
    const size_t at = std::min({select, text.find(" GroupBy"), text.find(" Sample")});
    return Rows(text.insert(at, condition));
  }

  store::memory::MemoryStore store_;
};

TEST_F(StoredQueryTest, ASpanIsTwoEventsAndAPointIsOne) {
  for (const auto& [query, rows] : std::vector<std::pair<std::string, std::string>>{
           {"From x In buy Select x.time, x.duration", "[[100,null],[300,null]]"},
           {"From x In buy.end Select x.time, x.duration", "[[150,50],[310,10]]"},
           {"From x In buy, load.end Select x.tracepoint, x.time",
            R"([["buy",100],["buy",300],["load.end",140]])"},
           {"From x In miss Select x.time, x.key, x.user", R"([[120,"k1",null]])"},
           {"From x In nothing Select x.time", "[]"}}) {
    EXPECT_EQ(Rows(query), rows) << query;
    EXPECT_EQ(Modeled(query), rows) << query << ", modeled";
  }
}

TEST_F(StoredQueryTest, DefaultsWinOverAttributesOfTheSpanAndOfItsProcess) {
  for (const auto& [query, rows] : std::vector<std::pair<std::string, std::string>>{
           {"From x In buy Where x.user = 'ann' Select x.time, x.attr.time, x.items, x.attr.items",
            "[[100,7,3,3]]"},
           {"From x In load Select x.procName, x.host, x.procId, x.region",
            R"([["cart","h2",null,null]])"},
           {"From x In buy Where x.user = 'bob' Select x.procName, x.host, x.region, x.attr.region",
            R"([["shop","h1","eu","eu"]])"},
           {"From x In load.end Select x.status, x.kind, x.spanId, x.traceId",
            R"([["error","internal","0000000000000002","00000000000000000000000000000001"]])"},
           {"From x In buy GroupBy x.user Select x.user, SUM(x.items)",
            R"([["ann",3],["bob",1]])"}}) {
    EXPECT_EQ(Rows(query), rows) << query;
    EXPECT_EQ(Modeled(query), rows) << query << ", modeled";
  }
}

TEST_F(StoredQueryTest, WithoutAJoinNoTraceIsModeled) {
  const auto answer = Run("From x In (From y In buy.end Select y.duration As d) Select SUM(x.d)");
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->traces_modeled, 0u);
  EXPECT_EQ(answer->events, 2u);
  EXPECT_EQ(Rows("From x In (From y In buy.end Select y.duration As d) Select SUM(x.d)"), "[[60]]");
}

TEST_F(StoredQueryTest, OnlyTracesWithAnEventOfEverySourceAreModeled) {
  const std::string query = "From y In buy.end Join x In load On x -> y Select y.time, x.host";
  const auto answer = Run(query);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->traces_modeled, 1u);
  EXPECT_EQ(Rows(query), R"([[150,"h2"]])");
}

TEST_F(StoredQueryTest, BeginHappensBeforeChildrenAndTheseBeforeEnd) {
  const auto pairs = [&](const std::string& y, const std::string& x) {
    return Rows("From y In " + y + " Join x In " + x + " On x -> y Select x.time, y.time");
  };
  EXPECT_EQ(pairs("load", "buy"), "[[100,110]]");
  EXPECT_EQ(pairs("buy.end", "load.end"), "[[140,150]]");
  EXPECT_EQ(pairs("buy.end", "miss"), "[[120,150]]");
  EXPECT_EQ(pairs("miss", "buy"), "[[100,120]]");
  EXPECT_EQ(pairs("buy", "load"), "[]");
  EXPECT_EQ(pairs("load.end", "buy.end"), "[]");
  EXPECT_EQ(pairs("buy.end", "buy"), "[[100,150],[300,310]]");
}

TEST_F(StoredQueryTest, SiblingsAreUnorderedAndNobodyWaitsForAnAsynchronousChild) {
  store::BatchBuilder b;
  b.Process("p");
  b.Span(kThird, 1, 0, 1000, 100, "root");
  b.Span(kThird, 2, 1, 1010, 10, "one");
  b.Span(kThird, 3, 1, 1030, 10, "two");
  b.Span(kThird, 4, 1, 1040, 500, "put").Kind(SpanKind::kProducer);
  b.Span(kThird, 5, 4, 1060, 400, "take").Kind(SpanKind::kConsumer);
  Append(b);
  const auto count = [&](const std::string& y, const std::string& x) {
    return Rows("From y In " + y + " Join x In " + x + " On x -> y Select COUNT");
  };
  EXPECT_EQ(count("two", "one.end"), "[]");
  EXPECT_EQ(count("take", "put"), "[[1]]");
  EXPECT_EQ(count("put.end", "take.end"), "[]");
  EXPECT_EQ(count("root.end", "two.end"), "[[1]]");
}

TEST_F(StoredQueryTest, SinceSelectsFromEventsOnly) {
  const std::string local = "From x In buy, buy.end Select x.time";
  EXPECT_EQ(Rows(local, {120, INT64_MAX}), "[[150],[300],[310]]");
  EXPECT_EQ(Rows(local, {120, 310}), "[[150],[300]]");
  EXPECT_EQ(Rows("From y In buy.end Join x In load On x -> y Select x.time", {145, INT64_MAX}),
            "[[110]]");
  EXPECT_EQ(Rows("From y In buy.end Join x In load On x -> y Select x.time", {151, INT64_MAX}),
            "[]");
}

TEST_F(StoredQueryTest, ASpanWithoutEndEndsAsTheModelSays) {
  store::BatchBuilder b;
  b.Process("p");
  b.Span(kThird, 1, 0, 1000, 0, "open");
  b.batch().marks.back() = kHasStart;
  b.batch().end_ns.back() = 0;
  b.Span(kThird, 2, 1, 1010, 30, "inner");
  Append(b);
  EXPECT_EQ(Rows("From x In open.end Select x.time, x.duration"), "[[1040,40]]");
  EXPECT_EQ(Rows("From x In open.end Select x.time", {1020, INT64_MAX}), "[[1040]]");
  EXPECT_EQ(Rows("From x In inner.end Select x.time"), "[[1040]]");
}

TEST_F(StoredQueryTest, SampleIsOfTheTraceId) {
  const std::string all = Rows("From x In buy Sample 1 Select COUNT");
  EXPECT_EQ(all, "[[2]]");
  const bool first = advice::Sampled("00000000000000000000000000000001", 0.5);
  const bool second = advice::Sampled("00000000000000000000000000000002", 0.5);
  const int kept = (first ? 1 : 0) + (second ? 1 : 0);
  const std::string expected = kept == 0 ? "[]" : "[[" + std::to_string(kept) + "]]";
  EXPECT_EQ(Rows("From x In buy Sample 0.5 Select COUNT"), expected);
  EXPECT_EQ(Modeled("From x In buy Sample 0.5 Select COUNT"), expected);
}

TEST_F(StoredQueryTest, TheQuestionIsCheckedBeforeTheStoreIsRead) {
  const AnswerContext context{store_, "default", "/nowhere", 1000, {}, {}};
  const auto ask = [&](std::vector<std::pair<std::string, std::string>> flags) {
    auto answer = Ask(context, {"query", "", Params(std::move(flags))});
    return answer.ok() ? answer->body : answer.error().message;
  };
  EXPECT_EQ(ask({{"q", "From x In buy Select COUNT"}}),
            R"({"columns":["COUNT"],"rows":[[2]],"cost":{"packed_tuples_max":0,)"
            R"("baggage_bytes_max":0,"emitted":2},"input":{"events":2,"unknown_after":0,)"
            R"("traces_modeled":0,"dropped_edges":0}})"
            "\n");
  EXPECT_EQ(ask({{"q", "From x In buy Select COUNT"}, {"format", "text"}}),
            "COUNT\n    2\n1 row of 2 events\n");
  EXPECT_EQ(ask({{"q", "From x In buy Select y.a"}}).substr(0, 40),
            "query:1:22: there is no alias \"y\"\n1 | Fr");
  EXPECT_EQ(ask({}), "query: no query given");
  EXPECT_EQ(ask({{"q", "From x In buy Select COUNT"}, {"sinse", "1h"}}).substr(0, 7), "\"sinse\"");
}

}  // namespace
}  // namespace wf::answer
