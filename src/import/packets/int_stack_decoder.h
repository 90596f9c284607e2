// The stack of hop metadata that INT-MD puts into a packet, and the packet without INT.
#pragma once

#include <optional>

#include "import/packets/int_report.h"

namespace wf::packets {

// Finds INT headers behind UDP, TCP, GRE, VXLAN GPE or Geneve and removes them from `headers`: ports,
// protocol and payload become those that the hosts see. Each network chooses its own mark for INT (a UDP
// port, a DSCP value, a probe marker, a protocol number), so the header itself is recognised: type, version,
// and lengths that agree with each other and with the instruction bitmap. Empty if there is no stack; INT-MX
// has none either.
std::optional<IntStack> DecodeIntStack(pcap::PacketHeaders& headers);

}  // namespace wf::packets
