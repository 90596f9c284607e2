// Programs that are attached together to their places. The kernel waits some ten milliseconds for each link
// that is removed, so all places of a file get one link, whose program branches on the place that was hit
// (its cookie). Links that the kernel makes one by one get one program each.
//
// Thread safety: none.
#pragma once

#include <linux/bpf.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace wf::weaver {

// Several programs as one: the cookie of the place is the number of the one that runs.
std::vector<bpf_insn> ByCookie(const std::vector<std::vector<bpf_insn>>& programs);

class ProbeBatch {
 public:
  enum class Links : uint8_t { kMulti, kOneByOne };

  // Places of one file that run `text`. Earlier ones are attached first.
  void Add(std::vector<bpf_insn> text, std::string file, std::vector<uint64_t> offsets, pid_t pid);
  // Attaches what was added since the last call; the descriptors of the probes are appended to `links`.
  Status Attach(Links how, std::vector<FileDescriptor>& links);

 private:
  struct Program {
    std::vector<bpf_insn> text;
    std::string file;
    std::vector<uint64_t> offsets;
    pid_t pid = 0;
  };

  std::vector<Program> waiting_;
};

}  // namespace wf::weaver
