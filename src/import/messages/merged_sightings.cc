#include "import/messages/merged_sightings.h"

#include <algorithm>
#include <utility>

namespace wf::messages {

MergedSightings::MergedSightings(std::vector<SightingSource*> sources)
    : sources_(std::move(sources)), heads_(sources_.size()) {
  for (size_t i = 0; i < heads_.size(); ++i) heads_[i].source = i;
}

bool MergedSightings::Later(size_t a, size_t b) const {
  const Sighting &x = heads_[a].line.sighting, &y = heads_[b].line.sighting;
  if (x.time_ns != y.time_ns) return x.time_ns > y.time_ns;
  return a > b;  // sources stand in the order of places
}

Status MergedSightings::Load(size_t head) {
  WF_ASSIGN(const bool more, sources_[head]->Next(heads_[head].line));
  if (!more) return {};
  heap_.push_back(head);
  std::push_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return Later(a, b); });
  return {};
}

Result<bool> MergedSightings::Next(SightingLine& line, size_t& source) {
  if (sources_.size() == 1) {  // the usual case: nothing to compare with
    source = 0;
    return sources_[0]->Next(line);
  }
  if (!started_) {
    started_ = true;
    for (size_t i = 0; i < heads_.size(); ++i) WF_TRY(Load(i));
  }
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return Later(a, b); });
  source = heap_.back();
  heap_.pop_back();
  std::swap(line, heads_[source].line);
  WF_TRY(Load(source));
  return true;
}

}  // namespace wf::messages
