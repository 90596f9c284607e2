// What of a segment a scan must read: which columns, and which rows may be passed over (store.h, EventSelection).
#pragma once

#include <cstdint>
#include <string>

#include "store/duckdb/part.h"
#include "store/store.h"

namespace wf::store::duckdb {

struct ScanColumns {
  bool nothing = false;           // no row of the segment is wanted
  uint64_t columns = UINT64_MAX;  // bits as in Segment::columns
  std::string condition;          // " AND …" on the rows; empty for none
};

ScanColumns ChooseColumns(const Segment& segment, const SegmentDictionary& dictionary,
                          const ScanOptions& options);

}  // namespace wf::store::duckdb
