#include "weaver/program_frame.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>

#include "bpf/ring_submit.h"
#include "weaver/event_program.h"

namespace wf::weaver {
namespace {

using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;
using M = bpf::BpfMath;

}  // namespace

ProgramFrame::ProgramFrame(bpf::BpfAssembler& a, const ProgramSpec& spec, size_t scratch_bytes)
    : a_(a),
      spec_(spec),
      end_(a.NewLabel()),
      out_(end_),
      scratch_(static_cast<int16_t>(spec.layout->bytes)),
      bytes_(spec.layout->bytes + scratch_bytes) {}

bool ProgramFrame::in_ring() const {
  return bytes_ > kFrameBytes - static_cast<size_t>(-kRecordEnd);
}

void ProgramFrame::Address(R to, int16_t place) {
  a_.Move(to, R::r10);
  a_.Add(to, place);
}

int ProgramFrame::control_fd() const { return spec_.maps->control.fd(); }

void ProgramFrame::Count(Counter counter) {
  a_.MapValue(R::r1, spec_.maps->counters.fd(), static_cast<uint32_t>(counter) * 8);
  a_.Move(R::r2, 1);
  a_.AtomicAdd(R::r1, 0, R::r2);
}

bool ProgramFrame::anonymous() const {
  if (spec_.groups == nullptr || spec_.calls != nullptr || spec_.filter || spec_.names)
    return false;
  const auto* observe = std::get_if<advice::Observe>(&spec_.advice->steps.front());
  return observe == nullptr || std::find(observe->variables.begin(), observe->variables.end(),
                                         "procId") == observe->variables.end();
}

void ProgramFrame::Begin() {
  a_.Move(kRegisters, R::r1);
  if (anonymous()) {
    a_.Store(W::k8, R::r10, kThreadAt, 0);
    a_.Store(W::k8, R::r10, kProcessAt, 0);
    a_.Store(W::k8, R::r10, kKindAt, static_cast<int32_t>(RecordKind::kEvent));
    return;
  }
  a_.Call(BPF_FUNC_get_current_pid_tgid);  // the process above, the thread below
  a_.Move(R::r8, R::r0);
  a_.Math(M::kShiftRight, R::r8, 32);
  a_.Math(M::kShiftLeft, R::r0, 32);
  a_.Math(M::kShiftRight, R::r0, 32);
  a_.Store(W::k8, R::r10, kThreadAt, R::r0);
  if (spec_.pid_namespace_inode != 0) {
    a_.Constant(R::r1, spec_.pid_namespace_device);
    a_.Constant(R::r2, spec_.pid_namespace_inode);
    Address(R::r3, kReadAt);
    a_.Move(R::r4, sizeof(bpf_pidns_info));
    a_.Call(BPF_FUNC_get_ns_current_pid_tgid);
    a_.JumpIf(R::r0, C::kNotEqual, 0, end_);  // not one that we see
    a_.Load(W::k4, R::r8, R::r10, kReadAt + 4);
  }
  a_.Store(W::k8, R::r10, kProcessAt, R::r8);
  a_.Store(W::k8, R::r10, kKindAt, static_cast<int32_t>(RecordKind::kEvent));
  if (spec_.names) RememberName();
  if (!spec_.filter) return;
  const auto known = a_.NewLabel(), wanted = a_.NewLabel();
  a_.Load(W::k8, R::r8, R::r10, kProcessAt);
  a_.Store(W::k4, R::r10, kVerdictAt, R::r8);
  a_.Store(W::k4, R::r10, kVerdictAt + 4, static_cast<int32_t>(*spec_.filter));
  a_.Map(R::r1, spec_.maps->verdicts.fd());
  Address(R::r2, kVerdictAt);
  a_.Call(BPF_FUNC_map_lookup_elem);
  a_.JumpIf(R::r0, C::kNotEqual, 0, known);
  a_.Store(W::k8, R::r10, kKindAt, static_cast<int32_t>(RecordKind::kUnknownProcess));
  a_.Jump(wanted);
  a_.Bind(known);
  a_.Load(W::k4, R::r1, R::r0, 0);
  a_.JumpIf(R::r1, C::kEqual, static_cast<int32_t>(kUnwanted), end_);
  a_.Bind(wanted);
}

void ProgramFrame::RememberName() {
  const auto known = a_.NewLabel();
  a_.Map(R::r1, spec_.maps->names.fd());
  Address(R::r2, kProcessAt);
  a_.Call(BPF_FUNC_map_lookup_elem);
  a_.JumpIf(R::r0, C::kNotEqual, 0, known);
  Address(R::r1, kCallKeyAt);  // of no use yet
  a_.Move(R::r2, kThreadNameBytes);
  a_.Call(BPF_FUNC_get_current_comm);
  a_.Map(R::r1, spec_.maps->names.fd());
  Address(R::r2, kProcessAt);
  Address(R::r3, kCallKeyAt);
  a_.Move(R::r4, BPF_ANY);
  a_.Call(BPF_FUNC_map_update_elem);
  a_.Bind(known);
}

void ProgramFrame::JumpIfUnknownProcess(bpf::BpfAssembler::Label to) {
  if (!spec_.filter) return;
  a_.Load(W::k8, R::r1, R::r10, kKindAt);
  a_.JumpIf(R::r1, C::kNotEqual, static_cast<int32_t>(RecordKind::kEvent), to);
}

void ProgramFrame::BeginRecord() {
  if (in_ring()) {
    const auto reserved = a_.NewLabel();
    a_.Map(R::r1, spec_.maps->ring.fd());
    a_.Move(R::r2, static_cast<int32_t>(bytes_));
    a_.Move(R::r3, 0);
    a_.Call(BPF_FUNC_ringbuf_reserve);
    a_.JumpIf(R::r0, C::kNotEqual, 0, reserved);
    Count(Counter::kLost);
    a_.Jump(out_);
    a_.Bind(reserved);
    a_.Move(kRecord, R::r0);
  } else {
    Address(kRecord, static_cast<int16_t>(kRecordEnd - static_cast<int16_t>(bytes_)));
  }
  a_.Load(W::k8, R::r1, R::r10, kProcessAt);
  a_.Store(W::k8, kRecord, offsetof(RecordHeader, process), R::r1);
  a_.Load(W::k8, R::r1, R::r10, kThreadAt);
  a_.Store(W::k8, kRecord, offsetof(RecordHeader, thread), R::r1);
  a_.Store(W::k4, kRecord, offsetof(RecordHeader, place), static_cast<int32_t>(spec_.place));
  a_.Load(W::k8, R::r1, R::r10, kKindAt);
  a_.Store(W::k4, kRecord, offsetof(RecordHeader, kind), R::r1);
  for (const size_t at : {offsetof(RecordHeader, time), offsetof(RecordHeader, context),
                          offsetof(RecordHeader, entered), offsetof(RecordHeader, previous),
                          offsetof(RecordHeader, nulls)})
    a_.Store(W::k8, kRecord, static_cast<int16_t>(at), 0);
  for (size_t at = sizeof(RecordHeader); at < spec_.layout->bytes; at += 8)
    a_.Store(W::k8, kRecord, static_cast<int16_t>(at), 0);
}

void ProgramFrame::DropRecord() {
  if (in_ring()) {
    a_.Move(R::r1, kRecord);
    a_.Move(R::r2, BPF_RB_NO_WAKEUP);
    a_.Call(BPF_FUNC_ringbuf_discard);
  }
  a_.Jump(out_);
}

void ProgramFrame::ReadClock() {
  a_.Call(BPF_FUNC_ktime_get_ns);
  a_.MapValue(R::r1, spec_.maps->control.fd(), offsetof(Control, clock_offset));
  a_.Load(W::k8, R::r1, R::r1, 0);
  a_.Math(M::kAdd, R::r0, R::r1);
  a_.Store(W::k8, kRecord, offsetof(RecordHeader, time), R::r0);
  clock_read_ = true;
}

void ProgramFrame::SendRecord(Counter counted_as) {
  const bool clock_read = clock_read_;
  if (!clock_read) ReadClock();
  clock_read_ = clock_read;
  Count(counted_as);
  if (spec_.involved != nullptr) {
    a_.Map(R::r1, spec_.involved->fd());
    Address(R::r2, kThreadAt);
    Address(R::r3, kThreadAt);
    a_.Move(R::r4, BPF_ANY);
    a_.Call(BPF_FUNC_map_update_elem);
  }
  if (spec_.linked != nullptr) {
    HandOverCode(a_, *spec_.linked, {kReadAt, kCallKeyAt, kVerdictAt, kProcessAt})
        .Write(kRecord, spec_.layout->bytes, spec_.place, spec_.when_full);
  }
  if (in_ring()) {
    bpf::AppendRingSubmit(a_, spec_.maps->ring, kRecord);
    a_.Jump(out_);
    return;
  }
  bpf::AppendRingOutput(a_, spec_.maps->ring, kRecord, static_cast<int32_t>(spec_.layout->bytes));
  a_.JumpIf(R::r0, C::kEqual, 0, out_);
  Count(Counter::kLost);
  a_.Jump(out_);
}

std::vector<bpf_insn> ProgramFrame::Finish() {
  a_.Bind(end_);
  a_.Return(0);
  return a_.Finish();
}

}  // namespace wf::weaver
