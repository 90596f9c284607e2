#include "analysis/provenance/trace_execution.h"

#include "analysis/provenance/trace_cases_test.h"

namespace wf::provenance {
namespace {

using testing::Explained;
using testing::ExplainRoot;
using testing::TraceCases;

std::string EventsOf(const std::string& text, const TraceExecutionOptions& options = {}) {
  TraceCases cases(text);
  return testing::Dump(MakeTraceExecution(cases.traces(), options), cases);
}

TEST(TraceExecution, SegmentsAreTheStretchesWithoutAChild) {
  EXPECT_EQ(EventsOf("span cart 0..100 process=shop kind=server\n"
                     "span price parent=cart 20..50 process=shop\n"
                     "span pack parent=cart 50..70 process=shop\n"),
            "INS shop 0..0 cart#input\n"
            "DRV shop 0..20 cart#0 <-cart#input {workers of shop}\n"
            "DRV shop 20..50 price#0 <-cart#0 {workers of shop}\n"
            "DRV shop 50..70 pack#0 <-cart#0 <-price#0 {workers of shop}\n"
            "DRV shop 70..100 cart#1 <-cart#0 <-price#0 <-pack#0 {workers of shop}\n");
}

TEST(TraceExecution, ARemoteCallSendsAndReceivesTwice) {
  EXPECT_EQ(EventsOf("span cart 0..100 process=shop kind=server\n"
                     "span ask parent=cart 10..80 process=shop kind=client\n"
                     "span get parent=ask 30..60 process=db kind=server wherefore.arrival_ns=15\n"),
            "INS shop 0..0 cart#input\n"
            "DRV shop 0..10 cart#0 <-cart#input {workers of shop}\n"
            "SND shop 10..10 get#send <-cart#0\n"
            "RCV db 15..15 get#receive <-get#send\n"
            "DRV db 30..60 get#0 <-get#receive ready 15 {workers of db}\n"
            "SND db 60..60 get#reply <-get#0\n"
            "RCV shop 80..80 get#answer <-get#reply\n"
            "DRV shop 80..100 cart#1 <-cart#0 <-get#answer {workers of shop since 10}\n");
}

TEST(TraceExecution, AnArrivalNotRecordedIsTheSendPlusTheLeastOneWayTime) {
  TraceCases cases(
      "span ask 0..80 process=shop kind=client\n"
      "span get parent=ask 50..60 process=db kind=server\n"
      "== 2\n"
      "span ask 0..20 process=shop kind=client\n"
      "span get parent=ask 7..10 process=db kind=server\n");
  const TraceExecution made = MakeTraceExecution(cases.traces());
  EXPECT_EQ(made.assumed.arrivals_estimated, 2);
  EXPECT_EQ(made.assumed.arrivals_recorded, 0);
  const std::string events = testing::Dump(made, cases);
  EXPECT_NE(events.find("RCV db 7..7 get#receive <-get#send\n"), std::string::npos) << events;
  EXPECT_NE(events.find("DRV db 50..60 get#0 <-get#receive ready 7 "), std::string::npos) << events;
}

// Figure 1 of Zeno: a request waits behind those of somebody it never heard of.
constexpr char kFlood[] =
    "span page 0..1000 process=frontend kind=server thread=1\n"
    "span ask parent=page 10..990 process=frontend kind=client thread=1\n"
    "span get parent=ask 920..980 process=storage kind=server thread=9 wherefore.arrival_ns=20\n"
    "== 2\n"
    "span sweep 0..2000 process=maintenance thread=5\n"
    "span a parent=sweep 5..315 process=maintenance kind=client thread=6\n"
    "span as parent=a name=scan 10..310 process=storage kind=server thread=9 "
    "wherefore.arrival_ns=10\n"
    "span b parent=sweep 5..615 process=maintenance kind=client thread=7\n"
    "span bs parent=b name=scan 310..610 process=storage kind=server thread=9 "
    "wherefore.arrival_ns=11\n"
    "span c parent=sweep 5..925 process=maintenance kind=client thread=8\n"
    "span cs parent=c name=scan 610..920 process=storage kind=server thread=9 "
    "wherefore.arrival_ns=12\n";

TEST(TraceExecution, AFloodIsNamedByItsOrigin) {
  const TraceCases cases(kFlood);
  const Explained found = ExplainRoot(cases, 0);
  EXPECT_EQ(found.explanation.delay_ns, 1000);
  // 10 + 10 the page itself, 10 + 10 on the wire, 60 its own query, 900 behind the three scans.
  EXPECT_EQ(found.Blame(),
            "900 storage scan of maintenance x3\n"
            "60 storage get of frontend\n"
            "20 frontend page of frontend\n"
            "10 frontend +get reply of frontend\n"
            "10 storage +get of frontend\n");
}

TEST(TraceExecution, WithoutThreadsLanesAreInferredFromConcurrency) {
  std::string text = kFlood;
  for (size_t at; (at = text.find(" thread=")) != std::string::npos;) text.erase(at, 9);
  const TraceCases cases(text);
  const Explained found = ExplainRoot(cases, 0);
  EXPECT_NE(found.Blame().find("900 storage scan of maintenance x3\n"), std::string::npos)
      << found.Blame();
  const TraceExecution made = MakeTraceExecution(cases.traces());
  for (const AssumedResource& r : made.assumed.resources) {
    if (r.resource != "workers of storage") continue;
    EXPECT_EQ(r.servers, 1);
    EXPECT_EQ(r.servers_by, ToldBy::kConcurrency);
    EXPECT_EQ(r.kind, ServerKind::kSynchronous);
    EXPECT_EQ(r.kind_by, ToldBy::kWaits);
  }
}

// Two workers that are both busy: whose departure let the request in is to blame.
TEST(TraceExecution, APoolOfTwoIsExplainedByWhoLeft) {
  const TraceCases cases(
      "span get 700..800 process=storage kind=server thread=1 wherefore.arrival_ns=100\n"
      "== 2\n"
      "span long 0..900 process=storage kind=server thread=2\n"
      "== 3\n"
      "span short 50..700 process=storage kind=server thread=1\n");
  TraceExecutionOptions options;
  const Trace& t = *cases.traces()[0];
  const uint64_t root = t.blocks[0].id;
  options.places = {{t.id, root, SpanSide::kStart, PlaceUse::kTo}};
  const TraceExecution made = MakeTraceExecution(cases.traces(), options);
  const auto x = testing::Build(made);
  ASSERT_TRUE(x.ok()) << x.error().message;
  ExplainOptions explain;
  explain.from = x->Find(ToHex(t.id) + ":" + ToHex64(root) + ":input");
  explain.to = x->Find(made.events[made.places[0]].id);
  const auto found = Explain(*x, explain);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->delay_ns, 600);
  Nanos by_short = 0;
  for (const ExplanationVertex& v : found->vertices) {
    if (x->start_ns[v.members[0]] == 50) by_short = v.delay_ns;
  }
  EXPECT_EQ(by_short, 600);
}

// A worker kept while its request waits for others, and one given up.
std::string TwoCalls(const std::string& threads_a, const std::string& threads_b) {
  return "span a 0..300 process=app kind=server" + threads_a +
         "\n"
         "span aq parent=a 10..290 process=app kind=client" +
         threads_a +
         "\n"
         "span as parent=aq 20..280 process=db kind=server wherefore.arrival_ns=20\n"
         "== 2\n"
         "span b 100..400 process=app kind=server wherefore.arrival_ns=90" +
         threads_b +
         "\n"
         "span bq parent=b 110..390 process=app kind=client" +
         threads_b +
         "\n"
         "span bs parent=bq 120..380 process=db kind=server wherefore.arrival_ns=120\n";
}

const AssumedResource* Workers(const TraceExecution& made, const std::string& of) {
  for (const AssumedResource& r : made.assumed.resources) {
    if (r.resource == "workers of " + of) return &r;
  }
  return nullptr;
}

TEST(TraceExecution, AThreadThatWorksOnTwoRequestsIsAsynchronous) {
  const TraceCases cases(TwoCalls(" thread=1", " thread=1"));
  const TraceExecution made = MakeTraceExecution(cases.traces());
  const AssumedResource* app = Workers(made, "app");
  ASSERT_NE(app, nullptr);
  EXPECT_EQ(app->kind, ServerKind::kAsynchronous);
  EXPECT_EQ(app->kind_by, ToldBy::kThreads);
  EXPECT_EQ(app->servers, 1);
  EXPECT_TRUE(testing::Build(made).ok());
}

TEST(TraceExecution, TwoThreadsForTwoRequestsAreSynchronous) {
  const TraceCases cases(TwoCalls(" thread=1", " thread=2"));
  const TraceExecution made = MakeTraceExecution(cases.traces());
  const AssumedResource* app = Workers(made, "app");
  ASSERT_NE(app, nullptr);
  EXPECT_EQ(app->kind, ServerKind::kSynchronous);
  EXPECT_EQ(app->servers, 2);
}

TEST(TraceExecution, WithoutThreadsNeverTwoAtWorkIsAsynchronous) {
  const TraceCases cases(TwoCalls("", ""));
  const TraceExecution made = MakeTraceExecution(cases.traces());
  const AssumedResource* app = Workers(made, "app");
  ASSERT_NE(app, nullptr);
  EXPECT_EQ(app->kind, ServerKind::kAsynchronous);
  EXPECT_EQ(app->kind_by, ToldBy::kConcurrency);
}

TEST(TraceExecution, AConfigOverrulesWhatTheDataTell) {
  const TraceCases cases(TwoCalls("", ""));
  TraceExecutionOptions options;
  options.workers = {{"app", 4, ServerKind::kSynchronous}};
  const TraceExecution made = MakeTraceExecution(cases.traces(), options);
  const AssumedResource* app = Workers(made, "app");
  ASSERT_NE(app, nullptr);
  EXPECT_EQ(app->kind, ServerKind::kSynchronous);
  EXPECT_EQ(app->kind_by, ToldBy::kConfig);
  EXPECT_EQ(app->servers, 4);
  EXPECT_EQ(app->servers_by, ToldBy::kConfig);
}

TEST(TraceExecution, AWaitForALockIsExplainedByWhoHeldIt) {
  const TraceCases cases(
      "span pay 100..600 process=bank thread=1\n"
      "lock_request l1 in=pay @200 label:lock=ledger\n"
      "lock_acquire l1 in=pay @500 label:lock=ledger\n"
      "lock_release l1 in=pay @550 label:lock=ledger\n"
      "== 2\n"
      "span audit 0..900 process=bank thread=2\n"
      "lock_request l2 in=audit @10 label:lock=ledger\n"
      "lock_acquire l2 in=audit @20 label:lock=ledger\n"
      "lock_release l2 in=audit @500 label:lock=ledger\n");
  const Explained found = ExplainRoot(cases, 0);
  EXPECT_EQ(found.Blame(),
            "300 bank audit of bank x1\n"
            "200 bank pay of bank\n");
}

// Who holds the lock waits for another service: that one is where the time went.
TEST(TraceExecution, ALockHeldDuringACallLeadsToTheCalled) {
  const TraceCases cases(
      "span pay 100..600 process=bank thread=1\n"
      "lock_request l1 in=pay @200 label:lock=ledger\n"
      "lock_acquire l1 in=pay @500 label:lock=ledger\n"
      "lock_release l1 in=pay @550 label:lock=ledger\n"
      "== 2\n"
      "span audit 0..900 process=bank thread=2\n"
      "span ask parent=audit 100..480 process=bank kind=client thread=2\n"
      "span archive parent=ask 100..480 process=archive kind=server thread=3 "
      "wherefore.arrival_ns=100\n"
      "lock_acquire l2 in=audit @20 label:lock=ledger\n"
      "lock_release l2 in=audit @500 label:lock=ledger\n");
  const Explained found = ExplainRoot(cases, 0);
  EXPECT_EQ(found.Blame(),
            "280 archive archive of bank x1\n"
            "200 bank pay of bank\n"
            "20 bank audit of bank x1\n");
}

// Seen from outside: the holdings are in a trace of their own, and belong to whom the threads worked for.
TEST(TraceExecution, WatchedLocksBelongToTheRequestsOfTheirThreads) {
  const std::string on = " process=bank@h process.pid=7 ";
  const TraceCases cases("span pay 100..600 thread=1" + on +
                         "\n"
                         "span check parent=pay 150..560 thread=1" +
                         on +
                         "\n"
                         "== 2\n"
                         "span audit 0..900 thread=2" +
                         on +
                         "\n"
                         "== 3\n"
                         "unit_begin u0 @10" +
                         on +
                         "\n"
                         "block_begin root in=u0 @10 name=locks~of~bank" +
                         on +
                         "\n"
                         "unit_begin u1 in=root @10 label:thread=1" +
                         on +
                         "\n"
                         "block_begin b1 in=u1 @10" +
                         on +
                         "\n"
                         "unit_begin u2 in=root @10 label:thread=2" +
                         on +
                         "\n"
                         "block_begin b2 in=u2 @10" +
                         on +
                         "\n"
                         "unit_begin u3 in=root @10 label:thread=3" +
                         on +
                         "\n"
                         "block_begin b3 in=u3 @10 name=thread_3" +
                         on +
                         "\n"
                         "lock_request l1 in=b1 @200 label:lock=0x10" +
                         on +
                         "\n"
                         "lock_acquire l1 in=b1 @500 label:lock=0x10" +
                         on +
                         "\n"
                         "lock_release l1 in=b1 @550 label:lock=0x10" +
                         on +
                         "\n"
                         "lock_acquire l2 in=b2 @20 label:lock=0x10" +
                         on +
                         "\n"
                         "lock_release l2 in=b2 @400 label:lock=0x10" +
                         on +
                         "\n"
                         "lock_acquire l3 in=b3 @400 label:lock=0x10" +
                         on +
                         "\n"
                         "lock_release l3 in=b3 @500 label:lock=0x10" +
                         on + "\n");
  const Explained found = ExplainRoot(cases, 0);
  EXPECT_EQ(found.Blame(),
            "200 bank audit of bank x1\n"
            "110 bank check of bank\n"
            "100 bank thread_3 of bank x1\n"
            "90 bank pay of bank\n");
  const auto waits = FindLockWaits(cases.traces());
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].trace, cases.traces()[0]);
  EXPECT_EQ(waits[0].wait.from_ns, 200);
  EXPECT_EQ(waits[0].wait.until_ns, 500);
}

TEST(TraceExecution, APartitionServesOneAfterAnother) {
  const std::string consumer = " process=worker kind=consumer messaging.destination.name=orders ";
  const TraceCases cases(
      "span put 0..500 process=shop\n"
      "span work parent=put 400..450 thread=1" +
      consumer +
      "messaging.destination.partition.id=0 wherefore.arrival_ns=10\n"
      "== 2\n"
      "span other 5..400 thread=1" +
      consumer +
      "messaging.destination.partition.id=0\n"
      "== 3\n"
      "span free 5..20 thread=2" +
      consumer + "messaging.destination.partition.id=1\n");
  TraceExecutionOptions options;
  const Trace& t = *cases.traces()[0];
  const auto block = [&](BlockKind kind) {
    for (const Block& b : t.blocks) {
      if (b.kind == kind) return b.id;
    }
    return uint64_t{0};
  };
  options.places = {{t.id, t.blocks[t.main_root()].id, SpanSide::kStart, PlaceUse::kFrom},
                    {t.id, block(BlockKind::kConsumer), SpanSide::kEnd, PlaceUse::kTo}};
  const TraceExecution made = MakeTraceExecution(cases.traces(), options);
  auto x = testing::Build(made);
  ASSERT_TRUE(x.ok()) << x.error().message;
  ExplainOptions explain;
  explain.from = x->Find(made.events[made.places[0]].id);
  explain.to = x->Find(made.events[made.places[1]].id);
  auto found = Explain(*x, explain);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const Explained explained{std::move(*x), std::move(*found)};
  EXPECT_EQ(explained.Blame(),
            "390 worker other of worker x1\n"
            "50 worker work of shop\n"
            "10 shop put of shop\n");
}

TEST(TraceExecution, AnItemOfAQueueWaitsForThoseBefore) {
  const TraceCases cases(
      "span web 0..500 process=app thread=1\n"
      "queue_put i1 in=web @100 label:queue=jobs\n"
      "span loop1 parent=web 50..450 process=app thread=2 async=\n"
      "queue_take i1 in=loop1 @300 label:queue=jobs\n"
      "queue_done i1 in=loop1 @400 label:queue=jobs\n"
      "== 2\n"
      "span web2 0..90 process=app thread=3\n"
      "queue_put i2 in=web2 @20 label:queue=jobs\n"
      "span loop2 parent=web2 30..310 process=app thread=2 async=\n"
      "queue_take i2 in=loop2 @40 label:queue=jobs\n"
      "queue_done i2 in=loop2 @300 label:queue=jobs\n");
  const TraceExecution made = MakeTraceExecution(cases.traces());
  bool waits = false;
  for (const ProvenanceEvent& e : made.events) {
    if (e.start_ns != 300 || e.end_ns != 400) continue;
    waits = true;
    EXPECT_EQ(e.ready_ns, 100);
    ASSERT_EQ(e.holds->size(), 1u);
    EXPECT_EQ((*e.holds)[0].resource, "queue jobs of app");
  }
  EXPECT_TRUE(waits);
  EXPECT_TRUE(testing::Build(made).ok());
}

// One connection: the second call begins while the first has it, and is sent when it is given back.
TEST(TraceExecution, AWaitForAConnectionIsExplainedByWhoHadIt) {
  const std::string client = " kind=client process=app db.client.connection.pool.name=db\n";
  const TraceCases cases(
      "span slow 0..1000 process=app thread=1\n"
      "span ask parent=slow 100..900 thread=1" +
      client +
      "span get parent=ask 610..890 process=db kind=server wherefore.arrival_ns=610 thread=8\n"
      "== 2\n"
      "span other 0..700 process=app thread=2\n"
      "span call parent=other 50..600 thread=2" +
      client +
      "span scan parent=call 60..590 process=db kind=server wherefore.arrival_ns=60 thread=9\n");
  const Explained found = ExplainRoot(cases, 0);
  EXPECT_EQ(found.Blame(),
            "490 db scan of app x1\n"
            "280 db get of app\n"
            "200 app slow of app\n"
            "10 app +get reply of app\n"
            "10 app +scan reply of app x1\n"
            "9 db +get of app\n"
            "1 app +get of app\n");
}

TEST(TraceExecution, NamedResourcesAreHeldAndMayBeConfigured) {
  const TraceCases cases(
      "span a 0..100 process=app wherefore.resource=gpu\n"
      "== 2\n"
      "span b 100..200 process=app wherefore.arrival_ns=20 wherefore.resource=gpu table=t1\n");
  TraceExecutionOptions options;
  options.resources = {{"table", "app", "", "table", 3}};
  const TraceExecution made = MakeTraceExecution(cases.traces(), options);
  ASSERT_EQ(made.servers.size(), 2u);
  EXPECT_EQ(made.servers[0].resource, "gpu");
  EXPECT_EQ(made.servers[0].servers, 1);
  EXPECT_EQ(made.servers[1].resource, "table t1");
  EXPECT_EQ(made.servers[1].servers, 3);
}

TEST(TraceExecution, ALinkToAnotherTraceIsACause) {
  // The batch serves what two requests asked for: one that was over, one that still ran.
  EXPECT_EQ(EventsOf("span put 0..40 process=shop kind=producer\n"
                     "== 2\n"
                     "span ask 10..100 process=shop kind=producer\n"
                     "== 3\n"
                     "span batch 60..90 process=mill kind=consumer link=1/put link=2/ask\n"),
            "INS shop 0..0 put#input\n"
            "DRV shop 0..40 put#0 <-put#input\n"
            "INS shop 10..10 ask#input\n"
            "DRV shop 10..60 ask#0 <-ask#input\n"
            "INS mill 60..60 batch#input\n"
            "DRV mill 60..90 batch#0 <-put#0 <-ask#0 <-batch#input {workers of mill}\n"
            "DRV shop 60..100 ask#1 <-ask#0\n");
}

TEST(TraceExecution, ALinkThatTimesDoNotPermitIsCounted) {
  TraceCases cases(
      "span late 50..80 process=shop\n"
      "== 2\n"
      "span batch 0..90 process=mill link=1/late link=1/nobody link=7/gone\n");
  const TraceExecution made = MakeTraceExecution(cases.traces());
  EXPECT_EQ(made.assumed.causes_dropped, 1);
  EXPECT_TRUE(testing::Build(made).ok());
}

TEST(TraceExecution, LinksInACircleAreCutByTime) {
  TraceCases cases(
      "span a 10..50 process=shop link=2/b\n"
      "== 2\n"
      "span b 10..50 process=mill link=1/a\n");
  const TraceExecution made = MakeTraceExecution(cases.traces());
  EXPECT_TRUE(testing::Build(made).ok());
}

TEST(TraceExecution, WhoIsLinkedToIsBlamedForItsTime) {
  // The mill answers once it was fed, by a request of somebody else's.
  const TraceCases cases(
      "span job 0..110 process=shop\n"
      "span ask parent=job 5..105 process=shop kind=client\n"
      "span get parent=ask 70..100 process=mill kind=server wherefore.arrival_ns=12 link=2/feed\n"
      "== 2\n"
      "span feed 20..70 process=farm\n");
  const Explained found = ExplainRoot(cases, 0);
  EXPECT_EQ(found.Blame(),
            "58 farm feed of farm\n"  // 8 of them before it came
            "30 mill get of shop\n"
            "10 shop job of shop\n"
            "7 mill +get of shop\n"
            "5 shop +get reply of shop\n");
}

TEST(TraceExecution, PlacesBeginAndEndWhereAsked) {
  TraceCases cases(
      "span cart 0..100 process=shop kind=server\n"
      "span price parent=cart 20..50 process=shop\n");
  TraceExecutionOptions options;
  const TraceId id = cases.traces()[0]->id;
  const uint64_t price = cases.Span(0, "price");
  options.places = {{id, price, SpanSide::kStart, PlaceUse::kFrom},
                    {id, price, SpanSide::kStart, PlaceUse::kTo},
                    {id, price, SpanSide::kEnd, PlaceUse::kFrom},
                    {id, price, SpanSide::kEnd, PlaceUse::kTo},
                    {id, 77, SpanSide::kEnd, PlaceUse::kTo}};
  const TraceExecution made = MakeTraceExecution(cases.traces(), options);
  ASSERT_EQ(made.places.size(), 5u);
  EXPECT_EQ(made.events[made.places[0]].start_ns, 20);
  EXPECT_EQ(made.events[made.places[1]].end_ns, 20);
  EXPECT_EQ(made.events[made.places[2]].start_ns, 50);
  EXPECT_EQ(made.events[made.places[3]].end_ns, 50);
  EXPECT_EQ(made.places[4], UINT32_MAX);
  EXPECT_TRUE(testing::Build(made).ok());
}

TEST(TraceExecution, TheOrderOfTheTracesDoesNotMatter) {
  TraceCases cases(kFlood);
  auto traces = cases.traces();
  const std::string one = testing::Dump(MakeTraceExecution(traces), cases);
  std::reverse(traces.begin(), traces.end());
  EXPECT_EQ(testing::Dump(MakeTraceExecution(traces), cases), one);
}

TEST(TraceExecution, WaitsAreFoundBeforeOthersAreKnown) {
  const TraceCases cases(kFlood);
  const Trace& trace = *cases.traces()[0];
  const auto waits = FindWaits(trace);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(trace.service(trace.blocks[waits[0].block]), "storage");
  EXPECT_EQ(waits[0].from_ns, 20);
  EXPECT_EQ(waits[0].until_ns, 920);
}

}  // namespace
}  // namespace wf::provenance
