#include "cluster/rate_shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <numeric>

#include "store/open/open_store.h"

namespace wf::cluster {
namespace {

double ShareOf(const RateShares& shares, const std::string& rate) {
  JsonParser parser;
  const std::string text = shares.SharesJson("default");
  const auto json = parser.Parse(text);
  EXPECT_TRUE(json.ok()) << text;
  return json->Get(rate).Number().value_or(1);
}

DemandSummary SummaryOf(const std::vector<double>& demands) {
  DemandSummary summary;
  for (const double demand : demands) summary.Add(demand);
  return summary;
}

TEST(RateDemand, WhoWantsLittleLeavesTheRestToTheOthers) {
  EXPECT_DOUBLE_EQ(SummaryOf({}).Share(), 1);
  EXPECT_DOUBLE_EQ(SummaryOf({100}).Share(), 1);
  EXPECT_DOUBLE_EQ(SummaryOf({100, 100}).Share(), 0.5);
  EXPECT_DOUBLE_EQ(SummaryOf({0.1, 100}).Share(), 0.9);
  EXPECT_DOUBLE_EQ(SummaryOf({0.125, 0.125}).Share(), 0.5) << "what nobody wants is divided, too";
}

TEST(RateDemand, GoesThroughJson) {
  JsonWriter json;
  SummaryOf({0.3, 0.3, 7}).Write(json);
  const std::string text = json.Take();
  JsonParser parser;
  const auto parsed = parser.Parse(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_DOUBLE_EQ(DemandSummary::Read(*parsed).Share(), SummaryOf({0.3, 0.3, 7}).Share());
}

// For any demands: all together get at most the rate, and the rate is used up when the demand is high enough.
RC_GTEST_PROP(RateDemand, TheSumKeepsTheRate, ()) {
  const auto numbers =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 10'000'000)));
  std::vector<double> demands;
  for (const int number : numbers) demands.push_back(number / 1e5);
  const double share = SummaryOf(demands).Share();
  RC_ASSERT(share > 0 && share <= 1);
  double used = 0, wanted = 0, loosely = 0;
  for (const double demand : demands) {
    used += std::min(demand, share);
    wanted += demand;
    loosely += std::min(demand, 2 * share);
  }
  RC_ASSERT(used <= 1 + 1e-9 || wanted <= 1 + 1e-9);
  RC_ASSERT(loosely >= std::min(1.0, wanted) * 0.5);
}

// Two receivers over one store, with clocks that the test controls.
class TwoReceivers : public testing::Test {
 protected:
  struct Receiver {
    Receiver(store::Store& store, std::string name, std::function<Nanos()> clock)
        : shares(clock),
          membership(
              [&] {
                MembershipOptions options;
                options.store = &store;
                options.instance = std::move(name);
                options.role = Role::kReceive;
                options.clock = clock;
                return options;
              }(),
              counters, [this] { return shares.OwnJson(); },
              [this](const Membership::Told& told) { shares.Heard(told); }) {}
    pipeline::Counters counters;
    RateShares shares;
    Membership membership;
  };

  void SetUp() override {
    char path[] = "/tmp/wherefore-shares-XXXXXX";
    directory_ = mkdtemp(path);
    auto opened = store::OpenStore(directory_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::unique_ptr<Receiver> Join(const std::string& name) {
    return std::make_unique<Receiver>(*store_, name, [this] { return now_; });
  }
  void Seconds(int n, const std::vector<Receiver*>& living) {
    for (int i = 0; i < n; ++i) {
      now_ += kSecond;
      for (Receiver* receiver : living) {
        const Status status = receiver->membership.Round();
        ASSERT_TRUE(status.ok()) << status.error().message;
      }
    }
  }

  Nanos now_ = kSecond;
  std::string directory_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(TwoReceivers, DivideAnOwnersRateAndGetItBackWhenOneDies) {
  auto a = Join("a"), b = Join("b");
  const Nanos wait = 60 * kSecond;  // the clients do not time out
  a->shares.Told("default", "client-1", "o:web=10", wait);
  b->shares.Told("default", "client-2", "o:web=20", wait);
  b->shares.Told("default", "client-3", "o:web=0.1,p:slow=3", wait);
  Seconds(4, {a.get(), b.get()});
  // The third client's demand is 0.1; the other two divide 0.9 (in steps of a tenth, rounded down).
  for (const Receiver* receiver : {a.get(), b.get()}) {
    const double share = ShareOf(receiver->shares, "o:web");
    EXPECT_LE(2 * share + 0.1, 1.0);
    EXPECT_GE(2 * share + 0.1, 0.85);
    EXPECT_EQ(ShareOf(receiver->shares, "p:slow"), 1) << "one client alone wants it";
  }
  EXPECT_EQ(a->membership.members(), 2);

  // kill -9: the process reports nothing any more. Within seconds the other process has its share.
  Seconds(10, {a.get()});
  EXPECT_EQ(a->membership.members(), 1);
  EXPECT_EQ(ShareOf(a->shares, "o:web"), 1);

  // The process is back, with its client.
  Seconds(4, {a.get(), b.get()});
  EXPECT_LT(ShareOf(a->shares, "o:web"), 0.5);
  EXPECT_EQ(ShareOf(a->shares, "o:web"), ShareOf(b->shares, "o:web"));

  // A process that stops deletes its document, so its share is free at once.
  b->membership.Stop();
  Seconds(1, {a.get()});
  EXPECT_EQ(a->membership.members(), 1);
}

// The limits of tenants are divided in the same way, between processes only.
TEST_F(TwoReceivers, DivideATenantsLimitByWhatIsAskedOfEach) {
  auto a = Join("a"), b = Join("b");
  a->shares.Want({{"shop", {{"spans_per_second", 4.0}, {"bytes_per_second", 0.1}}}});
  Seconds(4, {a.get(), b.get()});
  EXPECT_EQ(a->shares.LimitShare("shop", "spans_per_second"), 1) << "nobody else is asked for any";
  b->shares.Want({{"shop", {{"spans_per_second", 0.2}}}});
  Seconds(4, {a.get(), b.get()});
  for (const Receiver* receiver : {a.get(), b.get()}) {
    EXPECT_NEAR(receiver->shares.LimitShare("shop", "spans_per_second"), 0.8, 1e-9);
    EXPECT_EQ(receiver->shares.LimitShare("shop", "bytes_per_second"), 1);
    EXPECT_EQ(receiver->shares.LimitShare("garage", "spans_per_second"), 1);
    EXPECT_EQ(receiver->shares.SharesJson("shop"), "{}") << "no client's business";
    EXPECT_EQ(receiver->shares.clients(), 0);
  }
  b->shares.Want({{"shop", {{"spans_per_second", 7.0}}}});
  Seconds(4, {a.get(), b.get()});
  EXPECT_NEAR(a->shares.LimitShare("shop", "spans_per_second"), 0.5, 1e-9);
  Seconds(10, {a.get()});  // b was killed
  EXPECT_EQ(a->shares.LimitShare("shop", "spans_per_second"), 1);
}

TEST_F(TwoReceivers, AClientThatIsSilentIsForgotten) {
  auto a = Join("a");
  a->shares.Told("default", "client-1", "o:web=10", 2 * kSecond);
  a->shares.Told("default", "client-2", "o:web=10", 2 * kSecond);
  Seconds(1, {a.get()});
  EXPECT_LE(ShareOf(a->shares, "o:web"), 0.5);
  for (int i = 0; i < 10; ++i) {
    a->shares.Told("default", "client-1", "o:web=10", 2 * kSecond);
    Seconds(1, {a.get()});
  }
  EXPECT_EQ(ShareOf(a->shares, "o:web"), 1);
}

TEST_F(TwoReceivers, MalformedDemandIsLeftOut) {
  auto a = Join("a");
  a->shares.Told("default", "odd", "o:web=nan,o:web=-1,=5,o:web,o:x=1e400,o:y=3,", kSecond);
  a->shares.Told("default", "other", "o:web=3,o:y=3", kSecond);
  Seconds(1, {a.get()});
  EXPECT_EQ(ShareOf(a->shares, "o:web"), 1);
  EXPECT_LE(ShareOf(a->shares, "o:y"), 0.5);
}

TEST_F(TwoReceivers, TheFirstThatTailsKeepsHouse) {
  pipeline::Counters counters;
  const auto tailer = [&](const std::string& name, Role role) {
    MembershipOptions options;
    options.store = store_.get();
    options.instance = name;
    options.role = role;
    options.clock = [this] { return now_; };
    return std::make_unique<Membership>(
        options, counters, [] { return "{}"; }, [](const Membership::Told&) {});
  };
  auto a = tailer("a", Role::kReceive), b = tailer("b", Role::kTail), c = tailer("c", Role::kTail);
  for (int round = 0; round < 2; ++round)
    for (Membership* one : {a.get(), b.get(), c.get()}) ASSERT_TRUE(one->Round().ok());
  EXPECT_TRUE(b->LeadsTailers());
  EXPECT_FALSE(c->LeadsTailers());
  now_ += 8 * kSecond;
  ASSERT_TRUE(c->Round().ok());
  EXPECT_TRUE(c->LeadsTailers()) << "the one before has not been heard of";
}

}  // namespace
}  // namespace wf::cluster
