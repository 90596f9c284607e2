// EgressHook: a BPF program that sees every packet an interface is about to send, before the packet enters
// the interface's queue (clsact, egress). The program can read the packet, which then continues unchanged.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bpf/bpf_object.h"

namespace wf::bpf {

class EgressHook {
 public:
  // `interface` is one of this network namespace. Creates its clsact queueing discipline if there is none,
  // and then removes it again at the end.
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
