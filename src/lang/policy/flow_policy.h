// Policies of information flow, as people write them (docs/use/recording.md, "Policy"):
//
//   labels: [{name: secret, inputs: ["/etc/keys/*"]}]
//   rules: [{label: secret, outputs: [stdout, "socket:*"], action: deny}]
//
// Thread safety: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::policy {

enum class FlowAction { kDeny, kReport };

struct FlowLabel {
  std::string name;
  std::vector<std::string> inputs;  // globs
};

struct FlowRule {
  size_t label = 0;                  // in FlowPolicy::labels
  std::vector<std::string> outputs;  // globs
  FlowAction action = FlowAction::kDeny;
};

struct FlowPolicy {
  std::vector<FlowLabel> labels;
  std::vector<FlowRule> rules;
};

// `name` is printed in errors: "NAME: line 3: …".
Result<FlowPolicy> ParseFlowPolicy(std::string_view yaml, const std::string& name);

// The form that the recorder reads (recorder/format/flow_policy.h). Paths are relative to `folder`, and their
// real names are included: the recorder gets names from the kernel, which resolves symbolic links.
Result<std::string> CompileFlowPolicy(const FlowPolicy& policy, const std::string& folder,
                                      const std::string& name);

}  // namespace wf::policy
