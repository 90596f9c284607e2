#include "analysis/paths/linking.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "analysis/paths/linking_delays.h"
#include "analysis/paths/linking_kernels.h"
#include "analysis/paths/linking_patterns.h"
#include "analysis/paths/linking_triggers.h"

namespace wf::paths {
namespace {

constexpr NodeId kClient = 0, kWeb = 1, kA = 2, kB = 3, kLog = 4;

// A small world: calls with the truth beside them, put in line order at the end.
class World {
 public:
  explicit World(uint32_t seed) : random_(seed) {}

  uint32_t Add(NodeId caller, NodeId callee, Nanos sent, Nanos returned, uint32_t parent) {
    Call call;
    call.caller = caller;
    call.callee = callee;
    call.sent_ns = call.received_ns = sent;
    call.returned_ns = call.replied_ns = returned;
    calls_.push_back({call, parent, static_cast<uint32_t>(calls_.size())});
    return static_cast<uint32_t>(calls_.size() - 1);
  }
  Call& operator[](uint32_t i) { return calls_[i].call; }

  Nanos Normal(Nanos mean, double share) {
    std::normal_distribution<double> normal(static_cast<double>(mean),
                                            share * static_cast<double>(mean));
    return std::max<Nanos>(1, static_cast<Nanos>(normal(random_)));
  }
  double Uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  Nanos Exponential(Nanos mean) {
    return static_cast<Nanos>(
        std::exponential_distribution<double>(1.0 / static_cast<double>(mean))(random_));
  }

  void Finish() {
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const Row& a, const Row& b) { return a.call.sent_ns < b.call.sent_ns; });
    std::vector<uint32_t> moved(calls_.size());
    for (uint32_t i = 0; i < calls_.size(); ++i) moved[calls_[i].was] = i;
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      calls_[i].call.place = {1, i + 1};
      calls.push_back(calls_[i].call);
      truth.push_back(calls_[i].parent == kNoParent ? kNoParent : moved[calls_[i].parent]);
    }
  }
  // Share of calls that have a parent and were given it.
  double Accuracy(const std::vector<Assignment>& assignments) const {
    double right = 0, all = 0;
    for (size_t i = 0; i < truth.size(); ++i) {
      if (truth[i] == kNoParent) continue;
      all += 1;
      right += assignments[i].parent == truth[i] ? 1 : 0;
    }
    return right / all;
  }

  std::vector<Call> calls;
  std::vector<uint32_t> truth;

 private:
  struct Row {
    Call call;
    uint32_t parent;
    uint32_t was;
  };
  std::mt19937 random_;
  std::vector<Row> calls_;
};

// web calls A, then B, one after the other; requests come at random.
World Serial(uint32_t seed, int requests, Nanos between, double deviation) {
  World world(seed);
  Nanos now = kSecond;
  for (int i = 0; i < requests; ++i) {
    now += world.Exponential(between);
    const uint32_t web = world.Add(kClient, kWeb, now, 0, kNoParent);
    Nanos at = now;
    for (NodeId callee : {kA, kB}) {
      const Nanos sent = at + world.Normal(20 * kMilli, deviation);
      at = sent + world.Normal(10 * kMilli, deviation);
      world.Add(kWeb, callee, sent, at, web);
    }
    world[web].replied_ns = world[web].returned_ns = at + world.Normal(5 * kMilli, deviation);
  }
  world.Finish();
  return world;
}

TEST(Linking, NothingInNothingOut) { EXPECT_TRUE(LinkCalls({}, {}).empty()); }

TEST(Linking, FollowsTheDelaysWhereRequestsOverlap) {
  const World world = Serial(1, 600, 30 * kMilli, 0.05);
  EXPECT_GT(world.Accuracy(LinkCalls(world.calls, {})), 0.97);
}

constexpr int kCrowdAtFirst = 30;
// web calls A or B, and sometimes one of them again. So many requests overlap that most calls cannot be told apart.
World Crowd(uint32_t seed, int requests, Nanos between) {
  World world(seed);
  Nanos now = kSecond;
  for (int i = 0; i < requests; ++i) {
    // The first ones come all at once: there is no quiet time to learn from.
    now += world.Exponential(i < kCrowdAtFirst ? kMilli / 10 : between);
    const uint32_t web = world.Add(kClient, kWeb, now, 0, kNoParent);
    Nanos at = now;
    for (int call = world.Uniform() < 0.75 ? 1 : 0; call < 2; ++call) {
      const Nanos sent = at + world.Normal(50 * kMilli, 0.1);
      at = sent + world.Normal(10 * kMilli, 0.1);
      world.Add(kWeb, world.Uniform() < 0.65 ? kA : kB, sent, at, web);
    }
    world[web].replied_ns = world[web].returned_ns = at + world.Normal(10 * kMilli, 0.1);
  }
  world.Finish();
  return world;
}

// How many requests made which calls, in order of time.
std::map<std::string, int> CallsMade(const World& world, const std::vector<uint32_t>& parents) {
  std::map<uint32_t, std::string> made;
  for (uint32_t i = 0; i < parents.size(); ++i) {
    if (world.calls[i].callee == kWeb) made[i];
    if (parents[i] != kNoParent) made[parents[i]] += world.calls[i].callee == kA ? 'A' : 'B';
  }
  std::map<std::string, int> counts;
  for (const auto& [web, calls] : made) ++counts[calls];
  return counts;
}

TEST(Linking, FindsHowOftenWhichCallsAreMadeInACrowd_slow) {
  const World world = Crowd(3, 1500, 3 * kMilli);  // some 25 requests in question for each call
  std::vector<uint32_t> parents;
  for (const Assignment& assignment : LinkCalls(world.calls, {}))
    parents.push_back(assignment.parent);
  const auto truth = CallsMade(world, world.truth);
  auto found = CallsMade(world, parents);
  int off = 0, all = 0;
  for (const auto& [calls, count] : truth) {
    off += std::max(0, count - found[calls]);
    all += count;
  }
  EXPECT_LT(off, all / 10);
}

TEST(Kernels, TellWhatSetsOffWhatWithoutKnowingWhoseItIs) {
  const World world = Crowd(5, 1500, 2 * kMilli);  // some 40 in question
  std::vector<uint32_t> incoming, outgoing;
  for (uint32_t i = 0; i < world.calls.size(); ++i)
    (world.calls[i].callee == kWeb ? incoming : outgoing).push_back(i);
  NodeProblem problem = MakeNodeProblem(world.calls, incoming, outgoing, 0);
  FindCandidates(problem);
  const Kernels kernels(problem);
  const auto weight = [](const TriggerCause& cause, double from, double to) {
    double sum = 0;
    for (const WeightedDelay& sample : cause.delays)
      if (sample.delay >= from && sample.delay <= to) sum += sample.weight;
    return sum;
  };
  // Most first calls come 50 ms after an arrival. By chance one in seven would be that near.
  for (uint32_t kind = 0; kind < 2; ++kind) {
    const TriggerCause& arrival = kernels.OfCallsTo(kind)[0];
    ASSERT_EQ(arrival.trigger, Trigger::kArrival);
    EXPECT_GT(weight(arrival, 40e6, 60e6), 0.5 * weight(arrival, 0, 1e12));
  }
  // Replies come 10 ms after the return of a call.
  for (size_t i : {1, 2}) {
    const TriggerCause& back = kernels.OfReplies()[i];
    ASSERT_EQ(back.trigger, Trigger::kReturnOf);
    EXPECT_GT(weight(back, 7e6, 13e6), 0.7 * weight(back, 0, 1e12));
  }
}

TEST(Linking, CallsSideBySideToOneCalleeAreTakenAsSuch) {
  // Each of two calls comes when it comes; told as a first and a second one, far fewer find their parent.
  World world(11);
  Nanos now = kSecond;
  for (int i = 0; i < 1000; ++i) {
    now += world.Exponential(15 * kMilli);
    const uint32_t web = world.Add(kClient, kWeb, now, 0, kNoParent);
    Nanos last = now;
    for (int n = 0; n < 2; ++n) {
      const Nanos sent = now + world.Normal(50 * kMilli, 0.2);
      const Nanos back = sent + world.Normal(10 * kMilli, 0.2);
      world.Add(kWeb, kA, sent, back, web);
      last = std::max(last, back);
    }
    world[web].replied_ns = world[web].returned_ns = last + world.Normal(10 * kMilli, 0.2);
  }
  world.Finish();
  EXPECT_GT(world.Accuracy(LinkCalls(world.calls, {})), 0.60);
}

TEST(Linking, WhatIsRareIsFoundAsOftenAsItIs) {
  // One call, or two one after the other, to A or to B, for two callers alike. Of those that call B twice learning once
  // found a quarter.
  World world(5);
  Nanos now = kSecond;
  for (int i = 0; i < 900; ++i) {
    now += world.Exponential(14 * kMilli);
    const NodeId caller = world.Uniform() < 0.6 ? kClient : kLog;
    const uint32_t web = world.Add(caller, kWeb, now, 0, kNoParent);
    Nanos at = now;
    for (int calls = world.Uniform() < 0.75 ? 1 : 2; calls > 0; --calls) {
      const NodeId callee = world.Uniform() < 0.65 ? kA : kB;
      const Nanos sent = at + world.Normal(50 * kMilli, 0.2);
      at = sent + world.Normal(10 * kMilli, 0.2);
      world.Add(kWeb, callee, sent, at, web);
    }
    world[web].replied_ns = world[web].returned_ns = at + world.Normal(10 * kMilli, 0.2);
  }
  world.Finish();
  // Parents by how many calls to A and to B they make.
  const auto count = [&](const auto& parent_of) {
    std::map<uint32_t, std::pair<int, int>> made;
    for (uint32_t i = 0; i < world.calls.size(); ++i) {
      if (parent_of(i) == kNoParent) continue;
      auto& [to_a, to_b] = made[parent_of(i)];
      ++(world.calls[i].callee == kA ? to_a : to_b);
    }
    std::map<std::pair<int, int>, double> parents;
    for (const auto& [parent, calls] : made) parents[calls] += 1;
    return parents;
  };
  const std::vector<Assignment> assignments = LinkCalls(world.calls, {});
  auto found = count([&](uint32_t i) { return assignments[i].parent; });
  for (const auto& [calls, often] : count([&](uint32_t i) { return world.truth[i]; })) {
    EXPECT_NEAR(found[calls], often, 4 + 0.2 * often)
        << calls.first << " A, " << calls.second << " B";
  }
}

TEST(Linking, CallsWithoutCandidatesAreRoots) {
  World world(1);
  world.Add(kWeb, kA, kSecond, 2 * kSecond, kNoParent);  // before anything came in
  world.Add(kClient, kWeb, 3 * kSecond, 4 * kSecond, kNoParent);
  world.Add(kWeb, kA, 3 * kSecond + kMilli, 3 * kSecond + 2 * kMilli, 1);
  world.Finish();
  const auto assignments = LinkCalls(world.calls, {});
  EXPECT_EQ(assignments[0].parent, kNoParent);
  EXPECT_DOUBLE_EQ(assignments[0].p, 1);
  EXPECT_EQ(assignments[1].parent, kNoParent);
  EXPECT_EQ(assignments[2].parent, 1u);
}

TEST(Linking, CallsAfterTheReplyFindTheirParent) {
  World world(3);
  Nanos now = kSecond;
  for (int i = 0; i < 400; ++i) {
    now += world.Exponential(40 * kMilli);
    const Nanos replied = now + world.Normal(10 * kMilli, 0.1);
    const uint32_t web = world.Add(kClient, kWeb, now, replied, kNoParent);
    const Nanos sent = replied + world.Normal(3 * kMilli, 0.1);
    world.Add(kWeb, kLog, sent, sent + kMilli, web);
  }
  world.Finish();
  EXPECT_GT(world.Accuracy(LinkCalls(world.calls, {})), 0.9);
}

TEST(Linking, CallsThatOutliveTheirParentFindIt) {
  World world(4);
  Nanos now = kSecond;
  for (int i = 0; i < 400; ++i) {
    now += world.Exponential(20 * kMilli);
    const uint32_t web =
        world.Add(kClient, kWeb, now, now + world.Normal(10 * kMilli, 0.05), kNoParent);
    const Nanos sent = now + world.Normal(5 * kMilli, 0.05);
    world.Add(kWeb, kLog, sent, sent + world.Normal(50 * kMilli, 0.3), web);
  }
  world.Finish();
  EXPECT_GT(world.Accuracy(LinkCalls(world.calls, {})), 0.93);
}

TEST(Linking, LostReturnsAreSurvived) {
  World world = Serial(5, 600, 60 * kMilli, 0.05);
  for (size_t i = 0; i < world.calls.size(); i += 40) {
    Call& call = world.calls[i];
    call.returned = false;
    call.returned_ns = call.sent_ns;
    call.replied_ns = call.received_ns;
  }
  EXPECT_GT(world.Accuracy(LinkCalls(world.calls, {})), 0.94);
}

// Delays that say nothing, and threads that say all or nothing.
World Threads(uint32_t threads) {
  World world(6);
  Nanos now = kSecond;
  for (uint32_t i = 0; i < 500; ++i) {
    now += world.Exponential(10 * kMilli);
    const uint32_t web = world.Add(kClient, kWeb, now, now + 100 * kMilli, kNoParent);
    const Nanos sent = now + static_cast<Nanos>(world.Uniform() * 90 * kMilli);
    const uint32_t a = world.Add(kWeb, kA, sent, sent + kMilli, web);
    world[web].received_thread = world[a].sent_thread = 1 + i % threads;
  }
  world.Finish();
  return world;
}

TEST(Linking, ThreadsDecideWhereTheyTell) {
  const World pool = Threads(64), loop = Threads(1);
  EXPECT_GT(pool.Accuracy(LinkCalls(pool.calls, {})), 0.99);
  // Nobody could: the test above is not idle.
  EXPECT_LT(loop.Accuracy(LinkCalls(loop.calls, {})), 0.9);
}

TEST(Linking, OnlyTheLastOfARequestGoesOn) {
  // Four calls of each request meet at the join; whichever replies last has stored the result.
  constexpr NodeId kJoin = 10, kStore = 11, kFirstPart = 20;
  World world(7);
  Nanos now = kSecond;
  for (int i = 0; i < 500; ++i) {
    now += world.Exponential(12 * kMilli);
    const uint32_t web = world.Add(kClient, kWeb, now, 0, kNoParent);
    Nanos last = 0;
    uint32_t last_call = 0;
    for (NodeId part = 0; part < 4; ++part) {
      const Nanos sent = now + world.Normal(kMilli, 0.3) * (part + 1);
      const Nanos joined = sent + world.Normal(kMilli, 0.3),
                  replied = joined + world.Normal(2 * kMilli, 0.3);
      const uint32_t call = world.Add(kWeb, kFirstPart + part, sent, replied + kMilli / 2, web);
      const uint32_t join = world.Add(kFirstPart + part, kJoin, joined, replied, call);
      if (replied > last) {
        last = replied;
        last_call = join;
      }
    }
    const Nanos sent = last, stored = sent + world.Normal(3 * kMilli, 0.3);
    world.Add(kJoin, kStore, sent, stored, last_call);
    const Nanos replied = stored + world.Normal(kMilli / 5, 0.3);
    world[last_call].replied_ns = world[last_call].returned_ns = replied;
    Call& part = world[last_call - 1];
    part.replied_ns = part.returned_ns = replied + kMilli / 2;
    world[web].replied_ns = world[web].returned_ns = replied + kMilli;
  }
  world.Finish();
  EXPECT_GT(world.Accuracy(LinkCalls(world.calls, {})), 0.93);
}

TEST(Linking, SureAndUnsureChoicesSaySo) {
  const World world = Serial(8, 1000, 15 * kMilli, 0.2);
  const auto assignments = LinkCalls(world.calls, {.candidates = 3});
  double sure = 0, sure_right = 0, unsure = 0, unsure_right = 0;
  for (size_t i = 0; i < assignments.size(); ++i) {
    const Assignment& a = assignments[i];
    if (world.truth[i] == kNoParent) continue;
    double sum = a.p;
    for (const Candidate& other : a.others) sum += other.p;
    EXPECT_LE(sum, 1 + 1e-9);
    EXPECT_LE(a.others.size(), 3u);
    (a.p > 0.95 ? sure : unsure) += 1;
    if (a.parent == world.truth[i]) (a.p > 0.95 ? sure_right : unsure_right) += 1;
  }
  EXPECT_GT(sure_right / sure, 0.95);
  EXPECT_LT(unsure_right / unsure, sure_right / sure);
}

TEST(Linking, ALongTraceIsLearntFromASample) {
  const World world = Serial(9, 12000, 40 * kMilli, 0.05);
  EXPECT_GT(world.Accuracy(LinkCalls(world.calls, {})), 0.97);
}

TEST(Linking, ANodeThatNeverAnswersStaysWithinBounds) {
  // Every call stays open for ever, one of them has all the children: work must not grow with the square.
  World world(10);
  const uint32_t web = world.Add(kClient, kWeb, kSecond, 0, kNoParent);
  for (int i = 0; i < 6000; ++i) {
    world.Add(kClient, kWeb, kSecond + i * kMilli, 0, kNoParent);
    world.Add(kWeb, kA, kSecond + i * kMilli + kMicro, 0, web);
  }
  world.Finish();
  for (Call& call : world.calls) call.returned = false;
  LinkCounts counts;
  const auto assignments = LinkCalls(world.calls, {}, &counts);
  EXPECT_EQ(assignments.size(), world.calls.size());
  EXPECT_GT(counts.candidates_cut, 0u);
}

// Calls that may look like anything.
rc::Gen<std::vector<Call>> AnyCalls() {
  return rc::gen::map(rc::gen::container<std::vector<std::array<uint32_t, 5>>>(
                          rc::gen::arbitrary<std::array<uint32_t, 5>>()),
                      [](const std::vector<std::array<uint32_t, 5>>& rows) {
                        std::vector<Call> calls;
                        for (const auto& row : rows) {
                          Call call;
                          call.place = {1, calls.size() + 1};
                          call.caller = row[0] % 5;
                          call.callee = row[1] % 5;
                          call.sent_ns = call.received_ns = row[2] % 1000 * kMilli;
                          call.returned = row[4] % 8 != 0;
                          call.replied_ns = call.returned_ns =
                              call.sent_ns + (call.returned ? row[3] % 100 * kMilli : 0);
                          call.own_received = row[4] % 3 != 0;
                          if (row[4] % 2 != 0)
                            call.sent_thread = call.received_thread = 1 + row[4] % 7;
                          calls.push_back(call);
                        }
                        return calls;
                      });
}

bool Same(const std::vector<Assignment>& a, const std::vector<Assignment>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const Assignment& x, const Assignment& y) { return x.parent == y.parent && x.p == y.p; });
}

RC_GTEST_PROP(Linking, ParentsAreCallsIntoTheCaller, ()) {
  const std::vector<Call> calls = *AnyCalls();
  const auto assignments = LinkCalls(calls, {.candidates = 2});
  RC_ASSERT(assignments.size() == calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    const Assignment& a = assignments[i];
    RC_ASSERT(a.p > 0 && a.p <= 1);
    if (a.parent == kNoParent) continue;
    RC_ASSERT(a.parent < calls.size() && a.parent != i);
    RC_ASSERT(calls[a.parent].callee == calls[i].caller);
    RC_ASSERT(calls[a.parent].received_ns <= calls[i].sent_ns + LinkOptions().skew_window);
  }
}

RC_GTEST_PROP(Linking, NoCallIsItsOwnAncestor, ()) {
  const std::vector<Call> calls = *AnyCalls();
  const auto assignments = LinkCalls(calls, {});
  for (size_t i = 0; i < calls.size(); ++i) {
    size_t steps = 0;
    for (uint32_t at = assignments[i].parent; at != kNoParent; at = assignments[at].parent) {
      RC_ASSERT(++steps <= calls.size());
    }
  }
}

RC_GTEST_PROP(Linking, NeitherThreadsNorNumbersOfNodesMatter, ()) {
  std::vector<Call> calls = *AnyCalls();
  const auto one = LinkCalls(calls, {.threads = 1});
  RC_ASSERT(Same(one, LinkCalls(calls, {.threads = 4})));
  for (Call& call : calls) {
    call.caller = 100 - 7 * call.caller;
    call.callee = 100 - 7 * call.callee;
  }
  RC_ASSERT(Same(one, LinkCalls(calls, {.threads = 2})));
}

TEST(TriggerMixture, ALaterCallIsNotUnlikelyBecauseLaterCallsAreRare) {
  // One parent in twenty makes a call before this one, whose return then sets it off.
  NodeProblem problem;
  problem.parent_kinds = 1;
  problem.child_kinds = 2;
  problem.parents.push_back({});
  problem.parents[0].replied = kSecond;
  LinkChild before;
  before.kind = 1;
  before.sent = 50 * kMilli;
  before.ended = 60 * kMilli;
  problem.children.push_back(before);
  const std::array<uint32_t, 2> frequent{0, 1};
  const std::array<uint32_t, 2> kids{0, 0};
  TriggerRows rows(problem, frequent);
  for (int i = 0; i < 400; ++i) {
    const Nanos spread = (i % 20) * kMilli;
    rows.Add(problem, {0, std::span(kids).first(1), 0, 40 * kMilli + spread});
    if (i % 20 == 0) rows.Add(problem, {0, kids, 1, 100 * kMilli + (i / 20) * kMilli});
  }
  const Moment later{0, kids, 1, 110 * kMilli};
  using Positions = TriggerMixture::Positions;
  const double apart = TriggerMixture(rows, Positions::kApart, 0).At(problem, later);
  const double alike = TriggerMixture(rows, Positions::kAlike, 0).At(problem, later);
  EXPECT_GT(apart, 8 * alike);
}

TEST(Patterns, AnOrderThatIsNeverSeenIsUnlikelyAlsoWhereCallsOverlap) {
  // A is always called before B. Calls to B first, and to A while that is out, were once as likely.
  NodeProblem problem;
  problem.parent_kinds = 1;
  problem.child_kinds = 2;
  const auto add = [&](uint32_t kind, Nanos sent, Nanos ended) {
    LinkChild child;
    child.kind = kind;
    child.sent = sent;
    child.ended = ended;
    problem.children.push_back(child);
    return static_cast<uint32_t>(problem.children.size() - 1);
  };
  const std::array<uint32_t, 2> usual{add(0, 10, 20), add(1, 30, 40)};
  const std::array<uint32_t, 2> overlapping{add(0, 10, 40), add(1, 30, 50)};
  const std::array<uint32_t, 2> reversed{add(1, 10, 40), add(0, 30, 50)};
  Patterns patterns;
  for (int i = 0; i < 200; ++i) {
    patterns.Add(problem, usual);
    patterns.AddOrder(problem, usual);
  }
  patterns.Finish();
  EXPECT_NEAR(patterns.Score(problem, overlapping), patterns.Score(problem, usual), 0.1);
  EXPECT_LT(patterns.Score(problem, reversed), patterns.Score(problem, usual) - 4);
}

TEST(DelayDensity, FollowsItsSamplesAndIntegratesToOne) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(50e6, 1e6);
  std::vector<WeightedDelay> samples;
  for (int i = 0; i < 2000; ++i) samples.push_back({normal(random), 1});
  std::sort(samples.begin(), samples.end(),
            [](const WeightedDelay& a, const WeightedDelay& b) { return a.delay < b.delay; });
  const DelayDensity density(samples, DelayDensity::Fit::kBins);
  double sum = 0;
  for (double at = 40e6; at < 60e6; at += 1e4) sum += density.At(at) * 1e4;
  EXPECT_NEAR(sum, 1, 0.1);
  EXPECT_NEAR(density.At(50e6) * 1e6, 0.399, 0.1);  // the normal density at its middle
  EXPECT_LT(density.At(60e6), density.At(50e6) / 1000);
  EXPECT_GT(density.At(-1e9), 0);
  // A curve that fits needs fewer numbers, and is taken; two modes are no normal curve.
  EXPECT_NEAR(DelayDensity(samples, DelayDensity::Fit::kBest).At(50e6) * 1e6, 0.399, 0.02);
  for (size_t i = 0; i < samples.size() / 2; ++i) samples[i].delay -= 40e6;
  const DelayDensity modes(samples, DelayDensity::Fit::kBest);
  EXPECT_LT(modes.At(30e6), modes.At(50.5e6) / 10);
}

TEST(DelayDensity, AFewDelaysOfAnotherCauseDoNotWidenTheCurve) {
  std::vector<WeightedDelay> samples;
  std::mt19937 random(4);
  std::normal_distribution<double> normal(50e6, 1e6);
  for (int i = 0; i < 400; ++i) samples.push_back({normal(random), 1});
  for (int i = 0; i < 6; ++i) samples.push_back({20e6 + i * 17e6, 1});  // what they follow was lost
  std::sort(samples.begin(), samples.end(),
            [](const WeightedDelay& a, const WeightedDelay& b) { return a.delay < b.delay; });
  const DelayDensity density(samples, DelayDensity::Fit::kBest);
  EXPECT_NEAR(density.At(50e6) * 1e6, 0.399, 0.03);
  EXPECT_GT(density.At(80e6) * 1e6, 2e-6);  // they stay possible
}

TEST(DelayDensity, OfNothingIsNowhereZero) { EXPECT_GT(DelayDensity().At(1e6), 0); }

}  // namespace
}  // namespace wf::paths
