// Uprobe: a BPF program that the kernel runs when a process reaches certain places of its code, or leaves a
// function entered there. The process is stopped while the program runs (some microseconds) and is not
// changed otherwise; the probe goes when the attachment is destroyed or our process ends.
//
// Kernels from 6.10 on accept many places in one link. Before, each place is a separate perf event, and since
// the kernel takes a tenth of a second to remove one, thirty of them need three seconds.
//
// A return probe puts its own return address on the stack. Code that unwinds the stack through it, as a
// thread cancelled in that function does, does not find the way back: such functions must not get one.
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
  // One for each offset, so that the program knows which was hit (bpf_get_attach_cookie); or none. For Attach
  // only, and only where HasUprobeMulti.
  std::vector<uint64_t> cookies;
};

class Uprobe {
 public:
  static Result<Uprobe> Attach(const BpfProgram& program, const UprobePlaces& places,
                               ProbeSite site);
  // One perf event per place, whatever the kernel supports. The program must not be one of those that are
  // attached many at once.
  static Result<Uprobe> AttachOneByOne(const BpfProgram& program, const UprobePlaces& places,
                                       ProbeSite site);
  // The descriptors that hold the probe: a caller with many closes them in parallel, because the kernel waits
  // for each.
  std::vector<FileDescriptor> Release() && { return std::move(attachments_); }

 private:
  std::vector<FileDescriptor> attachments_;
};

}  // namespace wf::bpf
