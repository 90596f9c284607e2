#include "recorder/preload/data/extents.h"

namespace wf::recorder::data {

uint64_t TakeExtent(Extent* list, int* count, uint64_t length) {
  for (int i = 0; i < *count; ++i) {
    if (list[i].end - list[i].start < length) continue;
    const uint64_t start = list[i].start;
    list[i].start += length;
    if (list[i].start == list[i].end) {
      for (int k = i + 1; k < *count; ++k) list[k - 1] = list[k];
      --*count;
    }
    return start;
  }
  return 0;
}

void TakeRange(Extent* list, int* count, uint64_t start, uint64_t end) {
  for (int i = 0; i < *count; ++i) {
    if (list[i].end <= start || list[i].start >= end) continue;
    const Extent was = list[i];
    if (was.start < start && was.end > end) {
      if (*count == kMaxExtents) GiveUp("too many pieces of free memory");
      for (int k = *count; k > i + 1; --k) list[k] = list[k - 1];
      ++*count;
      list[i].end = start;
      list[i + 1] = {end, was.end};
      return;
    }
    if (was.start < start) {
      list[i].end = start;
    } else if (was.end > end) {
      list[i].start = end;
    } else {
      for (int k = i + 1; k < *count; ++k) list[k - 1] = list[k];
      --*count;
      --i;
    }
  }
}

void GiveExtent(Extent* list, int* count, uint64_t start, uint64_t end) {
  TakeRange(list, count, start, end);  // so that giving twice is harmless
  int i = 0;
  while (i < *count && list[i].start < start) ++i;
  const bool joins_before = i > 0 && list[i - 1].end == start;
  const bool joins_after = i < *count && list[i].start == end;
  if (joins_before && joins_after) {
    list[i - 1].end = list[i].end;
    for (int k = i + 1; k < *count; ++k) list[k - 1] = list[k];
    --*count;
  } else if (joins_before) {
    list[i - 1].end = end;
  } else if (joins_after) {
    list[i].start = start;
  } else {
    if (*count == kMaxExtents) GiveUp("too many pieces of free memory");
    for (int k = *count; k > i; --k) list[k] = list[k - 1];
    list[i] = {start, end};
    ++*count;
  }
}

}  // namespace wf::recorder::data
