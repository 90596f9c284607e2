#include <cstddef>
#include <cstdint>

#include "bpf/elf_functions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto found = wf::bpf::FindElfFunctions(file, {"pthread_mutex_lock", "main", ""});
  if (found.ok()) {
    for (const wf::bpf::ElfFunction& function : *found) {
      if (function.name > 2 || function.offset >= size) __builtin_trap();
    }
  }
  wf::bpf::ElfMemoryBytes(file);
  return 0;
}
