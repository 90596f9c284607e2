// The bytes that Intel PT wrote, decoded with libipt: which branches the code took. The processor writes only what code
// cannot tell, a bit for each conditional branch and an address for each indirect one, so the code must be at hand.
#pragma once

#include <cstdint>
#include <string_view>

#include "recorder/control/thunk.h"
#include "recorder/format/branches.h"

namespace wf::recorder {

struct PtDecoded {
  uint64_t gaps =
      0;  // overflows told by the processor, code that is missing, packets that make no sense
  uint64_t instructions = 0;  // walked
};

// The thunks of one sub-computation, thunk 0 first. `bytes` are all of its bytes; they begin where tracing began.
PtDecoded DecodePt(const PtFacts& facts, std::string_view bytes, const CodeAt& code,
                   const ThunkSink& sink);

}  // namespace wf::recorder
