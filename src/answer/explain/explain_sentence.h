// Where the time went, in one English sentence: "11.0 s of 12.0 s: waited on storage behind 58 requests from
// maintenance". It says where time was spent, never what one would save: that is what-if's question (Zeno §A.6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answer/explain/explain_graph.h"

namespace wf::answer {

enum class ExplainPartKind : uint8_t {
  kBehind,   // waiting for others' work: off the request's own path
  kOwnWork,  // the request's own path, at work
  kTransit,  // its messages on their way
  kGap,  // its path, before something began that nothing recorded explains: a timer, an idle node
};

// A share of the time. The parts of an explanation add up to its delay.
struct ExplainPart {
  ExplainPartKind kind = ExplainPartKind::kOwnWork;
  Nanos time_ns = 0;
  uint32_t most = kNoNode;       // the node with most of it
  std::vector<uint32_t> blamed;  // the nodes whose own time it is
  // kBehind: how the walk came to them. `entry`: the sequencing link that leaves the request's path; `last`: the one
  // that reaches them, another one when those who were waited for waited themselves.
  uint32_t entry = kNoNode, last = kNoNode;  // links
};

std::vector<ExplainPart> ExplainParts(const ExplainGraph& graph);  // most time first

std::string ExplainSentence(const ExplainGraph& graph);

// "what if: 6.50 s instead of 12.0 s, 46% less (58 events matched)".
std::string ExplainWhatIfSentence(const ExplainGraph& graph);

}  // namespace wf::answer
