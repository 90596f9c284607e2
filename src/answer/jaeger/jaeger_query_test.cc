#include "answer/jaeger/jaeger_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "store/memory/memory_store.h"

namespace wf::answer {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Nanos kStart = 1'700'000'000 * kSecond;

uint32_t AddProcess(EventBatch& b, const std::string& service) {
  const uint32_t begin = b.ArenaSize();
  PutVarint(b.strings.Intern("service.name"), b.bytes);
  PutString(service, b.bytes);
  PutVarint(b.strings.Intern("host.name"), b.bytes);
  PutString("host-of-" + service, b.bytes);
  b.processes.push_back(
      {b.strings.Intern(service), b.strings.Intern("host-of-" + service), begin, b.ArenaSize()});
  return static_cast<uint32_t>(b.processes.size() - 1);
}

struct SpanSpec {
  uint64_t trace, span, parent;
  uint32_t process;
  std::string name;
  SpanKind kind;
  Nanos start, duration;
  SpanStatus status = SpanStatus::kUnset;
};

void AddSpan(EventBatch& b, const SpanSpec& s) {
  b.AddRow();
  b.trace_lo.back() = s.trace;
  b.id1.back() = s.span;
  b.id2.back() = s.parent;
  b.parent_ref.back() = s.parent == 0 ? ParentRef::kNone : ParentRef::kChildOf;
  b.process.back() = s.process;
  b.name.back() = b.strings.Intern(s.name);
  b.kind.back() = s.kind;
  b.status.back() = s.status;
  b.start_ns.back() = kStart + s.start;
  b.end_ns.back() = kStart + s.start + s.duration;
  b.marks.back() = kHasStart | kHasEnd;
}

void AddText(EventBatch& b, const std::string& key, const std::string& text) {
  PutVarint(b.strings.Intern(key), b.bytes);
  PutString(text, b.bytes);
  b.EndAttributes();
}

// Trace 1: shop → cart → db; trace 2, newer: shop alone, failed.
EventBatch TwoTraces() {
  EventBatch b;
  const uint32_t shop = AddProcess(b, "shop"), cart = AddProcess(b, "cart"),
                 db = AddProcess(b, "db/main");
  b.scopes.push_back({});
  AddSpan(b, {1, 1, 0, shop, "GET /", SpanKind::kServer, 0, 10 * kMilli});
  AddSpan(b, {1, 2, 1, shop, "GET cart", SpanKind::kClient, kMilli, 8 * kMilli});
  AddSpan(b, {1, 3, 2, cart, "GET cart", SpanKind::kServer, 2 * kMilli, 6 * kMilli});
  AddText(b, "user", "u7");
  AddSpan(b, {1, 4, 3, db, "SELECT", SpanKind::kUnspecified, 3 * kMilli, kMilli});
  AddSpan(b, {2, 1, 0, shop, "GET /", SpanKind::kServer, kSecond, kMilli, SpanStatus::kError});
  return b;
}

// Every question that Jaeger's API has fails while `failure` is set.
class FailingStore : public store::memory::MemoryStore {
 public:
  Result<EventBatch> ReadTraces(const std::string& tenant,
                                const std::vector<TraceId>& ids) override {
    if (failure) return *failure;
    return MemoryStore::ReadTraces(tenant, ids);
  }
  Result<std::vector<std::string>> Services(const std::string& tenant) override {
    if (failure) return *failure;
    return MemoryStore::Services(tenant);
  }
  Result<std::vector<Operation>> Operations(const std::string& tenant,
                                            const std::string& service) override {
    if (failure) return *failure;
    return MemoryStore::Operations(tenant, service);
  }
  Status Scan(const std::string& tenant, const store::ScanOptions& options,
              const Take& take) override {
    if (failure) return *failure;
    return MemoryStore::Scan(tenant, options, take);
  }
  Result<DatasetRows> QueryRows(const std::string& tenant, const std::string& dataset,
                                const DatasetQuery& query) override {
    if (failure) return *failure;
    return MemoryStore::QueryRows(tenant, dataset, query);
  }
  std::optional<Error> failure;
};

class JaegerQuery : public testing::Test {
 protected:
  JaegerQuery() { EXPECT_TRUE(store_.AppendAndWait(TwoTraces()).ok()); }

  JaegerAnswer Get(const std::string& path, const QueryParams& params = {}) {
    auto answer = AnswerJaegerQuery(store_, "default", "GET", path, params, kStart + kMinute);
    EXPECT_TRUE(answer.has_value()) << path;
    return answer.value_or(JaegerAnswer{});
  }

  FailingStore store_;
};

const char kId1[] = "00000000000000000000000000000001";
const char kId2[] = "00000000000000000000000000000002";

TEST_F(JaegerQuery, Services) {
  const JaegerAnswer answer = Get("/api/services");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body,
            R"({"data":["cart","db/main","shop"],"total":3,"limit":0,"offset":0,"errors":null})");
  EXPECT_EQ(Get("/api/v3/services").body, R"({"services":["cart","db/main","shop"]})");
}

TEST_F(JaegerQuery, OperationsOfAServiceWhoseNameHasASlash) {
  const char expected[] = R"({"data":["SELECT"],"total":1,"limit":0,"offset":0,"errors":null})";
  EXPECT_EQ(Get("/api/services/db/main/operations").body, expected);
  EXPECT_EQ(Get("/api/services/nobody/operations").body,
            R"({"data":[],"total":0,"limit":0,"offset":0,"errors":null})");
}

TEST_F(JaegerQuery, OperationsWithKinds) {
  EXPECT_EQ(
      Get("/api/operations", {{"service", "shop"}}).body,
      R"({"data":[{"name":"GET /","spanKind":"server"},{"name":"GET cart","spanKind":"client"}],)"
      R"("total":2,"limit":0,"offset":0,"errors":null})");
  EXPECT_EQ(
      Get("/api/operations", {{"service", "shop"}, {"spanKind", "client"}}).body,
      R"({"data":[{"name":"GET cart","spanKind":"client"}],"total":1,"limit":0,"offset":0,"errors":null})");
  EXPECT_EQ(Get("/api/operations").status, 400);
  EXPECT_EQ(Get("/api/v3/operations", {{"service", "db/main"}}).body,
            R"({"operations":[{"name":"SELECT","spanKind":"internal"}]})");
  EXPECT_EQ(Get("/api/v3/operations", {{"service", "db/main"}, {"span_kind", "server"}}).body,
            R"({"operations":[]})");
}

TEST_F(JaegerQuery, TraceById) {
  const JaegerAnswer answer =
      Get(std::string("/api/traces/") + kId2, {{"start", "1"}, {"end", "2"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(
      answer.body,
      R"({"data":[{"traceID":"00000000000000000000000000000002","spans":[)"
      R"({"traceID":"00000000000000000000000000000002","spanID":"0000000000000001","operationName":"GET /",)"
      R"("references":[],"startTime":1700000001000000,"duration":1000,"tags":[)"
      R"({"key":"span.kind","type":"string","value":"server"},{"key":"error","type":"bool","value":true},)"
      R"({"key":"otel.status_code","type":"string","value":"ERROR"}],"logs":[],"processID":"p1",)"
      R"("warnings":null}],"processes":{"p1":{"serviceName":"shop","tags":[)"
      R"({"key":"host.name","type":"string","value":"host-of-shop"}]}},"warnings":null}],)"
      R"("total":0,"limit":0,"offset":0,"errors":null})");
  EXPECT_EQ(Get("/api/traces/2").body, answer.body);  // shorter ids are padded
}

TEST_F(JaegerQuery, UnknownAndMalformedIds) {
  const JaegerAnswer unknown = Get("/api/traces/abc");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(
      unknown.body,
      R"({"data":null,"total":0,"limit":0,"offset":0,"errors":[{"code":404,"msg":"trace not found"}]})");
  EXPECT_EQ(Get("/api/traces/xyz").status, 400);
  EXPECT_EQ(Get("/api/traces/1", {{"start", "yesterday"}}).status, 400);
  EXPECT_EQ(Get("/api/v3/traces/abc").status, 404);
  EXPECT_EQ(Get("/api/v3/traces/abc").body,
            R"({"error":{"httpCode":404,"message":"No traces found"}})");
  EXPECT_EQ(Get("/api/v3/traces/xyz").status, 400);
}

TEST_F(JaegerQuery, SearchIsNewestFirstAndLimited) {
  const JaegerAnswer both = Get("/api/traces", {{"service", "shop"}});
  ASSERT_EQ(both.status, 200);
  EXPECT_LT(both.body.find(std::string("{\"traceID\":\"") + kId2),
            both.body.find(std::string("{\"traceID\":\"") + kId1));
  EXPECT_THAT(both.body, HasSubstr("SELECT"));  // a found trace comes with all its spans
  const JaegerAnswer one = Get("/api/traces", {{"service", "shop"}, {"limit", "1"}});
  EXPECT_THAT(one.body, HasSubstr(kId2));
  EXPECT_THAT(one.body, Not(HasSubstr(kId1)));
}

struct SearchCase {
  QueryParams params;
  bool finds_first, finds_second;
};

TEST_F(JaegerQuery, SearchByEverythingGrafanaCanAskFor) {
  const std::string start = std::to_string(kStart / kMicro);
  const SearchCase cases[] = {
      {{{"operation", "GET cart"}}, true, false},
      {{{"tags", R"({"error":"true"})"}}, false, true},
      {{{"tags", R"({"span.kind":"client"})"}}, true, false},
      {{{"tags", R"({"span.kind":"consumer"})"}}, false, false},
      {{{"tags", R"({"host.name":"host-of-shop"})"}}, true, true},
      {{{"tags", R"({"user":"u7"})"}}, false, false},  // has it, but on a span of cart
      {{{"service", "cart"}, {"tags", R"({"user":"u7","span.kind":"server"})"}}, true, false},
      {{{"minDuration", "5ms"}}, true, false},
      {{{"maxDuration", "5ms"}}, false, true},
      {{{"start", start}, {"end", start}}, true, false},
      {{{"start", std::to_string(kStart / kMicro + 1)}}, false, true},
  };
  for (SearchCase c : cases) {
    if (FindParam(c.params, "service") == nullptr) c.params.emplace_back("service", "shop");
    const JaegerAnswer answer = Get("/api/traces", c.params);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body.find(kId1) != std::string::npos, c.finds_first) << c.params[0].second;
    EXPECT_EQ(answer.body.find(kId2) != std::string::npos, c.finds_second) << c.params[0].second;
  }
}

TEST_F(JaegerQuery, SeveralIdsWithOneMissing) {
  const JaegerAnswer answer =
      Get("/api/traces", {{"traceID", "2"}, {"traceID", "9"}, {"traceID", "1"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_LT(answer.body.find(kId2), answer.body.find(kId1));
  EXPECT_THAT(answer.body, HasSubstr(R"("errors":[{"msg":"trace not found",)"
                                     R"("traceID":"00000000000000000000000000000009"}])"));
}

TEST_F(JaegerQuery, ALimitAboveTheBoundIsHeldAndSaid) {
  EventBatch many;
  const uint32_t shop = AddProcess(many, "shop");
  many.scopes.push_back({});
  for (uint64_t i = 0; i < kJaegerMaxTraces; ++i) {
    AddSpan(many, {100 + i, 1, 0, shop, "op", SpanKind::kServer, static_cast<Nanos>(i), 1});
  }
  ASSERT_TRUE(store_.AppendAndWait(std::move(many)).ok());
  const JaegerAnswer answer = Get("/api/traces", {{"service", "shop"}, {"limit", "5000"}});
  EXPECT_THAT(answer.body, HasSubstr(R"({"msg":"limit 5000 was held at 1500"})"));
}

TEST_F(JaegerQuery, DependenciesCountCallsBetweenServices) {
  const QueryParams window = {{"endTs", std::to_string((kStart + kMinute) / kMilli)},
                              {"lookback", "3600000"}};
  const JaegerAnswer answer = Get("/api/dependencies", window);
  EXPECT_EQ(answer.body, R"({"data":[{"parent":"cart","child":"db/main","callCount":1},)"
                         R"({"parent":"shop","child":"cart","callCount":1}],)"
                         R"("total":5,"limit":2000000,"offset":0,"errors":null})");
  EXPECT_THAT(Get("/api/dependencies", {{"endTs", "1000"}, {"lookback", "1000"}}).body,
              HasSubstr(R"("data":[])"));
  EXPECT_EQ(Get("/api/dependencies", {{"lookback", "1h"}}).status, 400);
}

TEST_F(JaegerQuery, DependenciesOfSharedZipkinIds) {
  EventBatch b;
  const uint32_t a = AddProcess(b, "za"), c = AddProcess(b, "zc"), d = AddProcess(b, "zd");
  b.scopes.push_back({});
  AddSpan(b, {7, 1, 0, a, "call", SpanKind::kClient, 0, 10});
  AddSpan(b, {7, 1, 0, c, "call", SpanKind::kServer, 1, 8});  // same id: the client's callee
  // Called by the server, not by the client.
  AddSpan(b, {7, 2, 1, d, "work", SpanKind::kServer, 2, 3});
  ASSERT_TRUE(store_.AppendAndWait(std::move(b)).ok());
  const JaegerAnswer answer = Get("/api/dependencies", {{"service", "zc"}});
  EXPECT_THAT(answer.body, HasSubstr(R"("data":[{"parent":"za","child":"zc","callCount":1},)"
                                     R"({"parent":"zc","child":"zd","callCount":1}])"));
}

struct CallSpec {
  Nanos time;  // since kStart
  std::string caller, service;
};
DatasetTable Calls(const std::vector<CallSpec>& calls) {
  DatasetTable table;
  for (const ColumnDefinition& column : FixedDatasetColumns())
    table.columns.emplace_back().definition = column;
  for (const char* name : {"caller", "service"})
    table.columns.emplace_back().definition = {name, ColumnType::kText};
  for (const CallSpec& call : calls) {
    table.columns[0].AppendText(ToHex(TraceId{0, 1}));
    table.columns[1].AppendInt(kStart + call.time);
    table.columns[2].AppendText("");
    table.columns[3].AppendInt(1);
    call.caller.empty() ? table.columns[4].AppendNull() : table.columns[4].AppendText(call.caller);
    table.columns[5].AppendText(call.service);
  }
  return table;
}

TEST_F(JaegerQuery, DependenciesAreTheRowsOfTheCallDataset) {
  // The spans would say cart → db/main and shop → cart once: another answer than the rows'.
  ASSERT_TRUE(store_
                  .WriteRows("default", "calls",
                             Calls({{0, "", "shop"},
                                    {0, "shop", "cart"},
                                    {kSecond, "shop", "cart"},
                                    {kSecond, "cart", "cart"},  // its own: no link
                                    {kSecond, "cart", "bank"},
                                    {kHour, "shop", "late"}}),
                             {})
                  .ok());
  const auto window = [](Nanos end) {
    return QueryParams{{"endTs", std::to_string((kStart + end) / kMilli)}, {"lookback", "600000"}};
  };
  EXPECT_THAT(Get("/api/dependencies", window(kMinute)).body,
              HasSubstr(R"({"data":[{"parent":"cart","child":"bank","callCount":1},)"
                        R"({"parent":"shop","child":"cart","callCount":2}],"total":4,)"));
  // Rows but no link between two services: that is the answer, and no reason to look at spans.
  ASSERT_TRUE(store_.DropDataset("default", "calls").ok());
  ASSERT_TRUE(
      store_.WriteRows("default", "calls", Calls({{0, "", "shop"}, {kHour, "a", "b"}}), {}).ok());
  EXPECT_THAT(Get("/api/dependencies", window(kMinute)).body,
              HasSubstr(R"({"data":[],"total":1,)"));
}

TEST_F(JaegerQuery, DependenciesOfAWindowWithoutRowsAreCountedFromSpans) {
  const QueryParams window = {{"endTs", std::to_string((kStart + kMinute) / kMilli)},
                              {"lookback", "600000"}};
  const std::string spans = Get("/api/dependencies", window).body;
  EXPECT_THAT(spans, HasSubstr(R"({"parent":"shop","child":"cart","callCount":1})"));
  ASSERT_TRUE(store_.WriteRows("default", "calls", Calls({{kHour, "shop", "late"}}), {}).ok());
  EXPECT_EQ(Get("/api/dependencies", window).body, spans);
}

TEST_F(JaegerQuery, V3TracesAreOtlpGroupedByTrace) {
  EXPECT_EQ(
      Get(std::string("/api/v3/traces/") + kId2).body,
      R"({"result":{"resourceSpans":[{"resource":{"attributes":[)"
      R"({"key":"service.name","value":{"stringValue":"shop"}},)"
      R"({"key":"host.name","value":{"stringValue":"host-of-shop"}}]},"scopeSpans":[{"scope":{},"spans":[)"
      R"({"traceId":"00000000000000000000000000000002","spanId":"0000000000000001","name":"GET /","kind":2,)"
      R"("startTimeUnixNano":"1700000001000000000","endTimeUnixNano":"1700000001001000000",)"
      R"("status":{"code":2}}]}]}]}})");
  const JaegerAnswer both =
      Get("/api/v3/traces", {{"query.service_name", "shop"},
                             {"query.start_time_min", "2023-11-14T22:13:20Z"},
                             {"query.start_time_max", "2023-11-14T23:00:00Z"}});
  ASSERT_EQ(both.status, 200);
  // Three processes of trace 1 and one of trace 2: shop's spans of both are not in one group.
  size_t groups = 0;
  for (size_t at = 0; (at = both.body.find("\"resource\":", at)) != std::string::npos; ++at)
    ++groups;
  EXPECT_EQ(groups, 4u);
  EXPECT_EQ(Get("/api/v3/traces", {{"query.service_name", "shop"}}).status, 400);
}

void AddEvent(EventBatch& b, EventType type, uint64_t id1, uint64_t id2, uint32_t process,
              Nanos time, const std::string& name = {}) {
  b.AddRow();
  b.trace_lo.back() = 3;
  b.type.back() = type;
  b.id1.back() = id1;
  b.id2.back() = id2;
  b.process.back() = process;
  b.start_ns.back() = kStart + time;
  b.name.back() = b.strings.Intern(name);
  b.marks.back() = kHasStart;
}

TEST_F(JaegerQuery, BlocksOfOurOwnEventsAreSpans) {
  EventBatch b;
  const uint32_t native = AddProcess(b, "native"), back = AddProcess(b, "back");
  b.scopes.push_back({});
  AddEvent(b, EventType::kUnitBegin, 0x100, 0, native, 0, "main");
  AddEvent(b, EventType::kBlockBegin, 0x10, 0x100, native, 1'000, "handle");
  AddEvent(b, EventType::kPoint, 0x50, 0x10, native, 2'000, "checked");
  AddEvent(b, EventType::kBlockEnd, 0x10, 0x100, native, 9'000);
  AddEvent(b, EventType::kUnitEnd, 0x100, 0, native, 9'500);
  AddSpan(b, {3, 0x20, 0x10, back, "SELECT", SpanKind::kServer, 3'000, 4'000});
  ASSERT_TRUE(store_.AppendAndWait(std::move(b)).ok());
  const JaegerAnswer answer = Get("/api/traces/3");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.body,
              HasSubstr(R"("spanID":"0000000000000010","operationName":"handle","references":[],)"
                        R"("startTime":1700000000000001,"duration":8,)"));
  EXPECT_THAT(answer.body, HasSubstr(R"("logs":[{"timestamp":1700000000000002,"fields":[)"
                                     R"({"key":"event","type":"string","value":"checked"}]}])"));
  EXPECT_THAT(
      answer.body,
      HasSubstr(R"("operationName":"SELECT","references":[{"refType":"CHILD_OF",)"
                R"("traceID":"00000000000000000000000000000003","spanID":"0000000000000010"}])"));
  EXPECT_THAT(Get("/api/v3/traces/3").body,
              HasSubstr(R"("spanId":"0000000000000010","name":"handle")"));
  EXPECT_THAT(Get("/api/dependencies", {{"service", "native"}}).body,
              HasSubstr(R"("data":[{"parent":"native","child":"back","callCount":1}])"));
}

TEST_F(JaegerQuery, AnotherTenantSeesNothing) {
  EXPECT_EQ(AnswerJaegerQuery(store_, "other", "GET", "/api/traces/1", {})->status, 404);
  EXPECT_THAT(AnswerJaegerQuery(store_, "other", "GET", "/api/services", {})->body,
              HasSubstr(R"("data":[])"));
}

TEST_F(JaegerQuery, WhatIsNotJaegersIsLeftAlone) {
  for (const char* path : {"/", "/api", "/api/v1/traces", "/api/trace", "/api/services/",
                           "/api/services/x", "/api/v3/", "/api/v3/other", "/api/tracesx"}) {
    EXPECT_FALSE(AnswerJaegerQuery(store_, "default", "GET", path, {}).has_value()) << path;
  }
  EXPECT_FALSE(AnswerJaegerQuery(store_, "default", "POST", "/api/traces", {}).has_value());
  EXPECT_EQ(Get("/api/metrics/latencies").status, 501);
}

TEST_F(JaegerQuery, AFailingStoreIsAnErrorInJaegersForm) {
  store_.failure = EnvironmentError("disk gone", "mount it");
  for (const char* path :
       {"/api/services", "/api/services/s/operations", "/api/traces/1", "/api/dependencies"}) {
    const JaegerAnswer answer = Get(path);
    EXPECT_EQ(answer.status, 500) << path;
    EXPECT_THAT(answer.body,
                HasSubstr("\"errors\":[{\"code\":500,\"msg\":\"disk gone (mount it)\"}]"))
        << path;
  }
  for (const char* path : {"/api/v3/services", "/api/v3/traces/1"}) {
    EXPECT_EQ(Get(path).body, R"({"error":{"httpCode":500,"message":"disk gone"}})") << path;
  }
  store_.failure = Overloaded("busy");
  EXPECT_EQ(Get("/api/services").status, 503);
}

}  // namespace
}  // namespace wf::answer
