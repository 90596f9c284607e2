// A batch as text that people can read and tests can compare: one line per row, indented lines for what
// belongs to it.
#pragma once

#include <string>

#include "import/decode/decode_report.h"
#include "model/event_batch.h"

namespace wf::decode {

std::string DumpBatch(const EventBatch& batch);
// "accepted 2, rejected 1 {trace_id_zero:1}, repairs {}".
std::string DumpReport(const DecodeReport& report);

}  // namespace wf::decode
