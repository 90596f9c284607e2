#include "client/sampling/sampling.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "client/runtime/json_text.h"

namespace wherefore::client {
namespace {

TracerOptions Unlimited() {
  TracerOptions options;
  options.owner_rate = {};
  return options;
}

StartDecision Decide(Sampling& sampling, std::string_view name, std::vector<Label> properties = {},
                     std::string_view reached = {}) {
  return sampling.Decide({name, &properties, reached});
}

TEST(Glob, StarsStandForAnyText) {
  EXPECT_TRUE(GlobMatches("/cart*", "/cart/7"));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("a*b*c", "aXXbYbc"));
  EXPECT_FALSE(GlobMatches("a*b*c", "aXXbY"));
  EXPECT_FALSE(GlobMatches("cart", "/cart"));
}

TEST(TokenBucket, GivesItsBurstThenItsRate) {
  TokenBucket bucket({10, 3});  // one each 100 ms
  const int64_t t = 1'000'000'000'000;
  EXPECT_TRUE(bucket.Take(t) && bucket.Take(t) && bucket.Take(t));
  EXPECT_FALSE(bucket.Take(t));
  EXPECT_FALSE(bucket.Take(t + 99'000'000));
  EXPECT_TRUE(bucket.Take(t + 100'000'000));
  EXPECT_FALSE(bucket.Take(t + 100'000'000));
  bucket.GiveBack();
  EXPECT_TRUE(bucket.Take(t + 100'000'000));
  // However long nobody asks, no more than the burst gathers.
  int taken = 0;
  while (bucket.Take(t + 1'000'000'000'000)) ++taken;
  EXPECT_EQ(taken, 3);
}

TEST(TokenBucket, ThreadsTogetherGetNoMoreThanItHolds) {
  TokenBucket bucket({0.001, 100});
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) taken += bucket.Take();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 100);
}

TEST(Sampling, WithoutPoliciesTheGlobalBucketDecides) {
  TracerOptions options = Unlimited();
  options.global_rate = {0.001, 2};
  Sampling sampling(options, "shop", "h");
  EXPECT_TRUE(Decide(sampling, "GET /").start);
  EXPECT_EQ(Decide(sampling, "GET /").detail, 2);
  EXPECT_FALSE(Decide(sampling, "GET /").start);
  EXPECT_EQ(sampling.started(), 2u);
  EXPECT_EQ(sampling.refused(), 1u);
}

TEST(Sampling, AllRestraintsMustHold) {
  Sampling sampling(Unlimited(), "shop", "h");
  ASSERT_TRUE(sampling.Install(
      R"({"version":"1","policies":[{"policy":"p","owner":"o","probability":1,"detail":1,
          "where":{"name":"GET /cart*","region":["eu","us-*"],"shard":7,"service":"shop"}}]})"));
  EXPECT_TRUE(Decide(sampling, "GET /cart/1", {{"region", "us-east"}, {"shard", 7}}).start);
  EXPECT_FALSE(Decide(sampling, "GET /cart/1", {{"region", "ap"}, {"shard", 7}}).start);
  EXPECT_FALSE(Decide(sampling, "GET /cart/1", {{"region", "eu"}, {"shard", 8}}).start);
  EXPECT_FALSE(Decide(sampling, "GET /cart/1", {{"region", "eu"}}).start) << "an unknown property";
  EXPECT_FALSE(Decide(sampling, "POST /cart", {{"region", "eu"}, {"shard", 7}}).start);
}

TEST(Sampling, NamesAllOwnersThatGotATokenAndTakesTheFinestLevel) {
  TracerOptions options = Unlimited();
  options.owner_rate = {0.001, 1};  // one token each
  Sampling sampling(options, "shop", "h");
  ASSERT_TRUE(sampling.Install(R"({"policies":[
      {"policy":"a","owner":"web","probability":1,"detail":1},
      {"policy":"b","owner":"db","probability":1,"detail":3,"where":{"name":"two"}},
      {"policy":"c","owner":"web","probability":1,"detail":2},
      {"policy":"d","owner":"never","probability":0,"detail":3}]})"));
  StartDecision first = Decide(sampling, "one");
  EXPECT_TRUE(first.start);
  EXPECT_EQ(first.owners, "web");
  EXPECT_EQ(first.detail, 2) << "of the same owner's policies, one token for both";
  StartDecision second = Decide(sampling, "two");
  EXPECT_TRUE(second.start) << "web is out of tokens, db is not";
  EXPECT_EQ(second.owners, "db");
  EXPECT_EQ(second.detail, 3);
  EXPECT_FALSE(Decide(sampling, "two").start);
  EXPECT_EQ(sampling.refused(), 1u);
}

TEST(Sampling, TheGlobalBucketHoldsForAllOwners) {
  TracerOptions options = Unlimited();
  options.global_rate = {0.001, 1};
  options.owner_rate = {0.001, 1};
  Sampling sampling(options, "shop", "h");
  ASSERT_TRUE(sampling.Install(
      R"({"policies":[{"policy":"a","owner":"x","probability":1,"where":{"name":"x"}},
                                               {"policy":"b","owner":"y","probability":1,"where":{"name":"y"}}]})"));
  EXPECT_TRUE(Decide(sampling, "x").start);
  EXPECT_FALSE(Decide(sampling, "y").start);
  // An owner without tokens does not use up the global one.
  TracerOptions two = options;
  two.global_rate = {0.001, 2};
  Sampling other(two, "shop", "h");
  ASSERT_TRUE(other.Install(sampling.installed()));
  EXPECT_TRUE(Decide(other, "x").start);
  EXPECT_FALSE(Decide(other, "x").start);
  EXPECT_TRUE(Decide(other, "y").start);
}

TEST(TokenBucket, AShareIsThatPartOfRateAndBurst) {
  TokenBucket bucket({10, 4});
  const int64_t t = 1'000'000'000'000;
  bucket.SetShare(0.5, t);
  EXPECT_TRUE(bucket.Take(t) && bucket.Take(t));
  EXPECT_FALSE(bucket.Take(t));
  EXPECT_FALSE(bucket.Take(t + 199'000'000));
  EXPECT_TRUE(bucket.Take(t + 200'000'000));
  EXPECT_EQ(bucket.asked(), 5u);
}

TEST(TokenBucket, AChangeOfShareGivesNoTokens) {
  TokenBucket bucket({10, 4});
  const int64_t t = 1'000'000'000'000;
  while (bucket.Take(t)) {
  }
  for (const double share : {0.5, 0.1, 0.5, 0.25}) {
    bucket.SetShare(share, t);
    EXPECT_FALSE(bucket.Take(t)) << share;
  }
  bucket.SetShare(1, t);
  EXPECT_FALSE(bucket.Take(t + 99'000'000));
  EXPECT_TRUE(bucket.Take(t + 100'000'000));
}

TEST(Sampling, SharesDivideTheRatesAndDemandIsTold) {
  TracerOptions options;
  options.owner_rate = {1000, 10};
  Sampling sampling(options, "shop", "h");
  EXPECT_FALSE(sampling.Demand());  // nothing is limited
  ASSERT_TRUE(sampling.Install(
      R"({"policies":[{"policy":"a","owner":"web","rate":0.01}],"shares":{"p:a":0.5,"o:web":0.2}})"));
  EXPECT_EQ(sampling.Demand(), "");
  EXPECT_TRUE(Decide(sampling, "x").start);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(Decide(sampling, "x").start);
  const auto demand = sampling.Demand();
  ASSERT_TRUE(demand);
  // Ten were wanted of the policy's rate, the one that it let through of the owner's: as multiples of the rates.
  double of_policy = 0, of_owner = 0;
  ASSERT_EQ(std::sscanf(demand->c_str(), "p:a=%lf,o:web=%lf", &of_policy, &of_owner), 2) << *demand;
  EXPECT_NEAR(of_policy / of_owner, 10 / 0.01 * 1000, 10 / 0.01 * 1000 * 0.01);
  EXPECT_EQ(sampling.Demand(), "");
}

TEST(Sampling, RateStrategyAndItsBucketSurviveAnUpdate) {
  Sampling sampling(Unlimited(), "shop", "h");
  const std::string one = R"({"policies":[{"policy":"a","owner":"o","rate":0.001}]})";
  ASSERT_TRUE(sampling.Install(one));
  EXPECT_TRUE(Decide(sampling, "x").start);
  EXPECT_FALSE(Decide(sampling, "x").start);
  ASSERT_TRUE(sampling.Install(one));
  EXPECT_FALSE(Decide(sampling, "x").start) << "the same policy keeps its empty bucket";
  ASSERT_TRUE(sampling.Install(R"({"policies":[{"policy":"a","owner":"o","rate":0.002}]})"));
  EXPECT_TRUE(Decide(sampling, "x").start);
}

TEST(Sampling, ProbabilityIsAbout) {
  Sampling sampling(Unlimited(), "shop", "h");
  ASSERT_TRUE(sampling.Install(R"({"policies":[{"policy":"a","owner":"o","probability":0.25}]})"));
  int started = 0;
  for (int i = 0; i < 10'000; ++i) started += Decide(sampling, "x").start;
  EXPECT_NEAR(started, 2500, 300) << "seven standard deviations";
}

TEST(Sampling, MarkedPathsAndLifetimes) {
  Sampling sampling(Unlimited(), "shop", "h");
  ASSERT_TRUE(sampling.Install(
      R"({"policies":[{"policy":"a","owner":"o","probability":1,"reached":"retry"},
                      {"policy":"b","owner":"o","probability":1,"expires_ns":1}]})"));
  EXPECT_FALSE(Decide(sampling, "x").start) << "one waits for its path, the other has ended";
  EXPECT_FALSE(Decide(sampling, "x", {}, "other").start);
  EXPECT_TRUE(Decide(sampling, "x", {}, "retry").start);
}

TEST(Sampling, MalformedPoliciesChangeNothing) {
  Sampling sampling(Unlimited(), "shop", "h");
  const std::string good = R"({"policies":[{"policy":"a","owner":"o","probability":0}]})";
  ASSERT_TRUE(sampling.Install(good));
  for (const char* bad :
       {"", "[]", "{\"policies\":7}", "{\"policies\":[{}]}", "{\"policies\":[{\"policy\":\"a\"}]}",
        R"({"policies":[{"policy":"a","owner":"o"}]})",
        R"({"policies":[{"policy":"a","owner":"o","rate":0}]})",
        R"({"policies":[{"policy":"a","owner":"o","rate":1,"probability":1}]})",
        R"({"policies":[{"policy":"a","owner":"o","rate":1,"detail":4}]})"}) {
    EXPECT_FALSE(sampling.Install(bad)) << bad;
  }
  EXPECT_EQ(sampling.installed(), good);
  EXPECT_EQ(sampling.policies(), 1u);
}

TEST(JsonText, ReadsWhatItShouldAndRefusesTheRest) {
  const auto json = ParseJson(R"( {"a":[1,-2.5e3,true,null,"x\n\u00e9\ud83d\ude00"],"b":{}} )");
  ASSERT_TRUE(json);
  const auto& a = json->Get("a").children;
  ASSERT_EQ(a.size(), 5u);
  EXPECT_EQ(a[1].second.number, -2500);
  EXPECT_TRUE(a[2].second.boolean);
  EXPECT_EQ(a[4].second.text, "x\n\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(json->Get("c").type, JsonNode::Type::kNull);
  for (const char* bad :
       {"", "{", "{\"a\"}", "[1,]", "tru", "\"\\x\"", "\"\\ud800\"", "1 2", "--1", "nul"}) {
    EXPECT_FALSE(ParseJson(bad)) << bad;
  }
  EXPECT_FALSE(ParseJson(std::string(100, '[') + std::string(100, ']'))) << "too deep";
}

}  // namespace
}  // namespace wherefore::client
