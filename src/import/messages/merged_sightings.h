// MergedSightings: several sources, each in order of time → all of them in order of time, then of place.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <vector>

#include "model/sighting.h"

namespace wf::messages {

class MergedSightings {
 public:
  explicit MergedSightings(std::vector<SightingSource*> sources);  // borrowed: they must outlive it

  // `source` is the index of the line's source.
  Result<bool> Next(SightingLine& line, size_t& source);

 private:
  struct Head {
    SightingLine line;
    size_t source;
  };
  bool Later(size_t a, size_t b) const;
  Status Load(size_t head);

  std::vector<SightingSource*> sources_;
  std::vector<Head> heads_;
  std::vector<size_t> heap_;  // of heads with a line; the first is on top
  bool started_ = false;
};

}  // namespace wf::messages
