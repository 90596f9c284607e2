#include "scenario/message_generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "scenario/message_generator_otlp.h"
#include "scenario/message_generator_text.h"

namespace wf::scenario {
namespace {

GeneratorConfig Read(const std::string& text) {
  Result<GeneratorConfig> config = ReadGeneratorConfig(text, "c.yaml");
  EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().message);
  return config.ok() ? std::move(config).value() : GeneratorConfig{};
}

std::string Refusal(const std::string& text) {
  const Result<GeneratorConfig> config = ReadGeneratorConfig(text, "c.yaml");
  return config.ok() ? "" : config.error().message;
}

struct Written {
  std::vector<std::string> lines, truth;
  GeneratedTrace trace;
};

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Written Generate(const std::string& text, uint64_t seed = 1, Nanos start = 1000 * kSecond) {
  const GeneratorConfig config = Read(text);
  std::string lines, truth;
  const auto into = [](std::string& out) {
    return [&out](std::string_view piece) -> Status {
      out += piece;
      return {};
    };
  };
  const Result<GeneratedTrace> done = GenerateText(config, {seed, start}, into(lines), into(truth));
  EXPECT_TRUE(done.ok());
  return {Split(lines), Split(truth), done.ok() ? *done : GeneratedTrace{}};
}

// One client, whose only tracelet has these messages; it runs once.
std::string Once(const std::string& messages, const std::string& more = "") {
  return "duration_s: 0.000000001\n" + more + "groups:\n  - tracelets:\n      - messages:\n" +
         messages;
}

std::string M(const std::string& message) { return "        - {" + message + "}\n"; }

TEST(MessageGenerator, AChainOfCallsWithConstantDelays) {
  const Written out = Generate(Once(M("op: CALL, from: A, to: B, label: b") +
                                    M("op: CALL, from: B, to: C, label: c, delay_ms: [2, 0]") +
                                    M("op: RET, label: c, delay_ms: [1.5, 0]") +
                                    M("op: RET, from: B, to: A, delay_ms: [0.000001, 0]")));
  EXPECT_EQ(out.lines, (std::vector<std::string>{
                           "1000.000000000 CALL A B 1 path=1", "1000.002000000 CALL B C 2 path=1",
                           "1000.003500000 RET C B 2 path=1", "1000.003500001 RET B A 1 path=1"}));
  EXPECT_EQ(out.truth, (std::vector<std::string>{"{\"call\":1,\"parent\":null}",
                                                 "{\"call\":2,\"parent\":1}"}));
}

TEST(MessageGenerator, AfterStartsInParallelAndWaitsForTheLast) {
  const Written out =
      Generate(Once(M("op: CALL, from: A, to: B, label: b") +
                    M("op: CALL, from: B, to: C, label: c, delay_ms: [1, 0]") +
                    M("op: CALL, from: B, to: D, label: d, after: b, delay_ms: [2, 0]") +
                    M("op: RET, label: c, after: c, delay_ms: [9, 0]") +
                    M("op: RET, label: d, after: CALL d, delay_ms: [1, 0]") +
                    M("op: RET, label: b, after: [c, d], delay_ms: [1, 0]") +
                    M("op: MSG, from: B, to: E, after: null")));
  EXPECT_EQ(out.lines, (std::vector<std::string>{
                           "1000.000000000 CALL A B 1 path=1", "1000.000000000 MSG B E 2 path=2",
                           "1000.001000000 CALL B C 3 path=1", "1000.002000000 CALL B D 4 path=1",
                           "1000.003000000 RET D B 4 path=1", "1000.010000000 RET C B 3 path=1",
                           "1000.011000000 RET B A 1 path=1"}));
}

TEST(MessageGenerator, AParentMayBeToldWhereTheObviousOneIsNotTheTrueOne) {
  const Written out =
      Generate(Once(M("op: CALL, from: A, to: B, label: one") +
                    M("op: CALL, from: X, to: B, label: two, delay_ms: [1, 0]") +
                    M("op: CALL, from: B, to: C, label: c1, parent: one, delay_ms: [1, 0]") +
                    M("op: CALL, from: B, to: C, label: c2, delay_ms: [1, 0]") +
                    M("op: RET, label: one, delay_ms: [1, 0]") +
                    M("op: CALL, from: B, to: D, parent: one, delay_ms: [1, 0]") +
                    M("op: CALL, from: B, to: D, parent: null, delay_ms: [1, 0]")));
  EXPECT_EQ(out.truth, (std::vector<std::string>{
                           "{\"call\":1,\"parent\":null}", "{\"call\":2,\"parent\":null}",
                           "{\"call\":3,\"parent\":1}", "{\"call\":4,\"parent\":2}",
                           "{\"call\":6,\"parent\":1}", "{\"call\":7,\"parent\":null}"}));
  EXPECT_EQ(out.trace.counts.paths, 3u);
  EXPECT_EQ(out.lines.at(3), "1000.003000000 CALL B C 4 path=2");
}

TEST(MessageGenerator, ClocksThatDifferShowAChildBeforeItsParent) {
  const Written out = Generate(Once(
      M("op: CALL, from: A, to: B, label: b") + M("op: CALL, from: B, to: C, delay_ms: [1, 0]"),
      "skew_ms: {B: -5, C: 7}\n"));
  EXPECT_EQ(out.lines,
            (std::vector<std::string>{
                "999.995000000 CALL_RCVD A B 1 path=1", "999.996000000 CALL_SENT B C 2 path=1",
                "1000.000000000 CALL_SENT A B 1 path=1", "1000.008000000 CALL_RCVD B C 2 path=1"}));
  EXPECT_EQ(out.truth, (std::vector<std::string>{"{\"call\":1,\"parent\":null}",
                                                 "{\"call\":2,\"parent\":1}"}));
  const Written other = Generate(Once(M("op: CALL, from: A, to: B, label: b") +
                                          M("op: CALL, from: B, to: C, delay_ms: [1, 0]") +
                                          M("op: CALL, from: X, to: X"),
                                      "skew_ms: {B: 5, C: -7, A: 6}\n"));
  EXPECT_EQ(other.lines.at(0).substr(13), " CALL_RCVD B C 2 path=1");
  EXPECT_EQ(other.truth,
            (std::vector<std::string>{"{\"call\":1,\"parent\":4}", "{\"call\":2,\"parent\":null}",
                                      "{\"call\":4,\"parent\":null}"}));
}

TEST(MessageGenerator, WhatTheSnifferLosesHasNoLineAndCausesNothing) {
  // Two at once fit; the third comes at the same time and is lost, and with it the cause of the fourth.
  const Written out = Generate(Once(M("op: CALL, from: A, to: B") + M("op: CALL, from: A, to: B") +
                                        M("op: CALL, from: A, to: C, label: c") +
                                        M("op: CALL, from: C, to: D, delay_ms: [1000, 0]"),
                                    "drop: {rate: 10, queue: 2}\n"));
  EXPECT_EQ(out.lines.size(), 3u);
  EXPECT_EQ(out.trace.counts.lost, 1u);
  EXPECT_EQ(out.trace.counts.paths_cut, 1u);
  EXPECT_EQ(out.truth.at(2), "{\"call\":3,\"parent\":null}");
}

constexpr const char* kBusy =
    "duration_s: 200\n"
    "groups:\n"
    "  - parallel: 5\n"
    "    think_ms: [10, 30]\n"
    "    tracelets:\n"
    "      - weight: 3\n"
    "        messages:\n"
    "        - {op: CALL, from: A, to: B, label: b}\n"
    "        - {op: RET, label: b, delay_ms: [20, 4]}\n"
    "      - weight: 1\n"
    "        messages:\n"
    "        - {op: CALL, from: A, to: C, label: c}\n"
    "        - {op: RET, label: c, delay_ms: [1, 5]}\n"
    "      - weight: 0\n"
    "        messages:\n"
    "        - {op: CALL, from: A, to: D, label: d}\n";

TEST(MessageGenerator, DelaysWeightsAndParallelismAreThoseOfTheConfig) {
  const GeneratorConfig config = Read(kBusy);
  MessageGenerator generator(config, 7);
  GeneratedMessage message;
  std::map<std::string, std::vector<double>> delays;
  Nanos before = 0;
  int open = 0, most = 0;
  while (generator.Next(message)) {
    ASSERT_GE(message.time, before);
    before = message.time;
    const TraceletMessage& shape = message.shape();
    open += shape.kind == MessageKind::kCall ? 1 : -1;
    most = std::max(most, open);
    if (shape.kind == MessageKind::kReturn) {
      const Nanos delay = message.time - message.run->times[shape.call];
      delays[config.nodes[shape.from]].push_back(static_cast<double>(delay) / kMilli);
    }
  }
  EXPECT_EQ(open, 0);
  EXPECT_EQ(most, 5);
  const auto mean = [](const std::vector<double>& all) {
    double sum = 0;
    for (const double x : all) sum += x;
    return sum / static_cast<double>(all.size());
  };
  const std::vector<double>&b = delays["B"], &c = delays["C"];
  EXPECT_NEAR(static_cast<double>(b.size()) / static_cast<double>(b.size() + c.size()), 0.75, 0.01);
  EXPECT_EQ(delays.count("D"), 0u);
  EXPECT_NEAR(mean(b), 20, 0.1);
  double squares = 0;
  for (const double x : b) squares += (x - 20) * (x - 20);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(b.size())), 4, 0.1);
  // Cut at 0: Φ(-1/5) of the draws are there, and the mean is 1·Φ(0.2) + 5·φ(0.2).
  EXPECT_NEAR(mean(c), 1 * 0.5793 + 5 * 0.3910, 0.1);
  EXPECT_NEAR(
      static_cast<double>(std::count(c.begin(), c.end(), 0.0)) / static_cast<double>(c.size()),
      0.4207, 0.02);
  // A cycle is 20 ms of thought and 0.75·20 + 0.25·2.5 ms of work.
  EXPECT_NEAR(static_cast<double>(generator.counts().paths), 5 * 200e3 / 35.6, 500);
}

TEST(MessageGenerator, TheSeedDecidesAndLossAndSkewChangeNothingElse) {
  const Written a = Generate(kBusy, 3), b = Generate(kBusy, 3), c = Generate(kBusy, 4);
  EXPECT_EQ(a.lines, b.lines);
  EXPECT_EQ(a.truth, b.truth);
  EXPECT_NE(a.lines, c.lines);
  const Written lossy = Generate(std::string("drop: {rate: 290, queue: 8}\n") + kBusy, 3);
  EXPECT_GT(lossy.trace.counts.lost, 100u);
  EXPECT_EQ(lossy.trace.counts.messages, a.trace.counts.messages);
  size_t at = 0;
  for (const std::string& line : lossy.lines) {
    while (at < a.lines.size() && a.lines[at] != line) ++at;
    ASSERT_LT(at, a.lines.size()) << line << " is not in the trace without loss";
  }
  const Written skewed = Generate(std::string("skew_ms: {A: 0}\n") + kBusy, 3);
  EXPECT_EQ(skewed.lines.size(), 2 * a.lines.size());
  EXPECT_EQ(skewed.truth.size(), a.truth.size());
}

TEST(MessageGenerator, SpansAreThoseOfTheCalls) {
  const GeneratorConfig config =
      Read(Once(M("op: CALL, from: A, to: B, label: b") + M("op: CALL, from: B, to: C, label: c") +
                    M("op: RET, label: c, delay_ms: [1, 0]") + M("op: RET, label: b"),
                "skew_ms: {C: 3}\n"));
  std::string lines;
  const auto into = [&](std::string_view piece) -> Status {
    lines += piece;
    return {};
  };
  ASSERT_TRUE(GenerateOtlp(config, {1, 0}, into, {}).ok());
  const auto count = [&](const std::string& what) {
    size_t n = 0;
    for (size_t at = 0; (at = lines.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(count("\"spanId\""), 4u);
  EXPECT_EQ(count("\"startTimeUnixNano\":\"3000000\""), 1u);  // C's own clock
  EXPECT_EQ(count("\"parentSpanId\""), 3u) << lines;
}

TEST(MessageGeneratorConfig, RefusesWithTheLine) {
  const std::string head = "duration_s: 1\ngroups:\n  - tracelets:\n      - messages:\n";
  const struct {
    std::string text, wanted;
  } cases[] = {
      {"", "c.yaml: line 1: the file is not a map"},
      {"duration_s: 1\ngroup: []\n", "c.yaml: line 2: the file has no \"group\""},
      {"duration_s: -1\ngroups: []\n", "line 1: duration_s: \"-1\" is not a number"},
      {"duration_s: 1\ngroups: []\n", "line 2: groups is not a list"},
      {head + M("op: CALL, from: A"), "line 5: a message needs from and to"},
      {head + M("op: CALLS, from: A, to: B"), "line 5: op: \"CALLS\" is none of"},
      {head + M("op: CALL, from: A, to: B, delay: 3"), "line 5: a message has no \"delay\""},
      {head + M("op: CALL, from: A, to: B, delay_ms: 3"), "line 5: delay_ms is not [mean, sd]"},
      {head + M("op: CALL, from: A, to: B, delay_ms: [1, -3]"), "\"-3\" is not a number from 0"},
      {head + M("op: CALL, from: A, to: \"B C\""), "\"B C\" has a blank in it"},
      {head + M("op: CALL, from: A, to: B, after: x"), "line 5: after: no message above is \"x\""},
      {head + M("op: CALL, from: A, to: B, parent: x"),
       "parent: no CALL above has the label \"x\""},
      {head + M("op: RET, label: x"), "no CALL above has the label \"x\""},
      {head + M("op: RET, from: A, to: B"), "no open CALL above goes the other way"},
      {head + M("op: CALL, from: A, to: B, label: b") + M("op: RET, label: b") +
           M("op: RET, label: b"),
       "line 7: the call \"b\" has a RET above"},
      {head + M("op: CALL, from: A, to: B, label: b") + M("op: CALL, from: A, to: B, label: b"),
       "line 6: the label \"b\" is that of an open CALL"},
      {head + M("op: CALL, from: A, to: B, label: b") + M("op: RET, label: b, from: B, to: C"),
       "line 6: the call \"b\" did not come from C"},
      {head + M("op: CALL, from: A, to: B"), "its tracelets take no time"},
      {"skew_ms: {C: 1}\n" + head + M("op: CALL, from: A, to: B, delay_ms: [1, 0]"),
       "line 1: skew_ms: no message names the node C"},
      {"drop: {rate: 5}\n" + head + M("op: CALL, from: A, to: B, delay_ms: [1, 0]"),
       "line 1: drop needs rate"},
      {"duration_s: 1\ngroups:\n  - think_ms: [5, 1]\n    tracelets: []\n", "line 3: think_ms"},
      {"duration_s: 1\ngroups:\n  - parallel: 0.5\n    tracelets: []\n", "line 3: parallel"},
  };
  for (const auto& one : cases) {
    EXPECT_NE(Refusal(one.text).find(one.wanted), std::string::npos)
        << one.text << "\nsays: " << Refusal(one.text) << "\nwanted: " << one.wanted;
  }
}

}  // namespace
}  // namespace wf::scenario
