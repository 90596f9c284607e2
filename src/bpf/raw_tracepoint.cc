#include "bpf/raw_tracepoint.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

namespace wf::bpf {

Result<RawTracepoint> RawTracepoint::Attach(const BpfProgram& program, const char* name) {
  const int fd = bpf_raw_tracepoint_open(name, program.fd());
  if (fd < 0) return BpfError(fmt::format("tracepoint {}", name), -fd);
  RawTracepoint tracepoint;
  tracepoint.attachment_ = FileDescriptor(fd);
  return tracepoint;
}

}  // namespace wf::bpf
