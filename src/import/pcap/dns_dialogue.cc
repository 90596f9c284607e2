#include "import/pcap/dns_dialogue.h"

#include "import/pcap/byte_order.h"
#include "import/pcap/dns_message.h"

namespace wf::pcap {
namespace {

constexpr size_t kDnsLengthBytes = 2 + 12;

}  // namespace

bool LooksLikeDnsStream(std::string_view bytes) {
  DnsHeader header;
  return bytes.size() >= kDnsLengthBytes && Read16(bytes, 0) >= 12 &&
         ReadDnsHeader(bytes.substr(2), DnsPort::kWellKnown, header);
}

bool DnsDialogue::StartsHere(End from, std::string_view bytes) {
  if (!RoleKnown() || !LooksLikeDnsStream(bytes)) return false;
  DnsHeader header;
  const bool read = ReadDnsHeader(bytes.substr(2), DnsPort::kWellKnown, header);
  // The middle of an answer may look like a header; that it answers an open query is no accident.
  return read &&
         (IsClient(from) ? !header.response : header.response && ids_.count(header.id) != 0);
}

size_t DnsDialogue::Parse(End from, std::string_view bytes) {
  if (bytes.size() < kDnsLengthBytes) return 0;
  DnsHeader header;
  if (!LooksLikeDnsStream(bytes) || !ReadDnsHeader(bytes.substr(2), DnsPort::kWellKnown, header)) {
    LoseWay(from);
    return bytes.size();
  }
  if (!RoleKnown()) context().client = header.response ? OtherEnd(from) : from;
  const size_t length = Read16(bytes, 0);
  Unit& unit = units_[from];
  unit.open = true;
  unit.response = header.response;
  unit.number = header.id;
  unit.id = FirstSequence(from);
  unit.start = FirstTime(from);
  unit.bytes = static_cast<int64_t>(length) + 2;
  if (length == 12) {
    UnitEnds(from);
  } else {
    Skip(from, length - 12);
  }
  return kDnsLengthBytes;
}

void DnsDialogue::Skipped(End from) { UnitEnds(from); }

void DnsDialogue::UnitEnds(End from) {
  Unit& unit = units_[from];
  unit.open = false;
  if (!unit.response) {
    if (IsClient(from)) {
      ids_[unit.number] = unit.id;
      EmitCall(unit.id, unit.start, unit.bytes);
    } else {
      EmitMessage(from, unit.id, unit.start, unit.bytes);
    }
    return;
  }
  const auto found = ids_.find(unit.number);
  if (IsClient(from)) {
    EmitMessage(from, unit.id, unit.start, unit.bytes);
  } else if (found == ids_.end()) {
    EmitStrayReturn(unit.id, LastTime(from), unit.bytes);
  } else {
    // A zone transfer answers in many messages, of which the first is the return.
    EmitReturn(found->second, LastTime(from), unit.bytes);
    ids_.erase(found);
  }
}

}  // namespace wf::pcap
