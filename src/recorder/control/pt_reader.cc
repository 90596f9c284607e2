#include "recorder/control/pt_reader.h"

#include <cstring>

#include "recorder/control/pt_decoder.h"
#include "recorder/control/varint_cursor.h"

namespace wf::recorder {

void PtReader::Miss() {
  // What was running is unknown until the next one opens.
  ++gaps_;
  running_.reset();
}

void PtReader::Read(std::string_view operations) {
  VarintCursor in(operations);
  while (!in.done()) {
    uint64_t op = 0;
    uint64_t value = 0;
    std::string_view bytes;
    bool ok = in.Read(op);
    if (ok && op == kPtFacts) {
      ok = in.ReadBytes(sizeof(PtFacts), bytes);
      if (ok) std::memcpy(&facts_.emplace(), bytes.data(), sizeof(PtFacts));
    } else if (ok && op == kPtOpen) {
      ok = in.Read(value);
      running_ = value;
    } else if (ok && op == kPtGap) {
      uint64_t reason = 0;
      ok = in.Read(value) && in.Read(reason);
      if (ok && wanted()) gaps_ += value;
    } else if (ok && op == kPtBytes) {
      ok = in.Read(value) && in.ReadBytes(value, bytes);
      if (ok && wanted()) bytes_ += bytes;
    } else {
      ok = false;
    }
    if (!ok) return Miss();
  }
}

void PtReader::Finish() {
  if (bytes_.empty()) return;
  if (!facts_) {
    ++gaps_;
    return;
  }
  gaps_ += DecodePt(*facts_, bytes_, code_, sink_).gaps;
}

}  // namespace wf::recorder
