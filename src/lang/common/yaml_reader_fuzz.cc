#include <cstddef>
#include <cstdint>

#include "lang/common/yaml_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)wf::lang::ReadYaml({reinterpret_cast<const char*>(data), size}, "fuzz");
  return 0;
}
