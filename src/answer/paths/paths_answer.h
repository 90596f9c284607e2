// What `wherefore paths` says of path patterns; paths_json.h and paths_text.h print it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/paths/call_pairing.h"
#include "analysis/paths/path_accuracy.h"
#include "analysis/paths/pattern_insight.h"
#include "model/string_table.h"

namespace wf::answer {

struct PathsAnswer {
  std::string algorithm;  // nesting or linking
  std::string why;
  paths::PairingCounts pairing;
  uint64_t duplicates = 0;  // sightings of one message in several inputs
  double parallelism = 0;
  std::map<std::string, Nanos> skew_ns;        // found and removed, by node
  const paths::PatternTable* table = nullptr;  // borrowed, as the names
  const StringTable* names = nullptr;
  paths::PatternOrder order = paths::PatternOrder::kTotalLatency;
  size_t top = 20;  // 0: all
  // kYes: the table has them, and they are written.
  paths::KeepDistributions distributions = paths::KeepDistributions::kNo;
  std::optional<paths::PathAccuracy> accuracy;
  std::vector<std::string> notes;  // what was skipped or cut, a sentence each
};

// The patterns that are shown, and how much is not.
struct ShownPatterns {
  std::vector<const paths::Pattern*> patterns;
  uint64_t omitted_patterns = 0, omitted_count = 0;
};
ShownPatterns Shown(const PathsAnswer& answer);

// The children of a pattern's node in the order they are printed: by mean call delay, then by name.
std::vector<uint32_t> ChildrenInOrder(const paths::Pattern& pattern, uint32_t node,
                                      const StringTable& names);
// A node is called after the reply if most of its instances were.
bool IsAfterReply(const paths::Pattern& pattern, uint32_t node);
// The link to a node, if it matters: at least 5% of the pattern's latency as its client sees it. Mean; else 0.
Nanos LinkThatMatters(const paths::Pattern& pattern, uint32_t node);
// 16 hexadecimal digits.
std::string PatternIdText(uint64_t id);
// Of the tree without its names: equal for patterns that differ only in which nodes play the parts.
uint64_t ShapeOf(const paths::Pattern& pattern);

}  // namespace wf::answer
