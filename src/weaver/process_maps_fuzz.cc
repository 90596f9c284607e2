#include <cstddef>
#include <cstdint>

#include "weaver/process_maps.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const auto& file : wf::weaver::ParseMaps({reinterpret_cast<const char*>(data), size})) {
    if (file.path.empty() || file.path[0] != '/') __builtin_trap();
  }
  return 0;
}
