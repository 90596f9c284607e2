// ExplainGraph: an explanation with its names. The sentence, the terminal's tree, dot and SVG are written from it, so
// that they need not know how an answer came about (one request, many merged ones, a file of events).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/provenance/explanation.h"

namespace wf::answer {

constexpr uint32_t kNoNode = UINT32_MAX;

struct ExplainNode {
  ProvenanceType type = ProvenanceType::kInsert;
  std::string id, node, tuple, origin;  // a merged one's tuple is the name its members share
  Nanos start_ns = 0, end_ns = 0;
  Nanos delay_ns = 0, self_ns = 0;
  // Of self_ns: before it began, with nobody to blame: a message on its way, a timer, a gap nobody recorded.
  Nanos waited_ns = 0;
  bool functional = true, expired = false;
  int64_t count = 1;
  // How many pieces of work its members are: segments of one span are one, and so is what one input set off under one
  // name.
  int64_t requests = 1;
  std::optional<Nanos> baseline_ns;
};

struct ExplainLink {
  uint32_t from = 0, to = 0;  // nodes: cause or predecessor, effect or waiter
  provenance::ExplanationEdgeKind kind = provenance::ExplanationEdgeKind::kCausal;
  Nanos delay_ns = 0;
  std::string resource;  // of a sequencing one: what both took; empty: not known
};

// How text and pictures name the kind of an event: "send" for people, "SND" where the raw graph was asked for.
enum class EventWords { kPlain, kTypes };

struct ExplainGraph {
  EventWords words = EventWords::kPlain;
  Nanos delay_ns = 0;
  uint32_t from = kNoNode, root = kNoNode;  // nodes
  std::vector<ExplainNode> nodes;
  std::vector<ExplainLink> links;
  std::optional<provenance::ExplanationSizes> sizes;
  std::optional<provenance::ExplainWhatIfAnswer> what_if;
  std::vector<std::string> notes;  // sentences: what was assumed, what is missing
};

ExplainGraph NamedExplanation(const provenance::Execution& execution,
                              const provenance::Explanation& explanation,
                              EventWords words = EventWords::kPlain);
// The raw view keeps the types of the events; the others are for people.
EventWords WordsOf(provenance::ExplanationView view);

// Before "(", without the sign of a message: "+ping(@a,1)" is ping.
std::string_view TupleName(std::string_view tuple);

// The whole tuple, but for one that only tells a span's id: that is for machines.
std::string_view ReadableTuple(std::string_view tuple);

// What was waited for on the way of a sequencing link: "storage", "accounts at storage", "lock accounts of storage/2".
// A service's workers are the service.
std::string WaitedOn(const ExplainGraph& graph, const ExplainLink& link);

// "send", "receive" and so on with a blank behind it; nothing for work itself, which needs no word.
std::string TypeWord(ProvenanceType type, EventWords words);

// "58 × rewrite on storage, from maintenance".
std::string NodeLabel(const ExplainNode& node, EventWords words);

// How much time goes along each link. The raw view tells none: there, what goes through its cause.
std::vector<Nanos> LinkTimes(const ExplainGraph& graph);

}  // namespace wf::answer
