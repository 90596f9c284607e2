#include "bpf/ring_submit.h"

namespace wf::bpf {

void AppendRingSubmit(BpfAssembler& a, const BpfMap& ring, BpfReg record) {
  using R = BpfReg;
  const auto wake = a.NewLabel(), submit = a.NewLabel();
  a.Map(R::r1, ring.fd());
  a.Move(R::r2, BPF_RB_AVAIL_DATA);
  a.Call(BPF_FUNC_ringbuf_query);
  a.JumpIf(R::r0, BpfCondition::kGreater, static_cast<int32_t>(ring.shape().entries / 4), wake);
  a.Move(R::r2, BPF_RB_NO_WAKEUP);
  a.Jump(submit);
  a.Bind(wake);
  a.Move(R::r2, BPF_RB_FORCE_WAKEUP);
  a.Bind(submit);
  a.Move(R::r1, record);
  a.Call(BPF_FUNC_ringbuf_submit);
}

void AppendRingOutput(BpfAssembler& a, const BpfMap& ring, BpfReg record, int32_t bytes) {
  using R = BpfReg;
  const auto output = a.NewLabel();
  a.Map(R::r1, ring.fd());
  a.Move(R::r2, BPF_RB_AVAIL_DATA);
  a.Call(BPF_FUNC_ringbuf_query);
  a.Move(R::r4, BPF_RB_NO_WAKEUP);
  a.JumpIf(R::r0, BpfCondition::kLess, static_cast<int32_t>(ring.shape().entries / 4), output);
  a.Move(R::r4, BPF_RB_FORCE_WAKEUP);
  a.Bind(output);
  a.Map(R::r1, ring.fd());
  a.Move(R::r2, record);
  a.Move(R::r3, bytes);
  a.Call(BPF_FUNC_ringbuf_output);
}

}  // namespace wf::bpf
