// Sightings → causal paths, by the algorithm that was asked for or that suits them.
//
//   sightings → pairing → calls ─┬→ nesting, as they come ─┬→ patterns, assignments → accuracy
//             │                  └→ linking, at the end   ─┘
//             └────────────────────→ convolution, at the end
//
// Nesting keeps a window only; the others keep what they work on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/paths/assignment_row.h"
#include "analysis/paths/call_pairing.h"
#include "analysis/paths/convolution.h"
#include "analysis/paths/linking.h"
#include "analysis/paths/nesting.h"
#include "analysis/paths/path_accuracy.h"
#include "analysis/paths/pattern.h"
#include "base/result.h"
#include "model/sighting.h"
#include "model/string_table.h"

namespace wf::paths {

enum class PathAlgorithm : uint8_t { kAuto, kNesting, kConvolution, kLinking };
// Linking judges calls one by one and needs clocks set right; nesting has its skew window, and looks at a stream.
enum class Deskew : uint8_t { kForLinking, kAlways, kNever };
enum class TruthSource : uint8_t { kNone, kRows, kPathKeys };

struct PathsRequest {
  PathAlgorithm algorithm = PathAlgorithm::kAuto;
  NestingOptions nesting;
  size_t nesting_window = 0;  // calls; 0: NestingStream::kWindow
  LinkOptions linking;
  // Else the skew window is what the clocks that were set right still need.
  bool linking_window_given = false;
  ConvolutionOptions convolution;
  Deskew deskew = Deskew::kForLinking;
  KeepDistributions distributions = KeepDistributions::kNo;  // of delays in patterns
  uint32_t candidates = 0;                                   // parents kept beside the chosen one
  bool keep_rows = false;                                    // for --assignments
  TruthSource truth_source = TruthSource::kNone;
  std::vector<ParentRow> truth;                // of TruthSource::kRows
  std::function<void(uint64_t)> on_sightings;  // now and then, with how many were read
  // Of linking: every call with what was inferred of it, once. An error ends the inference.
  std::function<Status(std::span<const Call>, const std::vector<Assignment>&)> on_assigned;
};

struct PathsFindings {
  PathAlgorithm algorithm = PathAlgorithm::kNesting;
  std::string why;
  PairingCounts pairing;
  // Of nesting and linking.
  double parallelism = 0;
  std::map<std::string, Nanos> skew_ns;  // by how much a node's clock was ahead; removed
  std::unique_ptr<PatternTable> patterns;
  std::vector<AssignmentRow> rows;
  std::optional<PathAccuracy> accuracy;
  std::vector<std::string> notes;
  // Of convolution.
  std::optional<ConvolutionResult> convolution;
};

const char* NameOf(PathAlgorithm algorithm);

// Convolution if over 5% of the messages are one-way or under half of the calls pair, else linking; `why` says so.
PathAlgorithm ChooseAlgorithm(const PairingCounts& counts, std::string& why);

// `nodes` is the table that `source` interns into, and must outlive the findings.
Result<PathsFindings> InferPaths(SightingSource& source, const StringTable& nodes,
                                 const PathsRequest& request);

}  // namespace wf::paths
