// The rules by which requests are followed, one by one, on made-up sightings.
#include "weaver/request_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "advice/expression.h"

namespace wf::weaver {
namespace {

using advice::Value;

advice::Program OneSlot(advice::Keep keep) {
  advice::Program program;
  program.query = 1;
  advice::Slot slot;
  slot.keep = keep;
  slot.limit = keep == advice::Keep::kAll ? 0 : 1;
  slot.columns = 1;
  program.slots = {slot};
  return program;
}

class Tracking {
 public:
  explicit Tracking(advice::Keep keep = advice::Keep::kAll, const PackLimits& limits = {})
      : program_(OneSlot(keep)), tracker(program_, limits) {}

  void Pack(uint64_t thread, int64_t value) {
    advice::Rows rows(1, 0);
    rows.AddColumn(Value(value));
    rows.EndRow(1);
    const std::string id(1, static_cast<char>(++events_));
    RequestTracker::ThreadBaggage(tracker, thread).Pack(program_, 0, events_, id, std::move(rows));
  }
  // What a thread would unpack: value and weight.
  std::vector<std::pair<int64_t, uint64_t>> Tuples(uint64_t thread) {
    const auto tuples = RequestTracker::ThreadBaggage(tracker, thread).Unpack(program_, 0);
    std::vector<std::pair<int64_t, uint64_t>> found;
    for (size_t row = 0; row < tuples.rows().size(); ++row)
      found.emplace_back(std::get<int64_t>(tuples.rows().columns(row)[0]),
                         tuples.rows().weight(row));
    std::sort(found.begin(), found.end());
    return found;
  }

  // A connection between port 1 (who asked for it) and `port`; direction 0 goes to the port, 1 comes back.
  MessageRecord Record(RecordKind kind, uint64_t thread, int direction, uint64_t position,
                       uint64_t bytes, uint16_t port = 80, uint64_t connection = 0) {
    MessageRecord record;
    record.header.kind = static_cast<uint32_t>(kind);
    record.header.thread = thread;
    record.stream.kind = static_cast<uint32_t>(StreamKind::kTcp);
    record.stream.source[0] = connection;
    record.stream.source_port = direction == 0 ? 1 : port;
    record.stream.target_port = direction == 0 ? port : 1;
    const bool sends = kind == RecordKind::kSendBegins || kind == RecordKind::kSendEnds;
    record.own = (direction == 0) == sends ? 1000 + connection : 2000 + connection;
    record.position = position;
    record.bytes = bytes;
    return record;
  }
  void Send(uint64_t thread, int direction, uint64_t position, uint64_t bytes, uint16_t port = 80,
            uint64_t connection = 0) {
    tracker.Take(Record(RecordKind::kSendBegins, thread, direction, position, 0, port, connection));
    tracker.Take(
        Record(RecordKind::kSendEnds, thread, direction, position, bytes, port, connection));
  }
  void Receive(uint64_t thread, int direction, uint64_t position, uint64_t bytes,
               uint16_t port = 80, uint64_t connection = 0) {
    tracker.Take(
        Record(RecordKind::kReceives, thread, direction, position, bytes, port, connection));
  }

 private:
  advice::Program program_;
  int64_t events_ = 0;

 public:
  RequestTracker tracker;
};

using Tuples = std::vector<std::pair<int64_t, uint64_t>>;
constexpr uint64_t kClient = 1, kServer = 2, kOther = 3;

TEST(RequestTracker, BytesCarryWhatTheSenderHadThen) {
  Tracking t;
  t.Pack(kClient, 1);
  t.Send(kClient, 0, 100, 10);
  t.Pack(kClient, 2);
  t.Receive(kServer, 0, 100, 10);
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{1, 1}}));
  EXPECT_EQ(t.Tuples(kClient), (Tuples{{1, 1}, {2, 1}}));
  EXPECT_EQ(t.tracker.RequestOf(kServer), t.tracker.RequestOf(kClient));
}

TEST(RequestTracker, AnAnswerIsJoinedAndNothingIsCountedTwice) {
  Tracking t;
  t.Pack(kClient, 1);
  t.Send(kClient, 0, 100, 10);
  t.Receive(kServer, 0, 100, 10);
  t.Pack(kServer, 2);
  EXPECT_EQ(t.Tuples(kClient), (Tuples{{1, 1}}));
  t.Send(kServer, 1, 500, 4);
  t.Receive(kClient, 1, 500, 4);
  EXPECT_EQ(t.Tuples(kClient), (Tuples{{1, 1}, {2, 1}}));
  // Round and round: instances become one and are still counted once.
  for (uint64_t i = 0; i < 200; ++i) {
    t.Pack(kClient, 3);
    t.Send(kClient, 0, 110 + i, 1);
    t.Receive(kServer, 0, 110 + i, 1);
    t.Pack(kServer, 4);
    t.Send(kServer, 1, 504 + i, 1);
    t.Receive(kClient, 1, 504 + i, 1);
  }
  EXPECT_EQ(t.Tuples(kClient), (Tuples{{1, 1}, {2, 1}, {3, 200}, {4, 200}}));
}

TEST(RequestTracker, BytesOfAnotherRequestTakeTheThreadOver) {
  Tracking t;
  t.Pack(kClient, 1);
  t.Send(kClient, 0, 100, 10);
  t.Pack(kOther, 2);
  t.Send(kOther, 0, 7, 10, 80, 5);
  t.Receive(kServer, 0, 100, 10);
  t.Pack(kServer, 3);
  t.Receive(kServer, 0, 7, 10, 80, 5);
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{2, 1}}));
}

TEST(RequestTracker, AReceiveThatMixesRequestsIsAmbiguous) {
  Tracking t;
  t.Pack(kClient, 1);
  t.Send(kClient, 0, 100, 10);
  t.Pack(kOther, 2);
  t.Send(kOther, 0, 110, 10);  // on the same connection
  t.Receive(kServer, 0, 100, 20);
  EXPECT_EQ(t.Tuples(kServer), Tuples{});
  EXPECT_EQ(t.tracker.RequestOf(kServer), 0u);
  EXPECT_EQ(t.tracker.TakeCounters().ambiguous, 1u);
}

TEST(RequestTracker, AMessageMayComeInPieces) {
  Tracking t;
  t.Pack(kClient, 1);
  t.Send(kClient, 0, 100, 10);
  t.Receive(kServer, 0, 100, 4);
  t.Receive(kServer, 0, 104, 6);
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{1, 1}}));
  // And be received before its send is over.
  t.Pack(kClient, 2);
  t.tracker.Take(t.Record(RecordKind::kSendBegins, kClient, 0, 110, 0));
  t.Receive(kServer, 0, 110, 3);
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{1, 1}, {2, 1}}));
  t.tracker.Take(t.Record(RecordKind::kSendEnds, kClient, 0, 110, 8));
  t.Receive(kOther, 0, 113, 5);
  EXPECT_EQ(t.Tuples(kOther), (Tuples{{1, 1}, {2, 1}}));
  t.Receive(kOther, 0, 118, 5);  // nobody's
  EXPECT_EQ(t.Tuples(kOther), (Tuples{{1, 1}, {2, 1}}));
}

TEST(RequestTracker, PositionsOfTcpWrap) {
  Tracking t;
  t.Pack(kClient, 1);
  t.Send(kClient, 0, 0xFFFFFFFAu, 4);
  t.Pack(kClient, 2);
  t.Send(kClient, 0, 0xFFFFFFFEu, 8);
  t.Pack(kClient, 3);
  t.Send(kClient, 0, 6, 8);
  t.Receive(kServer, 0, 0xFFFFFFFAu, 4);
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{1, 1}}));
  t.Receive(kServer, 0, 0xFFFFFFFEu, 8);
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{1, 1}, {2, 1}}));
  t.Receive(kServer, 0, 6, 8);
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{1, 1}, {2, 1}, {3, 1}}));
}

TEST(RequestTracker, AFailedSendCarriesNothing) {
  Tracking t;
  t.Pack(kClient, 1);
  t.Send(kClient, 0, 100, 0);  // would have blocked
  t.Receive(kServer, 0, 100, 10);
  EXPECT_EQ(t.Tuples(kServer), Tuples{});
}

TEST(RequestTracker, ThePooledThreadsNextRequestSeesNothing) {
  Tracking t;
  // Asked by somebody who is not followed.
  t.tracker.Take(t.Record(RecordKind::kReceivesUnmarked, kServer, 0, 0, 10));
  t.Pack(kServer, 1);
  t.tracker.Take(t.Record(RecordKind::kReceivesUnmarked, kServer, 0, 0, 10));
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{1, 1}}));  // the same request goes on
  t.Send(kServer, 1, 500, 4);
  t.tracker.Take(t.Record(RecordKind::kReceivesUnmarked, kServer, 0, 0, 10));
  EXPECT_EQ(t.Tuples(kServer), Tuples{});
  // Another connection of the same port.
  t.Pack(kServer, 2);
  t.tracker.Take(t.Record(RecordKind::kReceivesUnmarked, kServer, 0, 0, 10, 80, 9));
  EXPECT_EQ(t.Tuples(kServer), Tuples{});
  // What a server behind it answers is no new request.
  t.Pack(kServer, 3);
  t.tracker.Take(t.Record(RecordKind::kReceivesUnmarked, kServer, 1, 0, 10, 5432, 11));
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{3, 1}}));
}

TEST(RequestTracker, HandOffs) {
  Tracking t;
  t.Pack(kClient, 1);
  t.tracker.Give(kClient, "job 7");
  t.Pack(kClient, 2);
  t.Pack(kServer, 9);
  t.tracker.TakeOver(kServer, "job 7");
  EXPECT_EQ(t.Tuples(kServer), (Tuples{{1, 1}}));
  t.tracker.TakeOver(kServer, "job 7");  // given once, taken once
  EXPECT_EQ(t.Tuples(kServer), Tuples{});
}

TEST(RequestTracker, FirstAndMostRecentFollowCausality) {
  Tracking recent(advice::Keep::kMostRecent), first(advice::Keep::kFirst);
  for (Tracking* t : {&recent, &first}) {
    t->Pack(kClient, 1);
    t->Send(kClient, 0, 100, 10);
    t->Receive(kServer, 0, 100, 10);
    t->Pack(kServer, 2);
    t->Send(kServer, 1, 500, 4);
    t->Receive(kClient, 1, 500, 4);
  }
  EXPECT_EQ(recent.Tuples(kClient), (Tuples{{2, 1}}));
  EXPECT_EQ(first.Tuples(kClient), (Tuples{{1, 1}}));
}

TEST(RequestTracker, AThreadThatEndedLeavesNothing) {
  Tracking t;
  t.Pack(kClient, 1);
  t.tracker.Take(t.Record(RecordKind::kThreadEnds, kClient, 0, 0, 0));
  EXPECT_EQ(t.Tuples(kClient), Tuples{});
}

TEST(RequestTracker, ARequestPastItsLimitsIsMarkedOnceAndGoesOn) {
  PackLimits limits;
  limits.tuples = 3;
  Tracking t(advice::Keep::kAll, limits);
  for (int64_t i = 0; i < 3; ++i) t.Pack(kClient, i);
  const auto within = t.tracker.TakeCounters();
  EXPECT_EQ(within.marked, 0u);
  EXPECT_EQ(within.packed_tuples_max, 3u);
  EXPECT_GT(within.baggage_bytes_max, 0u);
  t.Pack(kClient, 3);
  t.Send(kClient, 0, 100, 10);
  t.Receive(kServer, 0, 100, 10);
  t.Pack(kServer, 4);
  t.Pack(kClient, 5);
  EXPECT_EQ(t.Tuples(kServer).size(), 5u);
  EXPECT_EQ(t.tracker.TakeCounters().marked, 1u) << "it is one request, wherever it goes";
  // Another one is another.
  for (int64_t i = 0; i < 4; ++i) t.Pack(kOther, i);
  EXPECT_EQ(t.tracker.TakeCounters().marked, 1u);
}

TEST(RequestTracker, BytesAreThoseOfBaggage) {
  PackLimits limits;
  limits.bytes = 100;
  Tracking t(advice::Keep::kAll, limits);
  uint64_t last = 0;
  for (int64_t i = 0; i < 2'000; ++i) {
    t.Pack(kClient, i * 1'000'003);
    const auto counters = t.tracker.TakeCounters();
    EXPECT_LE(last, counters.baggage_bytes_max);
    EXPECT_EQ(counters.marked != 0, last <= 100 && counters.baggage_bytes_max > 100) << i;
    last = counters.baggage_bytes_max;
  }
  EXPECT_GT(last, 2'000u * 3);
}

}  // namespace
}  // namespace wf::weaver
