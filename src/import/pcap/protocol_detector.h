// Which protocol a connection speaks, by its bytes; a well-known port only helps where the bytes say little.
// Pure functions; any thread.
#pragma once

#include <string_view>

#include "import/pcap/dialogue.h"

namespace wf::pcap {

enum class DetectionEffort : uint8_t {
  kMayWait,  // more bytes of this end may come: kUndecided waits for them
  kFinal,
};

// `bytes`: what `from` sent, from the beginning of the connection or of a packet. kBlind: no known protocol.
// Sets the client in `context` where the bytes show it.
Protocol DetectProtocol(End from, std::string_view bytes, DetectionEffort effort,
                        DialogueContext& context);

// Which of two ports is the server's; kNoEnd if the ports do not show it.
End ServerByPorts(uint16_t port0, uint16_t port1);

}  // namespace wf::pcap
