// EventBatch rows → OTLP, for `wherefore export`, tests and benches. Decoding what was encoded gives the same
// rows: equal ContentHash, whatever format they first came in. Rows that OTLP cannot express (events of other
// types, a FOLLOWS_FROM parent, a missing start, an inferred row) get attributes under "wherefore.row.",
// which our decoder restores and other programs may ignore.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/event_batch.h"

namespace wf::otlp {

// Rows are grouped by process and scope; within a group they keep their order. `rows` empty means none.
void EncodeOtlpProtobuf(const EventBatch& batch, const std::vector<uint32_t>& rows,
                        std::string& out);
std::string EncodeOtlpJson(const EventBatch& batch, const std::vector<uint32_t>& rows);

// Every row of the batch, for the functions above.
std::vector<uint32_t> AllRows(const EventBatch& batch);

}  // namespace wf::otlp
