// Decodes the bytes of Intel PT with libipt: which branches the code took. The processor writes only what the
// code does not show, a bit for each conditional branch and an address for each indirect one, so the code is
// needed.
#pragma once

#include <cstdint>
#include <string_view>

#include "recorder/control/thunk.h"
#include "recorder/format/branches.h"

namespace wf::recorder {

struct PtDecoded {
  uint64_t gaps = 0;          // overflows reported by the processor, missing code, invalid packets
  uint64_t instructions = 0;  // walked
};

// The thunks of one sub-computation, thunk 0 first. `bytes` are all of its bytes; they begin where tracing began.
PtDecoded DecodePt(const PtFacts& facts, std::string_view bytes, const CodeAt& code,
                   const ThunkSink& sink);

}  // namespace wf::recorder
