// The paths of many traces, added up by service, operation and category.
#include <algorithm>

#include "answer/critical_path/critical_path_answer.h"

namespace wf::answer {

void PathPopulation::Add(const Trace& trace, const critical_path::CriticalPath& path,
                         const std::optional<critical_path::WhatIfAnswer>& what_if) {
  const Block& root = trace.blocks[path.root];
  const Nanos duration = SaturatingSub(path.end_ns, path.start_ns);
  requests_.push_back({trace.id, std::string(trace.service(root)),
                       std::string(trace.str(root.name)), path.start_ns, duration, trace.complete,
                       what_if});
  duration_ = SaturatingAdd(duration_, duration);
  std::map<Key, Nanos> times;
  for (const critical_path::PathSegment& segment : path.segments) {
    const Block& block = trace.blocks[segment.block];
    times[{std::string(trace.service(block)), std::string(trace.str(block.name)),
           segment.category}] += segment.duration();
  }
  for (const auto& [key, time] : times) {
    Part& part = parts_[key];
    if (time > part.longest) {
      part.longest = time;
      part.longest_in = trace.id;
    }
    part.times.push_back(time);
    part.total = SaturatingAdd(part.total, time);
  }
}

std::vector<PathPopulation::Component> PathPopulation::Ranked() const {
  std::vector<Component> ranked;
  for (const auto& [key, part] : parts_) ranked.push_back({key, &part});
  std::stable_sort(ranked.begin(), ranked.end(), [](const Component& a, const Component& b) {
    return a.part->total > b.part->total;
  });
  return ranked;
}

double PathPopulation::Share(Nanos part) const {
  return duration_ == 0 ? 0 : static_cast<double>(part) / static_cast<double>(duration_);
}

std::optional<critical_path::WhatIfAnswer> PathPopulation::Total() const {
  std::optional<critical_path::WhatIfAnswer> total;
  for (const Request& request : requests_) {
    if (!request.what_if) continue;
    if (!total) total.emplace();
    total->matched += request.what_if->matched;
    total->duration_ns = SaturatingAdd(total->duration_ns, request.what_if->duration_ns);
  }
  return total;
}

}  // namespace wf::answer
