// Which protocol a connection speaks, by what its ends say; a well-known port only helps where contents say little.
// Pure functions; any thread.
#pragma once

#include <string_view>

#include "import/pcap/dialogue.h"

namespace wf::pcap {

enum class DetectionEffort : uint8_t {
  kMayWait,  // more bytes of this end will come: kUndecided asks for them
  kFinal,
};

// `bytes`: what `from` said, from the beginning of the connection or of a packet. kBlind: none that we know. Sets the
// client in `context` where the bytes tell.
Protocol DetectProtocol(End from, std::string_view bytes, DetectionEffort effort,
                        DialogueContext& context);

// Which of two ports is a server's: kNoEnd when they do not tell.
End ServerByPorts(uint16_t port0, uint16_t port1);

}  // namespace wf::pcap
