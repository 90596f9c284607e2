#include "client/tracer/recorder_link.h"

#include <dlfcn.h>

namespace wherefore::client {

// The recorder is preloaded or linked: there from the start, or never.
const RecordTrace record_trace =
    reinterpret_cast<RecordTrace>(dlsym(RTLD_DEFAULT, "wherefore_record_trace"));

}  // namespace wherefore::client
