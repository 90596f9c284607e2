// What must hold of every batch a decoder leaves behind, whatever bytes it was given. For fuzzers.
#pragma once

#include "base/check.h"
#include "import/decode/decode_report.h"
#include "model/event_batch.h"

namespace wf::decode {

inline void CheckDecoded(const EventBatch& batch, const DecodeReport& report, bool decoded) {
  // Rows and counters agree, and a refused input leaves nothing.
  WF_CHECK(decoded ? static_cast<int64_t>(batch.size()) == report.accepted : batch.empty());
  // Every code, offset and packed list is sound: the checked reader takes the batch, and nothing was lost.
  std::string bytes;
  SerializeBatch(batch, bytes);
  const auto again = DeserializeBatch(bytes);
  WF_CHECK(again.ok());
  for (size_t row = 0; row < batch.size(); ++row) {
    WF_CHECK(!batch.trace_id(row).zero());
    WF_CHECK(ContentHash(batch, row) == ContentHash(*again, row));
  }
}

}  // namespace wf::decode
