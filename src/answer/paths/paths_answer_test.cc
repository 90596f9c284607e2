#include "answer/paths/paths_answer.h"

#include <gtest/gtest.h>

#include "analysis/paths/nesting.h"
#include "analysis/paths/paths_inference.h"
#include "answer/frame/text_table.h"
#include "answer/paths/paths_json.h"
#include "answer/paths/paths_text.h"

namespace wf::answer {
namespace {

// Calls by one clock, as sightings.
class Calls : public SightingSource {
 public:
  void Add(const char* caller, const char* callee, Nanos sent, Nanos returned) {
    Sighting call;
    call.kind = MessageKind::kCall;
    call.sender = names.Intern(caller), call.receiver = names.Intern(callee);
    call.time_ns = sent;
    call.id = ++ids_;
    sightings_.push_back(call);
    std::swap(call.sender, call.receiver);
    call.kind = MessageKind::kReturn;
    call.time_ns = returned;
    sightings_.push_back(call);
  }
  void AddMessage(Nanos at) {
    Sighting message;
    message.time_ns = at;
    message.sender = names.Intern("X"), message.receiver = names.Intern("Y");
    sightings_.push_back(message);
  }
  Result<bool> Next(SightingLine& line) override {
    if (next_ == 0)
      std::stable_sort(sightings_.begin(), sightings_.end(),
                       [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    if (next_ == sightings_.size()) return false;
    line.sighting = sightings_[next_++];
    line.sighting.place = {1, next_};
    return true;
  }

  void Rewind() { next_ = 0; }

  StringTable names;

 private:
  std::vector<Sighting> sightings_;
  uint64_t ids_ = 0;
  size_t next_ = 0;
};

paths::PathsFindings Infer(Calls& calls, paths::PathAlgorithm algorithm,
                           paths::KeepDistributions distributions = paths::KeepDistributions::kNo) {
  paths::PathsRequest request;
  request.distributions = distributions;
  request.algorithm = algorithm;
  auto findings = paths::InferPaths(calls, calls.names, request);
  EXPECT_TRUE(findings.ok());
  return std::move(findings).value();
}

PathsAnswer AnswerOf(const paths::PathsFindings& findings, const Calls& calls) {
  PathsAnswer answer;
  answer.algorithm = paths::NameOf(findings.algorithm);
  answer.why = findings.why;
  answer.pairing = findings.pairing;
  answer.parallelism = findings.parallelism;
  answer.table = findings.patterns.get();
  answer.names = &calls.names;
  return answer;
}

TEST(PathsAnswer, JsonIsAsAgreed) {
  Calls calls;
  calls.Add("A", "B", 1, 11);
  calls.Add("B", "C", 3, 5);
  calls.Add("B", "D", 7, 9);
  const paths::PathsFindings findings = Infer(calls, paths::PathAlgorithm::kNesting);
  const std::string json = PathsJson(AnswerOf(findings, calls));
  const std::string tree =
      R"("client":"A","root":{"node":"B","latency_ns":10,"call_delay_ns":0,"steps_ns":[2,2,2],"children":[)"
      R"({"node":"C","latency_ns":2,"call_delay_ns":2,"steps_ns":[2],"children":[]},)"
      R"({"node":"D","latency_ns":2,"call_delay_ns":6,"steps_ns":[2],"children":[]}]}})";
  EXPECT_NE(json.find(tree), std::string::npos) << json;
  const std::string head =
      R"({"algorithm":"nesting","why":"chosen by --algorithm nesting","messages":6,"calls":3,)"
      R"("parallelism":1.0,"unassigned":{"calls":0,"returns":0,"msgs":0},"duplicates":0,"retransmissions":0,)"
      R"("skew_ns":{},"patterns":[)";
  EXPECT_EQ(json.substr(0, head.size()), head);
}

TEST(PathsAnswer, DistributionsAreWrittenWhereTheyWereAskedForOnly) {
  Calls calls;
  for (const Nanos at : {Nanos{0}, kSecond}) {
    calls.Add("A", "B", at, at + 10 * kMilli);
    calls.Add("B", "C", at + 4 * kMilli, at + 6 * kMilli);
  }
  const paths::PathsFindings without = Infer(calls, paths::PathAlgorithm::kNesting);
  EXPECT_EQ(PathsJson(AnswerOf(without, calls)).find("histogram"), std::string::npos);
  calls.Rewind();
  const paths::PathsFindings findings =
      Infer(calls, paths::PathAlgorithm::kNesting, paths::KeepDistributions::kYes);
  PathsAnswer answer = AnswerOf(findings, calls);
  answer.distributions = paths::KeepDistributions::kYes;
  const std::string json = PathsJson(answer);
  // Both instances of the root in one bin; nobody called it, so there is no delay of that.
  const size_t root = json.find(R"("histogram":{"latency_ns":[[)");
  ASSERT_NE(root, std::string::npos) << json;
  const std::string rest = json.substr(root, json.find("children", root) - root);
  EXPECT_NE(rest.find(R"(,2]],"call_delay_ns":[],"own_ns":[[)"), std::string::npos) << rest;
  EXPECT_NE(json.find(R"("first_ns":0,"last_ns":1000000000,"timeline":[1,0,)"), std::string::npos);
  EXPECT_NE(json.find(R"("spans":[{"count":1,"latency_ns":10000000},)"), std::string::npos) << json;
}

TEST(PathsAnswer, ChildrenStandByDelayThenName) {
  Calls calls;
  calls.Add("A", "B", 0, 100);
  calls.Add("B", "Z", 10, 20);
  calls.Add("B", "Y", 10, 20);
  calls.Add("B", "C", 30, 40);
  const paths::PathsFindings findings = Infer(calls, paths::PathAlgorithm::kNesting);
  const paths::Pattern& pattern = findings.patterns->patterns().front();
  std::string order;
  for (const uint32_t child : ChildrenInOrder(pattern, 0, calls.names))
    order += calls.names.At(pattern.nodes[child].node);
  EXPECT_EQ(order, "YZC");
}

TEST(PathsAnswer, ShapesForgetNames) {
  Calls calls;
  calls.Add("A", "B", 0, 100);
  calls.Add("B", "C", 10, 20);
  calls.Add("A", "X", 1000, 1100);
  calls.Add("X", "Y", 1010, 1020);
  calls.Add("A", "B", 2000, 2100);
  const paths::PathsFindings findings = Infer(calls, paths::PathAlgorithm::kNesting);
  const auto& patterns = findings.patterns->patterns();
  ASSERT_EQ(patterns.size(), 3u);
  EXPECT_EQ(ShapeOf(patterns[0]), ShapeOf(patterns[1]));
  EXPECT_NE(ShapeOf(patterns[0]), ShapeOf(patterns[2]));
}

TEST(PathsAnswer, TextKeepsToItsWidthAndMarksTheSlowest) {
  Calls calls;
  const std::string name(150, 'n');
  std::vector<std::string> names;
  for (int depth = 0; depth < 100; ++depth) names.push_back(name + std::to_string(depth));
  for (int depth = 0; depth + 1 < 100; ++depth)
    calls.Add(names[static_cast<size_t>(depth)].c_str(),
              names[static_cast<size_t>(depth) + 1].c_str(), depth, 100'000 - depth);
  const paths::PathsFindings findings = Infer(calls, paths::PathAlgorithm::kNesting);
  const std::string text = PathsText(AnswerOf(findings, calls));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    EXPECT_LE(DisplayWidth(std::string_view(text).substr(begin, end - begin)), 100u);
    begin = end + 1;
  }
  EXPECT_NE(text.find("more: --format json"), std::string::npos);
}

}  // namespace
}  // namespace wf::answer
