// Lists of free ranges, ascending and apart: of addresses, or of offsets in a file.
#pragma once

#include <cstdint>

#include "recorder/preload/data/state.h"

namespace wf::recorder::data {

// The start of the first that is long enough; 0 if there is none.
uint64_t TakeExtent(Extent* list, int* count, uint64_t length);
// Takes [start, end) out, as far as it is free.
void TakeRange(Extent* list, int* count, uint64_t start, uint64_t end);
void GiveExtent(Extent* list, int* count, uint64_t start, uint64_t end);

}  // namespace wf::recorder::data
