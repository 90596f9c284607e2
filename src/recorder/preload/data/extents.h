// Lists of free ranges, ascending and separate: of addresses, or of offsets in a file.
#pragma once

#include <cstdint>

#include "recorder/preload/data/state.h"

namespace wf::recorder::data {

// Removes and returns the start of the first range that is long enough; 0 if there is none.
uint64_t TakeExtent(Extent* list, int* count, uint64_t length);
// Removes [start, end) from the list, as far as it is free.
void TakeRange(Extent* list, int* count, uint64_t start, uint64_t end);
void GiveExtent(Extent* list, int* count, uint64_t start, uint64_t end);

}  // namespace wf::recorder::data
