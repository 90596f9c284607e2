#include "lang/policy/flow_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "recorder/format/flow_policy.h"

namespace wf::policy {
namespace {

constexpr char kGood[] = R"(labels:
  - name: secret
    inputs: ["/no/such/keys/*", stdin]
  - {name: personal, inputs: [people.csv]}
rules:
  - label: secret
    outputs: [stdout, "socket:*"]
    action: deny
  - {label: personal, outputs: ["*"], action: report}
)";

bool Matches(const std::string& glob, const std::string& text) {
  return recorder::GlobMatches({glob.data(), glob.data() + glob.size()},
                               {text.data(), text.data() + text.size()});
}

TEST(FlowPolicy, IsReadAsWritten) {
  const Result<FlowPolicy> policy = ParseFlowPolicy(kGood, "p.yaml");
  ASSERT_TRUE(policy.ok()) << policy.error().message;
  ASSERT_EQ(policy.value().labels.size(), 2u);
  EXPECT_EQ(policy.value().labels[0].inputs,
            (std::vector<std::string>{"/no/such/keys/*", "stdin"}));
  ASSERT_EQ(policy.value().rules.size(), 2u);
  EXPECT_EQ(policy.value().rules[0].action, FlowAction::kDeny);
  EXPECT_EQ(policy.value().rules[1].label, 1u);
  EXPECT_EQ(policy.value().rules[1].action, FlowAction::kReport);
}

TEST(FlowPolicy, IsCompiledWithPathsFromTheFolder) {
  const Result<FlowPolicy> policy = ParseFlowPolicy(kGood, "p.yaml");
  ASSERT_TRUE(policy.ok());
  const Result<std::string> text = CompileFlowPolicy(policy.value(), "/no/such/folder", "p.yaml");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text.value(),
            "i 0 /no/such/keys/*\ni 0 stdin\ni 1 /no/such/folder/people.csv\nd 0 stdout\n"
            "d 0 socket:*\nr 1 *\n");
  std::string again;
  recorder::ForEachPolicyLine(
      {text.value().data(), text.value().data() + text.value().size()},
      [&](recorder::PolicyLine kind, uint32_t label, recorder::PolicyText glob) {
        again += std::string(1, static_cast<char>(kind)) + " " + std::to_string(label) + " " +
                 std::string(glob.begin, glob.end) + "\n";
      });
  EXPECT_EQ(again, text.value());
}

TEST(FlowPolicy, WhatIsWrongIsNamedWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "p.yaml: line 1: not a policy"},
      {"- a\n", "p.yaml: line 1: not a policy"},
      {"labels: [{name: a, inputs: [x]}]\n", "p.yaml: line 1: rules: missing"},
      {"labels: []\nrules: []\n", "p.yaml: line 1: labels: expected a list that is not empty"},
      {"labels: [{name: a, inputs: [x]}]\nrules:\n  - {label: b, outputs: [x], action: deny}\n",
       "p.yaml: line 3: label b: not among the labels"},
      {"labels: [{name: a, inputs: [x]}]\nrules:\n  - {label: a, outputs: [x], action: stop}\n",
       "p.yaml: line 3: action stop: no such action"},
      {"labels: [{name: a, inputs: [x]}]\nrules:\n  - {label: a, outputs: x, action: deny}\n",
       "p.yaml: line 3: outputs: expected a list that is not empty"},
      {"labels: [{name: a, inputs: [x]}, {name: a, inputs: [y]}]\nrules: [1]\n",
       "p.yaml: line 1: label a: there already"},
      {"labels:\n  - name: a\n    input: [x]\nrules: [1]\n",
       "p.yaml: line 3: input: no key of a label"},
      {"labels: [{name: a, inputs: [\"x\\ny\"]}]\nrules: [1]\n",
       "p.yaml: line 1: inputs: expected names or globs, each one line"},
  };
  for (const auto& [yaml, message] : wrong) {
    const Result<FlowPolicy> policy = ParseFlowPolicy(yaml, "p.yaml");
    ASSERT_FALSE(policy.ok()) << yaml;
    EXPECT_EQ(policy.error().message, message) << yaml;
  }
}

TEST(FlowPolicy, HasAtMost64Labels) {
  std::string yaml = "labels:\n";
  for (int i = 0; i < 65; ++i) yaml += "  - {name: l" + std::to_string(i) + ", inputs: [x]}\n";
  const Result<FlowPolicy> policy =
      ParseFlowPolicy(yaml + "rules: [{label: l0, outputs: [x], action: deny}]\n", "p");
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.error().message, "p: line 66: more than 64 labels");
}

TEST(Glob, MatchesWholeNames) {
  EXPECT_TRUE(Matches("stdout", "stdout"));
  EXPECT_FALSE(Matches("stdout", "stdout2"));
  EXPECT_FALSE(Matches("std", "stdout"));
  EXPECT_TRUE(Matches("/a/*.key", "/a/b/c.key"));
  EXPECT_FALSE(Matches("/a/*.key", "/a/b/c.key.old"));
  EXPECT_TRUE(Matches("**", ""));
  EXPECT_TRUE(Matches("*b*b", "abab"));
  EXPECT_FALSE(Matches("?", ""));
  EXPECT_TRUE(Matches("/f[0-9a]", "/f7"));
  EXPECT_TRUE(Matches("/f[]]", "/f]"));
  EXPECT_FALSE(Matches("/f[!0-9]", "/f7"));
  EXPECT_TRUE(Matches("/f[", "/f["));
  EXPECT_TRUE(Matches("a\\*", "a*"));
  EXPECT_FALSE(Matches("a\\*", "ab"));
}

}  // namespace
}  // namespace wf::policy
