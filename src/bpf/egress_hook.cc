#include "bpf/egress_hook.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace wf::bpf {
namespace {

bpf_tc_hook HookOf(int index) {
  bpf_tc_hook hook{};
  hook.sz = sizeof hook;
  hook.ifindex = index;
  hook.attach_point = BPF_TC_EGRESS;
  return hook;
}

}  // namespace

Result<EgressHook> EgressHook::Attach(const BpfProgram& program, const std::string& interface) {
  const unsigned index = if_nametoindex(interface.c_str());
  if (index == 0) {
    return BadInput(fmt::format("{}: no such network interface here", interface),
                    "ip link lists them; in another namespace: ip netns exec NAME …");
  }
  const std::string what = fmt::format("clsact on {}", interface);
  EgressHook attached;
  bpf_tc_hook hook = HookOf(static_cast<int>(index));
  const int made = bpf_tc_hook_create(&hook);
  if (made != 0 && made != -EEXIST) return BpfError(what, -made);
  attached.index_ = static_cast<int>(index);
  attached.made_discipline_ = made == 0;
  bpf_tc_opts options{};
  options.sz = sizeof options;
  options.prog_fd = program.fd();
  if (const int failed = bpf_tc_attach(&hook, &options); failed != 0)
    return BpfError(what, -failed);
  attached.handle_ = options.handle;
  attached.priority_ = options.priority;
  return attached;
}

EgressHook::EgressHook(EgressHook&& other) noexcept
    : index_(std::exchange(other.index_, 0)),
      handle_(other.handle_),
      priority_(other.priority_),
      made_discipline_(other.made_discipline_) {}

EgressHook::~EgressHook() {
  if (index_ == 0) return;
  bpf_tc_hook hook = HookOf(index_);
  if (handle_ != 0) {
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.handle = handle_;
    options.priority = priority_;
    bpf_tc_detach(&hook, &options);
  }
  if (!made_discipline_) return;
  // With both bits libbpf removes the discipline itself, not only the filters of one side.
  hook.attach_point = static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS);
  bpf_tc_hook_destroy(&hook);
}

}  // namespace wf::bpf
