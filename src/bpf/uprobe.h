// Uprobe: a BPF program that the kernel runs when a process gets to some places of its code, or leaves a function
// entered there. The process is stopped for as long as the program runs (some microseconds) and is not changed
// otherwise; when the attachment goes, or we die, so does the probe.
//
// Kernels from 6.10 on take many places in one link; before, each is a perf event of its own, and since the kernel
// waits a tenth of a second to take one away, thirty of them need three seconds.
//
// A return probe puts a return address of its own on the stack. Whoever unwinds the stack through it, as a thread
// cancelled in that function does, does not find the way back: such functions must not get one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bpf/bpf_object.h"

namespace wf::bpf {

enum class ProbeSite : uint8_t { kEntry, kReturn };

struct UprobePlaces {
  std::string file;               // the code's file, as this process sees it
  std::vector<uint64_t> offsets;  // in it
  pid_t pid = 0;  // all threads of this process; 0: of every process that maps the file
  // One for each of the offsets, for the program to know which it was (bpf_get_attach_cookie); or none. Attach only, and
  // only where HasUprobeMulti.
  std::vector<uint64_t> cookies;
};

class Uprobe {
 public:
  static Result<Uprobe> Attach(const BpfProgram& program, const UprobePlaces& places,
                               ProbeSite site);
  // A perf event each, whatever the kernel can. The program is not one of those that are attached many at once.
  static Result<Uprobe> AttachOneByOne(const BpfProgram& program, const UprobePlaces& places,
                                       ProbeSite site);
  // What holds the probe: whoever has many closes them side by side, for the kernel waits at each.
  std::vector<FileDescriptor> Release() && { return std::move(attachments_); }

 private:
  std::vector<FileDescriptor> attachments_;
};

}  // namespace wf::bpf
