// EgressHook: a BPF program that sees every packet an interface is about to send, before the packet enters the
// interface's queue (clsact, egress). The program can look, and the packet goes on as if it had not been there.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bpf/bpf_object.h"

namespace wf::bpf {

class EgressHook {
 public:
  // `interface` is one of this network namespace. Makes its clsact queueing discipline if there is none, and takes it
  // away again then.
  static Result<EgressHook> Attach(const BpfProgram& program, const std::string& interface);
  ~EgressHook();
  EgressHook(EgressHook&& other) noexcept;
  EgressHook& operator=(EgressHook&&) = delete;

  int interface_index() const { return index_; }

 private:
  EgressHook() = default;
  int index_ = 0;  // 0: moved from
  uint32_t handle_ = 0, priority_ = 0;
  bool made_discipline_ = false;
};

}  // namespace wf::bpf
