// The flags by which verbs that read messages (messages, paths, import of messages) take their INPUT….
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/detect/sighting_input.h"

namespace CLI {
class App;
}

namespace wf::cli {

struct SightingFlags {
  std::vector<std::string> inputs;
  std::string rename, nodes, reorder = "10s", drop;
  std::vector<std::string> skew;
  bool lenient = false, dns_names = false;
};

void AddSightingFlags(CLI::App& app, SightingFlags& flags);
Result<detect::SightingOptions> SightingOptionsOf(const SightingFlags& flags);

// "ws2=+30ms", "db=-5ms" → the node and what is added to its clock.
Result<std::pair<std::string, Nanos>> ParseSkew(const std::string& text);

// What was skipped or lost, on stderr, one line each.
void PrintNotes(const detect::SightingInput& input);

}  // namespace wf::cli
