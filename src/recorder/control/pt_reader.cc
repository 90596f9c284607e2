#include "recorder/control/pt_reader.h"

#include <cstring>

#include "recorder/control/pt_decoder.h"

namespace wf::recorder {

void PtReader::Miss() {
  // What was running is unknown until the next one opens.
  ++gaps_;
  running_.reset();
}

size_t PtReader::Read(std::string_view operations) {
  VarintCursor in(operations);
  while (!in.done()) {
    const size_t begin = in.position();
    if (ReadOperation(in)) continue;
    if (in.ran_out()) return begin;
    Miss();
    break;
  }
  return operations.size();
}

bool PtReader::ReadOperation(VarintCursor& in) {
  uint64_t op = 0;
  uint64_t value = 0;
  uint64_t reason = 0;
  std::string_view bytes;
  if (!in.Read(op)) return false;
  switch (op) {
    case kPtFacts:
      if (!in.ReadBytes(sizeof(PtFacts), bytes)) return false;
      std::memcpy(&facts_.emplace(), bytes.data(), sizeof(PtFacts));
      return true;
    case kPtOpen:
      if (!in.Read(value)) return false;
      running_ = value;
      return true;
    case kPtGap:
      if (!in.Read(value) || !in.Read(reason)) return false;
      if (wanted()) gaps_ += value;
      return true;
    case kPtBytes:
      if (!in.Read(value) || value > kMostPtBytes || !in.ReadBytes(value, bytes)) return false;
      if (wanted()) bytes_ += bytes;
      return true;
    default:
      return false;
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
