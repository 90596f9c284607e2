// The parts of memory that are open in this process, ascending.
#pragma once

#include "recorder/preload/data/state.h"

namespace wf::recorder::data {

// The first one that ends after the address.
inline int FirstActiveAfter(uint64_t address) {
  int low = 0, high = self->active_count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (self->active[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

inline void InsertActive(int at, const Active& active) {
  if (self->active_count == kMaxActive) GiveUp("too much memory in use at once");
  for (int k = self->active_count; k > at; --k) self->active[k] = self->active[k - 1];
  self->active[at] = active;
  ++self->active_count;
}

inline void EraseActive(int at) {
  for (int k = at + 1; k < self->active_count; ++k) self->active[k - 1] = self->active[k];
  --self->active_count;
}

}  // namespace wf::recorder::data
