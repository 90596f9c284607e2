// Programs on their way to the places that they are for, attached together: the kernel waits some ten milliseconds for
// each link when it is taken out, so that all places of a file get one link, whose program goes on by the place that was
// hit (its cookie). Links that the kernel makes one by one get a program each.
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

// Several programs as one: the one whose number is the cookie of the place runs.
std::vector<bpf_insn> ByCookie(const std::vector<std::vector<bpf_insn>>& programs);

class ProbeBatch {
 public:
  enum class Links : uint8_t { kMulti, kOneByOne };

  // Places of one file that run `text`. Those that are added first are attached first.
  void Add(std::vector<bpf_insn> text, std::string file, std::vector<uint64_t> offsets, pid_t pid);
  // Attaches what was added since the last time; what holds the probes goes behind `links`.
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
