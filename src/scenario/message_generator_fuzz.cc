// Any bytes as a config of `wherefore generate`: refused, or generated from for a while.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scenario/message_generator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config =
      wf::scenario::ReadGeneratorConfig({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!config.ok()) return 0;
  uint64_t clients = 0;
  for (const wf::scenario::TraceletGroup& group : config->groups) clients += group.parallel;
  if (clients > 1000) return 0;  // allowed, and slow
  wf::scenario::MessageGenerator generator(*config, 1);
  wf::scenario::GeneratedMessage message;
  wf::Nanos before = 0;
  for (int i = 0; i < 10'000 && generator.Next(message); ++i) {
    if (message.time < before) __builtin_trap();
    before = message.time;
  }
  return 0;
}
