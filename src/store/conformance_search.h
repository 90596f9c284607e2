// Conformance: search, resources and completion.
#pragma once

#include "store/conformance.h"
#include "store/row_order.h"

namespace wf::store {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(StoreConformance, SearchByEachCondition) {
  BatchBuilder b;
  b.Process("front", "h1", {{"zone", "eu"}});
  b.Span(T(1), 1, 0, kT0 + 100, 1000, "GET /")
      .Status(SpanStatus::kError)
      .Int("code", 500)
      .Text("user", "ann");
  b.Process("back", "h2", {{"zone", "us"}});
  b.Span(T(1), 2, 1, kT0 + 200, 50, "query").Text("user", "bob");
  b.Process("front", "h1", {{"zone", "eu"}});
  b.Span(T(2), 1, 0, kT0 + 200, 10, "GET /").Int("code", 200).Text("user", "ann");
  b.Process("batch", "h3");
  b.Span(T(3), 1, 0, kT0 + 300, 5000, "nightly").Text("code", "200");
  Append(b.Take());
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    const auto with = [&](auto&& set) {
      TraceQuery q;
      set(q);
      return Found(q);
    };
    EXPECT_THAT(with([](auto&) {}), ElementsAre(3, 2, 1));
    EXPECT_THAT(with([](auto& q) { q.service = "front"; }), ElementsAre(2, 1));
    EXPECT_THAT(with([](auto& q) { q.service = "fron"; }), IsEmpty());
    EXPECT_THAT(with([](auto& q) { q.operation = "query"; }), ElementsAre(1));
    EXPECT_THAT(with([](auto& q) { q.status = SpanStatus::kError; }), ElementsAre(1));
    EXPECT_THAT(with([](auto& q) { q.attributes = {{"user", "ann"}}; }), ElementsAre(2, 1));
    EXPECT_THAT(with([](auto& q) { q.attributes = {{"zone", "us"}}; }), ElementsAre(1));
    EXPECT_THAT(with([](auto& q) {
                  q.attributes = {{"code", "200"}};
                }),
                ElementsAre(3, 2))
        << "equal text, two types";
    // One span must have all: front's spans of trace 1 are ann's, bob's span is back's.
    EXPECT_THAT(with([](auto& q) {
                  q.service = "front", q.attributes = {{"user", "bob"}};
                }),
                IsEmpty());
    EXPECT_THAT(with([](auto& q) {
                  q.attributes = {{"user", "ann"}, {"code", "500"}};
                }),
                ElementsAre(1));
    EXPECT_THAT(with([](auto& q) { q.min_duration_ns = 1000; }), ElementsAre(3, 1));
    EXPECT_THAT(with([](auto& q) { q.max_duration_ns = 999; }), ElementsAre(2));
    EXPECT_THAT(with([](auto& q) { q.service = "back", q.max_span_duration_ns = 50; }),
                ElementsAre(1));
    EXPECT_THAT(with([](auto& q) { q.service = "back", q.min_span_duration_ns = 51; }), IsEmpty());
    EXPECT_THAT(with([](auto& q) { q.time = {kT0 + 200, kT0 + 300}; }), ElementsAre(2));
    EXPECT_THAT(with([](auto& q) { q.limit = 0; }), IsEmpty());
    Flush();
  }
  const TraceSummary first = Search({}).traces.at(2);
  EXPECT_EQ(first.service, "front");
  EXPECT_EQ(first.name, "GET /");
  EXPECT_EQ(first.start_ns, kT0 + 100);
  EXPECT_EQ(first.duration_ns, 1000);
  EXPECT_EQ(first.spans, 2);
  EXPECT_EQ(first.errors, 1);
  EXPECT_TRUE(first.complete);
}

TEST_P(StoreConformance, AttributeTypesAreFoundByTheirText) {
  BatchBuilder b;
  b.Span(T(1), 1, 0, kT0, 1)
      .Int("k", 200)
      .Span(T(2), 1, 0, kT0, 1)
      .Text("k", "true")
      .Span(T(3), 1, 0, kT0, 1)
      .Bool("k", true);
  b.Span(T(4), 1, 0, kT0, 1)
      .Double("k", 0.25)
      .Span(T(5), 1, 0, kT0, 1)
      .Packed("k", ValueType::kBytes, "\x01\xab");
  std::string list;
  PutInt(1, list), PutString("b", list);
  b.Span(T(6), 1, 0, kT0, 1).Packed("k", ValueType::kArray, list);
  b.Span(T(7), 1, 0, kT0, 1)
      .Text("k", "00000000000000ab")
      .Span(T(8), 1, 0, kT0, 1)
      .Text("k", "00000000000000AB");
  b.Span(T(9), 1, 0, kT0, 1)
      .Int("k", -7)
      .Span(T(10), 1, 0, kT0, 1)
      .Text("k", "")
      .Span(T(11), 1, 0, kT0, 1)
      .Double("k", 200);
  Append(b.Take());
  for (int round = 0; round < 2; ++round) {
    const auto found = [&](const char* text) {
      TraceQuery q;
      q.attributes = {{"k", text}};
      auto ids = Found(q);
      std::sort(ids.begin(), ids.end());
      return ids;
    };
    EXPECT_THAT(found("200"), ElementsAre(1, 11));
    EXPECT_THAT(found("true"), ElementsAre(2, 3));
    EXPECT_THAT(found("0.25"), ElementsAre(4));
    EXPECT_THAT(found("01ab"), ElementsAre(5));
    EXPECT_THAT(found("[1,b]"), ElementsAre(6));
    EXPECT_THAT(found("00000000000000ab"), ElementsAre(7));
    EXPECT_THAT(found("00000000000000AB"), ElementsAre(8));
    EXPECT_THAT(found("-7"), ElementsAre(9));
    EXPECT_THAT(found(""), ElementsAre(10));
    EXPECT_THAT(found("0200"), IsEmpty());
    Flush();
  }
}

TEST_P(StoreConformance, PagesHaveNoGapAndNoRepeat) {
  std::vector<uint64_t> want;
  for (uint64_t part = 0; part < 4; ++part) {
    BatchBuilder b;
    for (uint64_t i = 0; i < 25; ++i) {
      // Many traces share a start; parts overlap in time.
      const uint64_t n = part * 25 + i;
      b.Span(T(n), 1, 0, kT0 + static_cast<Nanos>((n * 7) % 10), 5);
      want.push_back(n);
    }
    Append(b.Take());
    if (part != 3) Flush();
  }
  std::sort(want.begin(), want.end(), [&](uint64_t a, uint64_t b) {
    return ComesBefore({kT0 + static_cast<Nanos>((a * 7) % 10), T(a)},
                       {kT0 + static_cast<Nanos>((b * 7) % 10), T(b)});
  });
  for (size_t limit : {1u, 7u, 99u, 100u, 1000u}) {
    std::vector<uint64_t> got;
    TraceQuery query;
    query.limit = limit;
    for (int pages = 0; pages < 200; ++pages) {
      const SearchPage page = Search(query);
      for (const TraceSummary& trace : page.traces) got.push_back(trace.trace_id.lo);
      if (!page.next) break;
      query.cursor = page.next;
    }
    EXPECT_EQ(got, want) << "pages of " << limit;
  }
}

// Random traces in random pieces over several flushes, against all events looked at one by one.
TEST_P(StoreConformance, SearchAgreesWithLookingAtEverything) {
  std::mt19937_64 random(11);
  const auto pick = [&](uint64_t n) { return random() % n; };
  BatchList all;
  for (int part = 0; part < 6; ++part) {
    BatchBuilder b;
    for (int i = 0; i < 150; ++i) {
      if (i % 10 == 0) {
        const std::string service = "s" + std::to_string(pick(4));
        b.Process(service, "h" + std::to_string(pick(3)), {{"zone", pick(2) != 0 ? "eu" : "us"}});
      }
      const uint64_t trace = pick(120), id = pick(6) + 1;
      b.Span(T(trace), id, pick(3) == 0 ? 0 : pick(6) + 1,
             kT0 + static_cast<Nanos>(trace * 100 + pick(300)), static_cast<Nanos>(pick(200)),
             "op" + std::to_string(pick(3)));
      if (pick(3) == 0) b.Status(SpanStatus::kError);
      if (pick(2) == 0) b.Int("n", static_cast<int64_t>(pick(5)));
      if (pick(2) == 0) b.Text("t", "v" + std::to_string(pick(5)));
    }
    all.push_back(std::make_shared<const EventBatch>(b.Take()));
    Append(*all.back());
    if (part != 5) Flush();
    if (part == 3) Reopen();
  }
  // Everything, trace by trace.
  std::vector<RowKey> rows;
  for (uint32_t i = 0; i < all.size(); ++i) {
    for (uint32_t row = 0; row < all[i]->size(); ++row) rows.push_back(KeyOf(*all[i], i, row));
  }
  SortAndRemoveDoubles(all, rows);
  EventBatch everything;
  for (const RowKey& row : rows) RowCopier(*all[row.batch], everything).Copy(row.row);
  const auto bounds = TraceBounds(everything);
  EXPECT_EQ(ReadStatus().events, static_cast<int64_t>(everything.size()));
  EXPECT_EQ(ReadStatus().traces, static_cast<int64_t>(bounds.size()) - 1);

  int not_empty = 0;
  for (int round = 0; round < 150; ++round) {
    TraceQuery q;
    q.limit = 1 + pick(30);
    if (pick(2) == 0) q.service = "s" + std::to_string(pick(4));
    if (pick(3) == 0) q.operation = "op" + std::to_string(pick(3));
    if (pick(3) == 0) q.status = SpanStatus::kError;
    if (pick(3) == 0) q.attributes.push_back({"n", std::to_string(pick(5))});
    if (pick(4) == 0) q.attributes.push_back({"t", "v" + std::to_string(pick(5))});
    if (pick(5) == 0) q.attributes.push_back({"zone", "eu"});
    if (pick(4) == 0) q.min_duration_ns = static_cast<Nanos>(pick(300));
    if (pick(4) == 0) q.max_duration_ns = static_cast<Nanos>(pick(600));
    if (pick(5) == 0) q.min_span_duration_ns = static_cast<Nanos>(pick(150));
    if (pick(3) == 0) q.time.from = kT0 + static_cast<Nanos>(pick(6000));
    if (pick(3) == 0) q.time.until = kT0 + static_cast<Nanos>(6000 + pick(6000));
    if (pick(3) == 0) q.cursor = SearchCursor{kT0 + static_cast<Nanos>(pick(12000)), T(pick(120))};
    std::vector<TraceSummary> want;
    for (size_t t = 0; t + 1 < bounds.size(); ++t) {
      bool matches = false;
      for (size_t row = bounds[t]; row < bounds[t + 1]; ++row)
        matches = matches || RowMatches(everything, row, q);
      const TraceSummary summary = Summarize(everything, bounds[t], bounds[t + 1]);
      if (matches && TraceMatches(summary, q)) want.push_back(summary);
    }
    std::sort(want.begin(), want.end(), [](const TraceSummary& a, const TraceSummary& b) {
      return ComesBefore({a.start_ns, a.trace_id}, {b.start_ns, b.trace_id});
    });
    const bool more = want.size() > q.limit;
    if (more) want.resize(q.limit);
    const SearchPage page = Search(q);
    ASSERT_EQ(page.traces.size(), want.size()) << "round " << round;
    EXPECT_EQ(page.next.has_value(), more);
    not_empty += want.empty() ? 0 : 1;
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(page.traces[i].trace_id, want[i].trace_id);
      EXPECT_EQ(page.traces[i].start_ns, want[i].start_ns);
      EXPECT_EQ(page.traces[i].duration_ns, want[i].duration_ns);
      EXPECT_EQ(page.traces[i].spans, want[i].spans);
      EXPECT_EQ(page.traces[i].errors, want[i].errors);
      EXPECT_EQ(page.traces[i].name, want[i].name);
      EXPECT_EQ(page.traces[i].complete, want[i].complete);
    }
  }
  EXPECT_GT(not_empty, 50);
}

TEST_P(StoreConformance, OnResourceGivesWhatOverlaps) {
  std::string list;
  PutString("lock:a", list), PutString("lock:b", list);
  BatchBuilder b;
  b.Process("front", "h1", {{"service.instance.id", "i1"}, {"process.pid", "42"}});
  b.Span(T(1), 1, 0, kT0 + 100, 100)
      .Int("thread.id", 7)
      .Text("wherefore.resource", "lock:a")
      .Text("wherefore.resource", "lock:b");
  b.Span(T(1), 2, 1, kT0 + 150, 0).Int("thread.id", 7);
  b.Span(T(2), 3, 0, kT0 + 300, 50)
      .Text("thread.id", "7")
      .Packed("wherefore.resource", ValueType::kArray, list);
  b.Process("back", "h2")
      .Span(T(2), 4, 3, kT0 + 110, 10)
      .Text("db.client.connection.pool.name", "main");
  b.Span(T(2), 5, 3, kT0 + 120, 10).Text("messaging.destination.partition.id", "3");
  b.Span(T(3), 6, 0, kT0 + 130, INT64_MAX - kT0 - 200);
  Append(b.Take());
  for (int round = 0; round < 2; ++round) {
    const auto on = [&](std::vector<std::pair<ResourceKey, std::string>> keys, TimeRange time) {
      ResourceQuery q;
      q.keys = std::move(keys);
      q.time = time;
      auto got = store_->OnResource("default", q);
      EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().message);
      EXPECT_FALSE(got->next.has_value());
      return got->rows.id1;
    };
    using K = ResourceKey;
    EXPECT_THAT(on({{K::kHost, "h1"}}, {}), ElementsAre(1, 2, 3));
    EXPECT_THAT(on({{K::kThread, "7"}}, {}), ElementsAre(1, 2, 3));
    EXPECT_THAT(on({{K::kInstance, "i1"}, {K::kPid, "42"}}, {kT0 + 300, kT0 + 301}),
                ElementsAre(3));
    EXPECT_THAT(on({{K::kHost, "h1"}}, {kT0 + 199, kT0 + 300}), ElementsAre(1))
        << "ends at 200, the next begins at 300";
    EXPECT_THAT(on({{K::kHost, "h1"}}, {kT0 + 200, kT0 + 300}), IsEmpty())
        << "an interval's end is outside it";
    EXPECT_THAT(on({{K::kHost, "h1"}}, {kT0 + 150, kT0 + 151}), ElementsAre(1, 2))
        << "an instant lies in it";
    EXPECT_THAT(on({{K::kResource, "lock:b"}}, {}), ElementsAre(1, 3));
    EXPECT_THAT(on({{K::kPool, "main"}}, {}), ElementsAre(4));
    EXPECT_THAT(on({{K::kPartition, "3"}}, {}), ElementsAre(5));
    EXPECT_THAT(on({{K::kHost, "h2"}}, {kT0 + 1'000'000, INT64_MAX}), ElementsAre(6));
    EXPECT_THAT(on({{K::kHost, "h9"}}, {}), IsEmpty());
    ResourceQuery pool;
    pool.keys = {{K::kPool, "main"}};
    EXPECT_THAT(store_->OnResource("default", pool)->rows.id2, ElementsAre(3))
        << "the parent is known though it is not in the answer";
    Flush();
  }
}

// Page after page gives each row once, in order, wherever traces and equal starts are cut; also over several segments.
TEST_P(StoreConformance, OnResourceGoesOnBehindItsLimit) {
  constexpr uint64_t kRows = 60;
  for (uint64_t part = 0; part < 3; ++part) {
    BatchBuilder b;
    b.Process("front", "h1");
    for (uint64_t n = part; n < kRows;
         n += 3)  // every trace lies in each part, starts come in fours
      b.Span(T(n / 10), n + 1, 0, kT0 + static_cast<Nanos>(n / 4), 1000);
    b.Process("other", "h2").Span(T(1), 100 + part, 0, kT0, 1);
    Append(b.Take());
    if (part < 2) Flush();
  }
  for (size_t limit : {size_t{1}, size_t{7}, size_t{59}, size_t{60}}) {
    ResourceQuery query;
    query.keys = {{ResourceKey::kHost, "h1"}};
    query.limit = limit;
    std::vector<uint64_t> ids;
    Nanos last = 0;
    for (size_t pages = 0; pages <= kRows; ++pages) {
      const auto page = store_->OnResource("default", query);
      ASSERT_TRUE(page.ok()) << page.error().message;
      EXPECT_LE(page->rows.size(), limit);
      for (size_t i = 0; i < page->rows.size(); ++i) {
        EXPECT_GE(page->rows.start_ns[i], last);
        last = page->rows.start_ns[i];
        ids.push_back(page->rows.id1[i]);
      }
      if (!page->next) break;
      query.cursor = page->next;
    }
    EXPECT_EQ(std::set<uint64_t>(ids.begin(), ids.end()).size(), kRows) << limit;
    EXPECT_EQ(ids.size(), kRows) << limit;
  }
}

TEST_P(StoreConformance, Completion) {
  BatchBuilder b;
  b.Process("front", "h1", {{"zone", "eu"}})
      .Span(T(1), 1, 0, kT0, 1, "get")
      .Kind(SpanKind::kServer)
      .Text("color", "red")
      .Int("code", 200);
  b.Span(T(1), 2, 0, kT0, 1, "get")
      .Kind(SpanKind::kClient)
      .Text("color", "green")
      .Bool("code", true);
  b.Process("back")
      .Span(T(2), 3, 0, kT0, 1, "put")
      .Text("color", "rose")
      .Double("code", 1.5)
      .Text("id", "00000000000000ff");
  Append(b.Take());
  Flush();
  Append(BatchBuilder()
             .Process("apart")
             .Span(T(3), 1, 0, kT0, 1, "x")
             .Text("color", "blue")
             .Text("zone", "us")
             .Take());
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(*store_->Services("default"), ElementsAre("apart", "back", "front"));
    using O = Store::Operation;
    EXPECT_THAT(*store_->Operations("default", "front"),
                ElementsAre(O{"get", SpanKind::kServer}, O{"get", SpanKind::kClient}));
    EXPECT_THAT(*store_->Operations("default", "nobody"), IsEmpty());
    EXPECT_THAT(*store_->AttributeKeys("default", "", 100),
                ElementsAre("code", "color", "id", "zone"));
    EXPECT_THAT(*store_->AttributeKeys("default", "co", 1), ElementsAre("code"));
    EXPECT_THAT(*store_->AttributeValues("default", "color", "", 100),
                ElementsAre("blue", "green", "red", "rose"));
    EXPECT_THAT(*store_->AttributeValues("default", "color", "r", 100), ElementsAre("red", "rose"));
    EXPECT_THAT(*store_->AttributeValues("default", "color", "", 2), ElementsAre("blue", "green"));
    EXPECT_THAT(*store_->AttributeValues("default", "code", "", 100),
                ElementsAre("1.5", "200", "true"));
    EXPECT_THAT(*store_->AttributeValues("default", "id", "", 100),
                ElementsAre("00000000000000ff"));
    EXPECT_THAT(*store_->AttributeValues("default", "zone", "", 100), ElementsAre("eu", "us"));
    Flush();
  }
}

}  // namespace wf::store
