#include "weaver/hand_over_code.h"

#include <linux/bpf.h>

#include <cstddef>

#include "advice/handed_events.h"
#include "bpf/kernel_types.h"
#include "weaver/event_record.h"

namespace wf::weaver {
namespace {

using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;
using M = bpf::BpfMath;
using advice::HandedThread;

static_assert(offsetof(RecordHeader, time) == advice::kHandedTimeAt);
static_assert(offsetof(RecordHeader, place) == advice::kHandedPlaceAt);
static_assert(offsetof(RecordHeader, nulls) == advice::kHandedNullsAt);
static_assert(sizeof(RecordHeader) == advice::kHandedVariablesAt);

constexpr int16_t kOwner = offsetof(HandedThread, owner), kHead = offsetof(HandedThread, head),
                  kTaken = offsetof(HandedThread, taken), kLost = offsetof(HandedThread, lost);
// struct upid: a number and the namespace it is of.
constexpr int kNumberShift = 4;
constexpr int32_t kMostLevels = 32;  // MAX_PID_NS_LEVEL

}  // namespace

Result<TaskOffsets> FindTaskOffsets() {
  WF_ASSIGN(bpf::KernelTypes types, bpf::KernelTypes::Load());
  TaskOffsets offsets;
  WF_ASSIGN(offsets.number, types.OffsetOf("task_struct", "thread_pid"));
  WF_ASSIGN(offsets.level, types.OffsetOf("pid", "level"));
  WF_ASSIGN(offsets.numbers, types.OffsetOf("pid", "numbers"));
  return offsets;
}

uint32_t LinkedMaps::records() const { return advice::kHandedRingBytes / record_bytes; }

void HandOverCode::Address(R to, int16_t place) {
  a_.Move(to, R::r10);
  a_.Add(to, place);
}

void HandOverCode::ReadKernel(int16_t to, int32_t bytes, bpf::BpfAssembler::Label otherwise) {
  Address(R::r1, to);
  a_.Move(R::r2, bytes);
  a_.Call(BPF_FUNC_probe_read_kernel);
  a_.JumpIf(R::r0, C::kNotEqual, 0, otherwise);
}

void HandOverCode::FindMap(bpf::BpfAssembler::Label otherwise) {
  a_.Map(R::r1, maps_.processes.fd());
  Address(R::r2, frame_.process);
  a_.Call(BPF_FUNC_map_lookup_elem);
  a_.JumpIf(R::r0, C::kEqual, 0, otherwise);
  a_.Move(R::r8, R::r0);
}

// Its number in the innermost namespace: as it calls itself, wherever it runs.
void HandOverCode::ReadThread(bpf::BpfAssembler::Label otherwise) {
  a_.Call(BPF_FUNC_get_current_task);
  a_.Move(R::r3, R::r0);
  a_.Add(R::r3, maps_.offsets.number);
  ReadKernel(frame_.read, 8, otherwise);
  a_.Load(W::k8, R::r9, R::r10, frame_.read);
  a_.Move(R::r3, R::r9);
  a_.Add(R::r3, maps_.offsets.level);
  a_.Store(W::k8, R::r10, frame_.read, 0);
  ReadKernel(frame_.read, 4, otherwise);
  a_.Load(W::k8, R::r3, R::r10, frame_.read);
  a_.JumpIf(R::r3, C::kGreater, kMostLevels, otherwise);
  a_.Math(M::kShiftLeft, R::r3, kNumberShift);
  a_.Math(M::kAdd, R::r3, R::r9);
  a_.Add(R::r3, maps_.offsets.numbers);
  a_.Store(W::k8, R::r10, frame_.thread, 0);
  ReadKernel(frame_.thread, 4, otherwise);
}

void HandOverCode::LookAt(uint32_t attempt, bpf::BpfAssembler::Label otherwise) {
  a_.Load(W::k8, R::r1, R::r10, frame_.thread);
  a_.Add(R::r1, static_cast<int32_t>(attempt));
  a_.Math(M::kAnd, R::r1, advice::kHandedThreads - 1);
  a_.Store(W::k4, R::r10, frame_.index, R::r1);
  a_.Move(R::r1, R::r8);
  Address(R::r2, frame_.index);
  a_.Call(BPF_FUNC_map_lookup_elem);
  a_.JumpIf(R::r0, C::kEqual, 0, otherwise);
  a_.Move(R::r9, R::r0);
  a_.Load(W::k8, R::r1, R::r9, kOwner);
}

void HandOverCode::FindThread(Unknown unknown, bpf::BpfAssembler::Label otherwise) {
  const auto found = a_.NewLabel();
  FindMap(otherwise);
  ReadThread(otherwise);
  for (uint32_t i = 0; i < advice::kHandedTries; ++i) {
    LookAt(i, otherwise);
    a_.Load(W::k8, R::r2, R::r10, frame_.thread);
    a_.JumpIf(R::r1, C::kEqual, R::r2, found);
  }
  // Only now: one that became free meanwhile may stand before its own.
  for (uint32_t i = 0; i < advice::kHandedTries && unknown == Unknown::kClaims; ++i) {
    const auto next = a_.NewLabel();
    LookAt(i, otherwise);
    a_.JumpIf(R::r1, C::kNotEqual, 0, next);
    a_.Move(R::r0, 0);
    a_.Load(W::k8, R::r2, R::r10, frame_.thread);
    a_.CompareExchange(R::r9, kOwner, R::r2);
    a_.JumpIf(R::r0, C::kNotEqual, 0, next);
    // What is in it was of a thread that is no more.
    a_.Load(W::k8, R::r1, R::r9, kHead);
    a_.Store(W::k8, R::r9, kTaken, R::r1);
    a_.Store(W::k8, R::r9, kLost, 0);
    a_.Jump(found);
    a_.Bind(next);
  }
  a_.Jump(otherwise);
  a_.Bind(found);
}

void HandOverCode::RecordAddress() {
  a_.Math(M::kAnd, R::r1, static_cast<int32_t>(maps_.records() - 1));
  a_.Math(M::kMultiply, R::r1, static_cast<int32_t>(maps_.record_bytes));
  a_.Move(R::r2, R::r9);
  a_.Math(M::kAdd, R::r2, R::r1);
  a_.Add(R::r2, sizeof(HandedThread));
}

void HandOverCode::Write(R record, uint32_t bytes, uint32_t place, WhenFull when_full) {
  const auto full = a_.NewLabel(), lost = a_.NewLabel(), done = a_.NewLabel();
  const auto copy = [&] {  // to r2
    a_.Move(R::r1, R::r2);
    a_.Move(R::r2, static_cast<int32_t>(bytes));
    a_.Move(R::r3, record);
    a_.Call(BPF_FUNC_probe_read_kernel);
  };
  FindThread(Unknown::kClaims, done);
  a_.Load(W::k8, R::r1, R::r9, kHead);
  a_.Load(W::k8, R::r2, R::r9, kTaken);
  a_.Move(R::r3, R::r1);
  a_.Subtract(R::r3, R::r2);
  a_.JumpIf(R::r3, C::kGreaterEqual, static_cast<int32_t>(maps_.records()), full);
  RecordAddress();
  copy();
  a_.Load(W::k8, R::r1, R::r9, kHead);
  a_.Add(R::r1, 1);
  a_.Store(W::k8, R::r9, kHead, R::r1);
  a_.Jump(done);

  a_.Bind(full);
  if (when_full == WhenFull::kReplacesLast) {
    a_.Add(R::r1, -1);
    RecordAddress();
    a_.Load(W::k4, R::r3, R::r2, offsetof(RecordHeader, place));
    a_.JumpIf(R::r3, C::kNotEqual, static_cast<int32_t>(place), lost);
    copy();
    a_.Jump(done);
  }
  a_.Bind(lost);
  if (when_full != WhenFull::kDropped) {
    a_.Move(R::r1, 1);
    a_.AtomicAdd(R::r9, kLost, R::r1);
  }
  a_.Bind(done);
}

void HandOverCode::Release() {
  const auto done = a_.NewLabel();
  FindThread(Unknown::kIsNobody, done);
  a_.Store(W::k8, R::r9, kOwner, 0);
  a_.Bind(done);
}

}  // namespace wf::weaver
