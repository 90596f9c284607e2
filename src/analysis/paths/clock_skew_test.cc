#include "analysis/paths/clock_skew.h"

#include <gtest/gtest.h>

#include <random>

namespace wf::paths {
namespace {

constexpr NodeId kClient = 0, kWeb = 1, kDb = 2;

enum class Sighted { kBothEnds, kSenderOnly };

// web calls db once per request; each clock is ahead by its offset.
std::vector<Call> Trace(Nanos web_ahead, Nanos db_ahead, Sighted sighted) {
  std::mt19937 random(1);
  const auto wait = [&](Nanos least, Nanos mean) {
    return least + static_cast<Nanos>(std::exponential_distribution<double>(
                       1.0 / static_cast<double>(mean))(random));
  };
  std::vector<Call> calls;
  Nanos now = kSecond;
  for (int i = 0; i < 500; ++i) {
    now += wait(0, 50 * kMilli);
    const Nanos sent = now + wait(kMilli / 5, kMilli),
                received = sent + wait(kMilli / 2, kMilli / 5);
    const Nanos replied = received + wait(kMilli / 10, 3 * kMilli),
                returned = replied + wait(kMilli / 2, kMilli / 5);
    const Nanos answered = returned + wait(kMilli / 10, kMilli / 2);
    Call outer;  // only the server sees it
    outer.place = {1, calls.size() + 1};
    outer.caller = kClient;
    outer.callee = kWeb;
    outer.sent_ns = outer.received_ns = now + web_ahead;
    outer.replied_ns = outer.returned_ns = answered + web_ahead;
    outer.own_sent = outer.own_returned = false;
    calls.push_back(outer);
    Call inner;
    inner.place = {1, calls.size() + 1};
    inner.caller = kWeb;
    inner.callee = kDb;
    inner.sent_ns = sent + web_ahead;
    inner.replied_ns = replied + db_ahead;
    inner.own_received = inner.own_returned = sighted == Sighted::kBothEnds;
    inner.received_ns = inner.own_received ? received + db_ahead : inner.sent_ns;
    inner.returned_ns = inner.own_returned ? returned + web_ahead : inner.replied_ns;
    calls.push_back(inner);
  }
  return calls;
}

TEST(ClockSkew, ShowsInMessagesSightedAtBothEnds) {
  for (Nanos ahead : {-30 * kMilli, -kMilli, Nanos{0}, kMilli / 4, 40 * kMilli}) {
    const ClockSkew skew = EstimateSkew(Trace(kSecond, kSecond + ahead, Sighted::kBothEnds));
    EXPECT_EQ(skew.offset_ns.at(kWeb), 0);
    EXPECT_NEAR(static_cast<double>(skew.offset_ns.at(kDb)), static_cast<double>(ahead), 1e5);
    EXPECT_FALSE(skew.offset_ns.contains(kClient));  // it has no clock here
  }
}

TEST(ClockSkew, ShowsInWhatFollowsWhereOnlySendersSighted) {
  for (Nanos ahead : {-60 * kMilli, -4 * kMilli, 4 * kMilli, 60 * kMilli}) {
    const ClockSkew skew = EstimateSkew(Trace(0, ahead, Sighted::kSenderOnly));
    EXPECT_NEAR(static_cast<double>(skew.offset_ns.at(kDb)), static_cast<double>(ahead), 1e6);
    EXPECT_GE(skew.window_ns, kMilli);
    EXPECT_LE(skew.window_ns, 5 * kMilli);
  }
}

TEST(ClockSkew, ClocksThatMayAgreeAreLeftAlone) {
  const ClockSkew skew = EstimateSkew(Trace(0, 0, Sighted::kSenderOnly));
  EXPECT_EQ(skew.offset_ns.at(kDb), 0);
}

TEST(ClockSkew, RemovalUndoesIt) {
  std::vector<Call> calls = Trace(0, 25 * kMilli, Sighted::kBothEnds);
  const ClockSkew skew = EstimateSkew(calls);
  RemoveSkew(skew, calls);
  for (const Call& call : calls) {
    EXPECT_LE(call.sent_ns, call.received_ns);
    EXPECT_LE(call.replied_ns, call.returned_ns);
  }
  EXPECT_NEAR(static_cast<double>(EstimateSkew(calls).offset_ns.at(kDb)), 0, 1e3);
}

TEST(ClockSkew, OneWrongTimeDoesNotDecide) {
  std::vector<Call> calls = Trace(0, 2 * kMilli, Sighted::kBothEnds);
  calls[101].received_ns -= kHour;
  calls[203].returned_ns -= kHour;
  EXPECT_NEAR(static_cast<double>(EstimateSkew(calls).offset_ns.at(kDb)), 2e6, 1e5);
}

TEST(ClockSkew, NothingInNothingOut) { EXPECT_TRUE(EstimateSkew({}).offset_ns.empty()); }

}  // namespace
}  // namespace wf::paths
