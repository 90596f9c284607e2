// For tests: critical paths of traces written as lines of text (model/event_lines.h), as lines of text.
#pragma once

#include <fmt/format.h>

#include <sstream>
#include <string>

#include "analysis/critical_path/critical_path.h"
#include "model/event_lines.h"

namespace wf::testing {}

namespace wf::critical_path::testing {

using namespace wf::testing;

// "cart:end" → that place of the trace; the default is the side that the flag takes by itself.
inline PathPlace PlaceOf(const Trace& trace, Words& words, std::string text, const char* side) {
  const size_t colon = text.find(':');
  if (colon != std::string::npos) side = colon + 1 + text.c_str();
  const std::string which = side;
  text = text.substr(0, colon);
  for (uint32_t b = 0; b < trace.blocks.size(); ++b) {
    const Block& block = trace.blocks[b];
    if (block.id == words.Id(text)) return {b, which == "start" ? block.start_ns : block.end_ns};
  }
  throw std::runtime_error("no block " + text);
}

// "path [from=P] [to=P] [overlap=off]".
inline CriticalPathOptions PathOptions(const Trace& trace, Words& words, const std::string& line) {
  CriticalPathOptions options;
  std::istringstream in(line);
  std::string field;
  in >> field;
  while (in >> field) {
    if (field.rfind("from=", 0) == 0)
      options.from = PlaceOf(trace, words, field.substr(5), "start");
    else if (field.rfind("to=", 0) == 0)
      options.to = PlaceOf(trace, words, field.substr(3), "end");
    else if (field == "overlap=off")
      options.overlap = OverlapTolerance::kOff;
    else
      throw std::runtime_error("cannot read " + field);
  }
  return options;
}

inline std::string PathText(const Trace& trace, Words& words, const Result<CriticalPath>& path) {
  if (!path.ok()) return "no path\n";
  std::string out = fmt::format("{}..{}\n", path->start_ns, path->end_ns);
  for (const PathSegment& s : path->segments) {
    out += fmt::format("  {}..{} {} {}", s.start_ns, s.end_ns, words.Word(trace.blocks[s.block].id),
                       PathCategoryName(s.category));
    if (s.edge != kNone) out += fmt::format(" edge {}", trace.edge_type(trace.edges[s.edge]));
    for (uint32_t i = s.alternatives_begin; i < s.alternatives_end; ++i) {
      out += fmt::format("{}{}", i == s.alternatives_begin ? " or " : " ",
                         words.Word(trace.blocks[path->alternatives[i]].id));
    }
    out += "\n";
  }
  return out;
}

}  // namespace wf::critical_path::testing
