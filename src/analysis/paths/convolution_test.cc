#include "analysis/paths/convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "analysis/paths/multi_tier_test.h"

namespace wf::paths {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A trace by its messages: "A>B" at a time.
class Trace {
 public:
  void Add(MessageKind kind, const std::string& from, const std::string& to, Nanos time,
           SightedBy by = SightedBy::kCommon, const std::string& id = "-", uint32_t input = 1) {
    Sighting s;
    s.time_ns = time;
    s.kind = kind;
    s.by = by;
    s.sender = nodes.Intern(from);
    s.receiver = nodes.Intern(to);
    s.id = id == "-" ? 0 : KeyOf(id);
    s.place = {input, sightings_.size() + 1};
    sightings_.push_back(s);
  }
  void Call(const std::string& from, const std::string& to, Nanos time) {
    Add(MessageKind::kCall, from, to, time);
  }
  void Return(const std::string& from, const std::string& to, Nanos time) {
    Add(MessageKind::kReturn, from, to, time);
  }
  void Message(const std::string& from, const std::string& to, Nanos time) {
    Add(MessageKind::kMessage, from, to, time);
  }

  Result<ConvolutionResult> Convolved(const ConvolutionOptions& options = {}) {
    std::stable_sort(sightings_.begin(), sightings_.end(),
                     [](const Sighting& a, const Sighting& b) { return a.time_ns < b.time_ns; });
    return Convolve(sightings_, nodes, options);
  }

  StringTable nodes;

 private:
  std::vector<Sighting> sightings_;
};

// "A>B 200", "A>B>C 200 30ms(150) 60ms(50)", …: each edge with the path that leads to it, in the result's order.
std::vector<std::string> Lines(const ConvolutionResult& result, const StringTable& nodes) {
  std::vector<std::string> paths(result.vertices.size()), out;
  for (const uint32_t root : result.roots) paths[root] = nodes.At(result.vertices[root]);
  for (const ConvolutionEdge& edge : result.edges) {
    paths[edge.to] = paths[edge.from] + ">" + std::string(nodes.At(result.vertices[edge.to]));
    std::string line = paths[edge.to] + " " + std::to_string(edge.count);
    for (const ConvolutionDelay& delay : edge.delays) {
      line += " " + std::to_string(delay.delay_ns / kMilli) + "ms";
      if (edge.delays.size() > 1) line += "(" + std::to_string(delay.count) + ")";
    }
    out.push_back(line);
  }
  return out;
}

// Instants that no period hides in: gaps from 0.3 to 2.3 s.
std::vector<Nanos> Starts(size_t count, uint64_t seed = 7) {
  std::mt19937_64 random(seed);
  std::vector<Nanos> out;
  Nanos now = 5'000 * kSecond;
  for (size_t i = 0; i < count; ++i) {
    now += 300 * kMilli + static_cast<Nanos>(random() % (2'000 * kMilli));
    out.push_back(now);
  }
  return out;
}

ConvolutionOptions WithQuantum(Nanos quantum) {
  ConvolutionOptions options;
  options.quantum_ns = quantum;
  return options;
}

TEST(Convolution, FindsTheVisitsOfARemoteCallAndNotItsDerivedPaths) {
  Trace trace;
  for (const Nanos t : Starts(200)) {
    trace.Call("A", "B", t);
    trace.Call("B", "C", t + 30 * kMilli);
    trace.Return("C", "B", t + 80 * kMilli);
    trace.Return("B", "A", t + 100 * kMilli);
  }
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(Lines(*result, trace.nodes),
              ElementsAre("A>B 200", "A>B>C 200 30ms", "A>B>C>B 200 50ms", "A>B>C>B>A 200 20ms"));
  EXPECT_EQ(result->suppressed.derived, 1u);  // A>B>A after 100 ms
  EXPECT_EQ(result->quantum_ns, 10 * kMilli);
}

TEST(Convolution, TellsTheSecondCallFromTheFirst) {
  Trace trace;
  size_t twice = 0;
  for (const Nanos t : Starts(300)) {
    trace.Call("A", "B", t);
    trace.Call("B", "C", t + 40 * kMilli);
    trace.Return("C", "B", t + 60 * kMilli);
    Nanos now = t + 60 * kMilli;
    if (++twice % 3 == 0) {
      trace.Call("B", "C", now + 30 * kMilli);
      trace.Return("C", "B", now + 50 * kMilli);
      now += 50 * kMilli;
    }
    trace.Return("B", "A", now + 10 * kMilli);
  }
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(Lines(*result, trace.nodes),
              ElementsAre("A>B 300", "A>B>C 300 40ms", "A>B>C>B 300 20ms", "A>B>C>B>A 200 10ms",
                          "A>B>C>B>C 100 30ms", "A>B>C>B>C>B 100 20ms", "A>B>C>B>C>B>A 100 10ms"));
}

TEST(Convolution, KeepsADirectAnswerBesideTheOneThatCallsOthers) {
  Trace trace;
  size_t i = 0;
  for (const Nanos t : Starts(400)) {
    trace.Call("A", "B", t);
    if (++i % 4 == 0) {
      trace.Return("B", "A", t + 20 * kMilli);
      continue;
    }
    trace.Call("B", "C", t + 30 * kMilli);
    trace.Return("C", "B", t + 80 * kMilli);
    trace.Return("B", "A", t + 100 * kMilli);
  }
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(Lines(*result, trace.nodes),
              ElementsAre("A>B 400", "A>B>C 300 30ms", "A>B>C>B 300 50ms", "A>B>C>B>A 300 20ms",
                          "A>B>A 100 20ms"));
}

TEST(Convolution, FreeMessagesHaveTheirDelaysByFallingCount) {
  Trace trace;
  size_t i = 0;
  for (const Nanos t : Starts(600)) {
    trace.Message("in", "relay", t);
    const Nanos delay = ++i % 6 == 0 ? 150 * kMilli : i % 6 == 1 ? 100 * kMilli : 0;
    trace.Message("relay", "out", t + delay);
    trace.Message("out", "box", t + delay + 20 * kMilli);
  }
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(Lines(*result, trace.nodes),
              ElementsAre("in>relay 600", "in>relay>out 600 0ms(400) 100ms(100) 150ms(100)",
                          "in>relay>out>box 600 20ms"));
}

TEST(Convolution, ForwardedCallsAndRepliesByAnother) {
  Trace trace;
  for (const Nanos t : Starts(100)) {
    trace.Call("A", "B", t);
    trace.Call("B", "C", t + 50 * kMilli);
    trace.Return("C", "A", t + 90 * kMilli);
  }
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(Lines(*result, trace.nodes),
              ElementsAre("A>B 100", "A>B>C 100 50ms", "A>B>C>A 100 40ms"));
}

TEST(Convolution, EachNodeIsMeasuredByItsOwnClock) {
  Trace trace;
  int n = 0;
  const Nanos b = 400 * kMilli, c = -3 * kSecond, wire = 15 * kMilli;  // how their clocks differ
  for (const Nanos t : Starts(200)) {
    const std::string id = std::to_string(++n);
    trace.Add(MessageKind::kMessage, "A", "B", t, SightedBy::kSender, id);
    trace.Add(MessageKind::kMessage, "A", "B", t + wire + b, SightedBy::kReceiver, id);
    const Nanos left = t + wire + 60 * kMilli;
    trace.Add(MessageKind::kMessage, "B", "C", left + b, SightedBy::kSender, id);
    trace.Add(MessageKind::kMessage, "B", "C", left + wire + c, SightedBy::kReceiver, id);
    trace.Add(MessageKind::kMessage, "C", "D", left + wire + 30 * kMilli + c, SightedBy::kSender,
              id);
  }
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->messages, 600u);
  EXPECT_THAT(Lines(*result, trace.nodes),
              ElementsAre("A>B 200", "A>B>C 200 60ms", "A>B>C>D 200 30ms"));
}

TEST(Convolution, WhatGoesBeforeIsNoEffect) {
  Trace trace;
  for (const Nanos t : Starts(200)) {
    trace.Message("A", "B", t);
    trace.Message("B", "C", t - 30 * kMilli);
  }
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(Lines(*result, trace.nodes), ElementsAre("A>B 200"));
  EXPECT_EQ(result->suppressed.negative, 1u);
}

TEST(Convolution, ARingEndsWhereItsMessagesComeBack) {
  Trace trace;
  // A token that goes round, a period of its own each time.
  Nanos now = 100 * kSecond;
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    trace.Message("A", "B", now);
    trace.Message("B", "C", now + 20 * kMilli);
    trace.Message("C", "A", now + 50 * kMilli);
    now += 50 * kMilli + 70 * kMilli;  // A waits 70 ms
    if (random() % 4 == 0) now += static_cast<Nanos>(random() % (3 * kSecond));
  }
  ConvolutionOptions options = WithQuantum(10 * kMilli);
  const auto no_root = trace.Convolved(options);
  ASSERT_FALSE(no_root.ok());
  EXPECT_THAT(no_root.error().hint, HasSubstr("--root"));
  options.roots = {"A"};
  const auto result = trace.Convolved(options);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(Lines(*result, trace.nodes),
              ElementsAre("A>B 300", "A>B>C 300 20ms", "A>B>C>A 300 30ms"));
  EXPECT_GT(result->suppressed.cycles, 0u);
  EXPECT_EQ(result->suppressed.deep, 0u);
}

TEST(Convolution, UnrelatedTrafficIsNotLinked) {
  Trace trace;
  for (const Nanos t : Starts(3'000, 1)) trace.Message("A", "B", t);
  for (const Nanos t : Starts(3'000, 2)) trace.Message("B", "C", t);
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(Lines(*result, trace.nodes), ElementsAre("A>B 3000"));
}

TEST(Convolution, AskedVarianceIsHowFarDelaysMayDiffer) {
  Trace trace;
  size_t i = 0;
  for (const Nanos t : Starts(600)) {
    trace.Message("A", "B", t);
    // Nine in ten after 500 ms, the others up to 40 ms earlier or later.
    const Nanos off = ++i % 10 == 0 ? (i % 20 == 0 ? -40 : 40) * kMilli : 0;
    trace.Message("B", "C", t + 500 * kMilli + off);
  }
  ConvolutionOptions options = WithQuantum(10 * kMilli);
  options.variance_ns = 0;
  const auto narrow = trace.Convolved(options);
  ASSERT_TRUE(narrow.ok());
  ASSERT_EQ(narrow->edges[1].delays.size(), 3u);
  EXPECT_EQ(narrow->edges[1].delays[0].count, 540u);
  options.variance_ns = 40 * kMilli;
  const auto wide = trace.Convolved(options);
  ASSERT_TRUE(wide.ok());
  ASSERT_EQ(wide->edges[1].delays.size(), 1u);
  EXPECT_EQ(wide->edges[1].count, 600u);
  EXPECT_EQ(wide->edges[1].delays[0].delay_ns, 500 * kMilli);
}

TEST(Convolution, SightingsOfOneMessageCountOnce) {
  Trace trace;
  int n = 0;
  for (const Nanos t : Starts(100)) {
    const std::string id = std::to_string(++n);
    for (const uint32_t input : {1u, 2u})
      trace.Add(MessageKind::kMessage, "A", "B", t + input, SightedBy::kCommon, id, input);
    trace.Add(MessageKind::kCall, "B", "C", t + 30 * kMilli, SightedBy::kCommon, id);
    trace.Add(MessageKind::kCall, "B", "C", t + 35 * kMilli, SightedBy::kCommon, id);
    trace.Add(MessageKind::kReturn, "C", "B", t + 60 * kMilli, SightedBy::kCommon, id);
  }
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->messages, 300u);
  EXPECT_EQ(result->duplicates, 100u);
  EXPECT_EQ(result->retransmissions, 100u);
}

TEST(Convolution, IdsMayBeUsedAgainAfterTheReturn) {
  Trace trace;
  for (const Nanos t : Starts(50)) {
    trace.Add(MessageKind::kCall, "A", "B", t, SightedBy::kCommon, "1");
    trace.Add(MessageKind::kReturn, "B", "A", t + 20 * kMilli, SightedBy::kCommon, "1");
  }
  const auto result = trace.Convolved(WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->messages, 100u);
  EXPECT_THAT(Lines(*result, trace.nodes), ElementsAre("A>B 50", "A>B>A 50 20ms"));
}

TEST(Convolution, NothingInNothingOut) {
  Trace trace;
  const auto result = trace.Convolved();
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->vertices, IsEmpty());
  EXPECT_GT(result->quantum_ns, 0);
}

TEST(Convolution, BadOptionsAreNamed) {
  Trace trace;
  trace.Message("A", "B", 0);
  ConvolutionOptions options;
  options.low = 5;
  EXPECT_EQ(trace.Convolved(options).error().code, ErrorCode::kBadInput);
  options = {};
  options.roots = {"nobody"};
  EXPECT_THAT(trace.Convolved(options).error().message, HasSubstr("nobody"));
  options.roots = {"B"};  // sends nothing
  EXPECT_FALSE(trace.Convolved(options).ok());
}

TEST(Convolution, TheQuantumFitsTheDelays) {
  for (const Nanos scale : {kMicro, kMilli, kSecond}) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> spread(50, 5);
    Trace trace;
    Nanos now = 1'000 * kSecond;
    for (int i = 0; i < 2'000; ++i) {
      now += static_cast<Nanos>(random() % static_cast<uint64_t>(400 * scale));
      trace.Message("A", "B", now);
      trace.Message("B", "C",
                    now + static_cast<Nanos>(spread(random) * static_cast<double>(scale)));
    }
    const auto result = trace.Convolved();
    ASSERT_TRUE(result.ok());
    // The spread is 5; a quantum of 5 to 20 shows it best.
    EXPECT_GE(result->quantum_ns, 5 * scale) << result->quantum_why;
    EXPECT_LE(result->quantum_ns, 20 * scale) << result->quantum_why;
    ASSERT_EQ(result->edges.size(), 2u);
    EXPECT_NEAR(static_cast<double>(result->edges[1].delays[0].delay_ns),
                static_cast<double>(50 * scale), static_cast<double>(result->quantum_ns));
    EXPECT_GT(result->edges[1].count, 1'800u);
  }
}

TEST(Convolution, ABillionQuantaArePractical) {
  Trace trace;
  std::mt19937_64 random(11);
  for (int i = 0; i < 20'000; ++i) {
    const auto t = static_cast<Nanos>(random() % static_cast<uint64_t>(1'000 * kSecond));
    trace.Message("A", "B", t);
    trace.Message("B", "C", t + 1'234 * kMicro);
    trace.Message("C", "D", t + 5'678 * kMicro);
  }
  const auto result = trace.Convolved(WithQuantum(kMicro));
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->edges.size(), 3u);
  EXPECT_EQ(result->edges[1].delays[0].delay_ns, 1'234 * kMicro);
  EXPECT_EQ(result->edges[2].delays[0].delay_ns, 4'444 * kMicro);
  EXPECT_GT(result->edges[2].count, 19'900u);
  EXPECT_EQ(result->correlations.transformed, 0u);
}

// Paths from the root to where they end, with the messages that made the last visit.
std::map<std::string, uint64_t> Paths(const ConvolutionResult& result, const StringTable& nodes) {
  std::vector<std::string> names(result.vertices.size());
  std::vector<uint64_t> counts(result.vertices.size());
  std::vector<bool> goes_on(result.vertices.size());
  for (const uint32_t root : result.roots) names[root] = nodes.At(result.vertices[root]);
  for (const ConvolutionEdge& edge : result.edges) {
    names[edge.to] = names[edge.from] + " " + std::string(nodes.At(result.vertices[edge.to]));
    counts[edge.to] = edge.count;
    goes_on[edge.from] = true;
  }
  std::map<std::string, uint64_t> out;
  for (size_t v = 0; v < names.size(); ++v)
    if (!goes_on[v]) out[names[v]] = counts[v];
  return out;
}

// The main delay on the way "from X to Y", after a path.
Nanos DelayOf(const ConvolutionResult& result, const StringTable& nodes, const std::string& path) {
  std::vector<std::string> names(result.vertices.size());
  for (const uint32_t root : result.roots) names[root] = nodes.At(result.vertices[root]);
  for (const ConvolutionEdge& edge : result.edges) {
    names[edge.to] = names[edge.from] + " " + std::string(nodes.At(result.vertices[edge.to]));
    if (names[edge.to] == path && !edge.delays.empty()) return edge.delays.front().delay_ns;
  }
  return -1;
}

TEST(Convolution, FindsTheFrequentPathsOfMultiTier) {
  MultiTierOptions options;
  options.duration = 250 * kSecond;
  const MultiTier system(options);
  const auto result = Convolve(system.sightings, system.nodes, WithQuantum(10 * kMilli));
  ASSERT_TRUE(result.ok());
  const std::map<std::string, uint64_t> found = Paths(*result, system.nodes);
  uint64_t requests = 0, frequent = 0;
  for (const auto& [path, count] : system.truth) requests += count;
  for (const auto& [path, count] : system.truth) {
    if (count * 100 < requests * 2) continue;
    ++frequent;
    ASSERT_TRUE(found.contains(path)) << path << " " << count;
    if (count * 100 < requests * 4) continue;  // of the rarer ones, chance is a large part
    EXPECT_NEAR(static_cast<double>(found.at(path)), static_cast<double>(count),
                static_cast<double>(count))  // half of a window's messages may be chance
        << path;
  }
  EXPECT_GE(frequent, 10u);
  for (const auto& [path, count] : found) {
    if (count * 100 < requests * 2) continue;
    EXPECT_TRUE(system.truth.contains(path)) << path << " " << count;
  }
}

TEST(Convolution, AddedDelayShowsAtItsNodeWithinOneQuantum) {
  const Nanos quantum = 10 * kMilli, added = 200 * kMilli;
  MultiTierOptions options;
  options.duration = 250 * kSecond;
  const MultiTier normal(options);
  options.added = added;
  const MultiTier slow(options);
  const auto before = Convolve(normal.sightings, normal.nodes, WithQuantum(quantum));
  const auto after = Convolve(slow.sightings, slow.nodes, WithQuantum(quantum));
  ASSERT_TRUE(before.ok() && after.ok());
  const std::string auth = "client WS2 AUTH DB1 AUTH WS2";
  for (const std::string ap : {"AP1", "AP2"}) {
    const Nanos was = DelayOf(*before, normal.nodes, auth + " " + ap);
    const Nanos is = DelayOf(*after, slow.nodes, auth + " " + ap);
    ASSERT_GE(was, 0);
    EXPECT_LE(std::abs(was - 50 * kMilli), quantum);
    EXPECT_LE(std::abs(is - was - added), quantum) << ap;
  }
  // And nowhere else on the way.
  for (const std::string path :
       {"client WS2 AUTH", "client WS2 AUTH DB1", "client WS2 AUTH DB1 AUTH", "client WS1 AUTH",
        "client WS1 AUTH DB1 AUTH WS1 AP1", "client WS2 AUTH DB1 AUTH WS2 AP1 DB1",
        "client WS2 AUTH DB1 AUTH WS2 AP1 DB1 AP1 WS2 client"}) {
    const Nanos was = DelayOf(*before, normal.nodes, path);
    ASSERT_GE(was, 0) << path;
    EXPECT_LE(std::abs(DelayOf(*after, slow.nodes, path) - was), quantum) << path;
  }
}

bool Same(const ConvolutionResult& a, const ConvolutionResult& b) {
  if (a.vertices != b.vertices || a.roots != b.roots || a.edges.size() != b.edges.size())
    return false;
  for (size_t i = 0; i < a.edges.size(); ++i) {
    const ConvolutionEdge &x = a.edges[i], &y = b.edges[i];
    if (x.from != y.from || x.to != y.to || x.count != y.count ||
        x.delays.size() != y.delays.size())
      return false;
    for (size_t d = 0; d < x.delays.size(); ++d)
      if (x.delays[d].delay_ns != y.delays[d].delay_ns || x.delays[d].count != y.delays[d].count)
        return false;
  }
  return true;
}

RC_GTEST_PROP(ConvolutionProperty, TheMethodOfCorrelationNeverShows, ()) {
  Trace trace;
  const auto names = std::vector<std::string>{"A", "B", "C", "D"};
  const int requests = *rc::gen::inRange(1, 120);
  std::mt19937_64 random(*rc::gen::arbitrary<uint64_t>());
  const uint64_t gap = 1 + random() % 400;
  Nanos now = 0;
  for (int i = 0; i < requests; ++i) {
    now += static_cast<Nanos>(random() % gap) * kMilli;
    Nanos at = now;
    trace.Message("root", "A", at);
    for (size_t hop = 0; hop < random() % 5; ++hop) {
      at += static_cast<Nanos>(random() % 3) * 17 * kMilli;
      trace.Message(names[hop % 4], names[random() % 4], at);
    }
  }
  ConvolutionOptions options = WithQuantum(5 * kMilli);
  options.method = CorrelationMethod::kDirect;
  const auto direct = trace.Convolved(options);
  RC_ASSERT(direct.ok());
  for (const auto method : {CorrelationMethod::kTransform, CorrelationMethod::kByCost}) {
    options.method = method;
    const auto other = trace.Convolved(options);
    RC_ASSERT(other.ok());
    RC_ASSERT(Same(*direct, *other));
  }
}

// What holds of every result, whatever the messages.
RC_GTEST_PROP(ConvolutionProperty, ResultsAreForestsOfRealMessages, ()) {
  Trace trace;
  const auto names = std::vector<std::string>{"A", "B", "C", "D", "E"};
  std::mt19937_64 random(*rc::gen::arbitrary<uint64_t>());
  const int messages = *rc::gen::inRange(0, 300);
  std::map<std::pair<NodeId, NodeId>, uint64_t> sent;
  for (int i = 0; i < messages; ++i) {
    const std::string &from = names[random() % 5], &to = names[random() % 5];
    trace.Message(from, to, static_cast<Nanos>(random() % 2'000) * kMilli);
    ++sent[{trace.nodes.Intern(from), trace.nodes.Intern(to)}];
  }
  ConvolutionOptions options;
  if (messages > 0) options.roots = {std::string(trace.nodes.At(sent.begin()->first.first))};
  const auto result = trace.Convolved(options);
  RC_ASSERT(result.ok());
  RC_ASSERT(result->edges.size() + result->roots.size() == result->vertices.size());
  for (const ConvolutionEdge& edge : result->edges) {
    RC_ASSERT(edge.from < edge.to);
    RC_ASSERT(edge.count <=
              sent[std::make_pair(result->vertices[edge.from], result->vertices[edge.to])]);
    uint64_t sum = 0;
    for (size_t d = 0; d < edge.delays.size(); ++d) {
      RC_ASSERT(edge.delays[d].delay_ns >= 0);
      RC_ASSERT(edge.delays[d].delay_ns % result->quantum_ns == 0);
      RC_ASSERT(d == 0 || edge.delays[d].count <= edge.delays[d - 1].count);
      sum += edge.delays[d].count;
    }
    RC_ASSERT(edge.delays.empty() || sum == edge.count);
  }
}

}  // namespace
}  // namespace wf::paths
