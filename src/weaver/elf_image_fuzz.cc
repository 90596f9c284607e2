// A file that claims to be a program, looked into as a tracepoint's location would be.
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "weaver/locator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wf::weaver;
  // Library and fuzzer agree on this name only while one process runs; the kernel keeps it in memory.
  static const std::string kFile = "/dev/shm/wherefore-elf-fuzz-" + std::to_string(getpid());
  const int fd = open(kFile.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  if (write(fd, data, size) != static_cast<ssize_t>(size)) {
    close(fd);
    return 0;
  }
  close(fd);
  static const auto kDefinitions = ParseTracepointFile(
      R"j([{"name":"a","locations":[{"exe":"*","function":"*"}]},
           {"name":"b","locations":[{"exe":"*","function":"f"}],
            "exports":{"a":"arg a","b":"arg r.name","c":"arg r->next->size","d":"arg r.bits","e":"arg view"}},
           {"name":"c","locations":[{"exe":"*","function":"f","at":"leave"}],"exports":{"r":"retval","e":"elapsed"}},
           {"name":"d","locations":[{"exe":"*","file":"tiny.cc","line":22}],"exports":{"x":"local sum"}},
           {"name":"e","locations":[{"exe":"*","function":"Base::Serve","signature":"int"}],"exports":{"x":"arg n"}}])j");
  if (!kDefinitions.ok()) __builtin_trap();
  for (const TracepointDefinition& definition : *kDefinitions) {
    const auto located = Locate(definition, {0, kFile});
    if (!located.ok()) continue;
    for (const LocatedFunction& function : located->functions) {
      for (const ProbeSite& site : function.sites) {
        if (site.offset >= size || site.values.size() != definition.exports.size())
          __builtin_trap();
        for (const ValueRead& value : site.values) {
          if (value.value.size() > kMaxRecipeSteps || value.length.size() > kMaxRecipeSteps)
            __builtin_trap();
        }
      }
    }
  }
  return 0;
}
