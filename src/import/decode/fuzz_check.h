// What must hold for the batch of every decoder, whatever the input. For fuzzers.
#pragma once

#include "base/check.h"
#include "import/decode/decode_report.h"
#include "model/event_batch.h"

namespace wf::decode {

inline void CheckDecoded(const EventBatch& batch, const DecodeReport& report, bool decoded) {
  // Rows and counters agree, and a rejected input leaves nothing.
  WF_CHECK(decoded ? static_cast<int64_t>(batch.size()) == report.accepted : batch.empty());
  // Every code, offset and packed list is valid: the checked reader accepts the batch, and nothing was lost.
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
