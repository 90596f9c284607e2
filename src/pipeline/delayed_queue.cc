#include "pipeline/delayed_queue.h"

namespace wf::pipeline {

void PutDelayedTrace(const DelayedTrace& trace, std::string& out) {
  out.push_back(static_cast<char>(trace.reason));
  for (const std::string* text : {&trace.tenant, &trace.owner}) {
    PutVarint(text->size(), out);
    out += *text;
  }
  PutFixed64(trace.id.hi, out);
  PutFixed64(trace.id.lo, out);
  PutFixed64(static_cast<uint64_t>(trace.queued_ns), out);
}

bool DelayedTraceReader::Next(DelayedTrace& out) {
  if (done()) return false;
  std::string_view reason;
  if (!Bytes(1, reason)) return Fail();
  out.reason = DelayReasonOf(static_cast<uint8_t>(reason[0]));
  for (std::string* text : {&out.tenant, &out.owner}) {
    uint64_t length;
    std::string_view bytes;
    if (!Varint(length) || !Bytes(length, bytes)) return Fail();
    *text = bytes;
  }
  uint64_t queued;
  if (!Fixed64(out.id.hi) || !Fixed64(out.id.lo) || !Fixed64(queued)) return Fail();
  out.queued_ns = static_cast<Nanos>(queued);
  return true;
}

}  // namespace wf::pipeline
