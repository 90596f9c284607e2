// RawTracepoint: a BPF program that the kernel runs at one of its tracepoints, with the tracepoint's own
// arguments. It needs neither the kernel's headers nor its type information; the program goes when the
// attachment is destroyed or our process ends.
#pragma once

#include "base/result.h"
#include "bpf/bpf_object.h"

namespace wf::bpf {

class RawTracepoint {
 public:
  // `name` as in "sys_enter". The program is of kind kTracepoint.
  static Result<RawTracepoint> Attach(const BpfProgram& program, const char* name);

 private:
  FileDescriptor attachment_;
};

}  // namespace wf::bpf
