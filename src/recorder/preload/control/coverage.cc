#include "recorder/preload/control/coverage.h"

#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace {

// Trivially made and never destroyed: a thread's last blocks run after its destructors.
thread_local CoverageLog t_coverage;

}  // namespace

CoverageLog& CoverageOfThread() { return t_coverage; }

}  // namespace wf::recorder

// Called hundreds of millions of times a second: at other depths, and in the recorder's own calls, it returns at once.
WF_EXPORT void __sanitizer_cov_trace_pc() {
  wf::recorder::t_coverage.Enter(reinterpret_cast<uint64_t>(__builtin_return_address(0)),
                                 reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
}
