// The stack of hop metadata that INT-MD leaves within a packet, and the packet as it was before INT was put in.
#pragma once

#include <optional>

#include "import/packets/int_report.h"

namespace wf::packets {

// Finds INT headers behind UDP, TCP, GRE, VXLAN GPE or Geneve and takes them out of `headers`: ports, protocol and
// payload become those that the hosts know. The places that mark INT (a UDP port, a DSCP value, a probe marker, a
// protocol number) are for each network to choose, so what is recognised is the header itself: type, version, lengths that
// agree with each other and with the instruction bitmap. Nothing: there is none; of INT-MX there is no stack either.
std::optional<IntStack> DecodeIntStack(pcap::PacketHeaders& headers);

}  // namespace wf::packets
