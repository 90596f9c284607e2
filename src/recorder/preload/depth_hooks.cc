// Stands in for the depths that are not built into this library.
#include "recorder/preload/depth_hooks.h"

namespace wf::recorder {

__attribute__((weak)) const char* StartDataDepth() {
  return "this build cannot record at data depth; leave --data out";
}
__attribute__((weak)) const char* StartControlDepth() {
  return "this build cannot record at control depth; leave --control out";
}

}  // namespace wf::recorder
