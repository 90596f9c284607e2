#include "import/watch/lock_programs.h"

#include <cerrno>
#include <cstddef>

#include "bpf/ring_submit.h"
#include "import/watch/map_program.h"

namespace wf::watch {
namespace {

using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;

// Where the program finds the probed function's arguments and result.
#if defined(__x86_64__)
// Rdi, rsi, rax of pt_regs.
constexpr int16_t kFirstArgument = 112, kSecondArgument = 104, kResult = 80;
#elif defined(__aarch64__)
constexpr int16_t kFirstArgument = 0, kSecondArgument = 8, kResult = 0;  // x0, x1, x0
#else
#error "tell where this processor passes arguments"
#endif

// thread → the lock it is asking for. A thread is in one lock function at a time.
struct Asking {
  uint64_t address, requested, mode;
};
// Padding is explicit: the verifier requires every byte of a key to be written.
struct HeldKey {
  uint64_t address;
  uint32_t thread, zero;
};
struct Held {
  // depth: locked again that often, by a recursive mutex or a reader.
  uint64_t requested, acquired, mode, depth;
};

enum CounterSlot : uint32_t { kBrief, kGaveUp, kUnpaired, kRingFull, kTableFull, kCounters };

// 65,536 holdings at once are more than any process here has; hash entries are allocated up front: 5 MB.
constexpr uint32_t kMostHeld = 1 << 16, kMostThreads = 1 << 14;
// Half a second of 200,000 holdings a second, which is about as fast as probes let a process go.
constexpr uint32_t kRingBytes = 4u << 20;

// Places in a program's frame.
constexpr int16_t kThread = -8;  // bpf_pidns_info: the thread, then its process
constexpr int16_t kKey = -24;    // HeldKey
constexpr int16_t kValue = -56;  // Held or Asking
constexpr int16_t InFrame(int16_t place, size_t offset) {
  return static_cast<int16_t>(place + static_cast<int16_t>(offset));
}
static_assert(sizeof(HeldKey) == 16 && sizeof(Held) == 32 && sizeof(Asking) == 24);
static_assert(sizeof(LockRecord) == 40);

class Program : private MapProgram {
 public:
  Program(const LockMaps& maps, const LockProgramSettings& settings)
      : MapProgram(maps.counters, kTableFull), maps_(maps), settings_(settings) {}

  std::vector<bpf_insn> Ask(LockMode mode) {
    Begin();
    a_.Load(W::k8, R::r7, R::r6, kFirstArgument);
    ReadThread();
    Time();
    a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Asking, address)), R::r7);
    a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Asking, requested)), R::r0);
    a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Asking, mode)), static_cast<int32_t>(mode));
    Update(maps_.asking, kThread, kValue);
    return End();
  }

  std::vector<bpf_insn> Got() {
    const auto got = a_.NewLabel(), first = a_.NewLabel();
    Begin();
    ReadThread();
    Lookup(maps_.asking, kThread);
    a_.JumpIf(R::r0, C::kEqual, 0, out_);  // entered before the probe was there
    a_.Load(W::k8, R::r7, R::r0, offsetof(Asking, address));
    a_.Load(W::k8, R::r8, R::r0, offsetof(Asking, requested));
    a_.Load(W::k8, R::r9, R::r0, offsetof(Asking, mode));
    Delete(maps_.asking, kThread);
    a_.Load(W::k4, R::r1, R::r6, kResult);
    a_.JumpIf(R::r1, C::kEqual, 0, got);
    a_.JumpIf(R::r1, C::kEqual, EOWNERDEAD, got);  // a robust mutex whose holder died: we have it
    Count(kGaveUp);
    a_.Jump(out_);
    a_.Bind(got);
    WriteKey();
    Lookup(maps_.held, kKey);
    a_.JumpIf(R::r0, C::kEqual, 0, first);
    a_.Load(W::k8, R::r1, R::r0, offsetof(Held, depth));
    a_.Add(R::r1, 1);
    a_.Store(W::k8, R::r0, offsetof(Held, depth), R::r1);
    a_.Jump(out_);
    a_.Bind(first);
    Time();
    a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Held, requested)), R::r8);
    a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Held, acquired)), R::r0);
    a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Held, mode)), R::r9);
    a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Held, depth)), 0);
    Update(maps_.held, kKey, kValue);
    return End();
  }

  enum class Then { kGone, kHeldAgain };
  std::vector<bpf_insn> Release(int16_t argument, Then then) {
    const auto paired = a_.NewLabel(), outermost = a_.NewLabel(), long_enough = a_.NewLabel(),
               reserved = a_.NewLabel(), told = a_.NewLabel();
    Begin();
    a_.Load(W::k8, R::r7, R::r6, argument);
    ReadThread();
    Time();
    a_.Move(R::r8, R::r0);
    WriteKey();
    Lookup(maps_.held, kKey);
    a_.JumpIf(R::r0, C::kNotEqual, 0, paired);
    Count(kUnpaired);
    a_.Jump(told);
    a_.Bind(paired);
    a_.Move(R::r9, R::r0);
    a_.Load(W::k8, R::r1, R::r9, offsetof(Held, depth));
    a_.JumpIf(R::r1, C::kEqual, 0, outermost);
    a_.Add(R::r1, -1);
    a_.Store(W::k8, R::r9, offsetof(Held, depth), R::r1);
    a_.Jump(out_);
    a_.Bind(outermost);
    a_.Move(R::r1, R::r8);
    a_.Load(W::k8, R::r2, R::r9, offsetof(Held, requested));
    a_.Subtract(R::r1, R::r2);
    a_.Constant(R::r2, static_cast<uint64_t>(settings_.at_least));
    a_.JumpIf(R::r1, C::kGreater, R::r2, long_enough);
    Count(kBrief);
    a_.Jump(told);
    a_.Bind(long_enough);
    a_.Map(R::r1, maps_.ring.fd());
    a_.Move(R::r2, sizeof(LockRecord));
    a_.Move(R::r3, 0);
    a_.Call(BPF_FUNC_ringbuf_reserve);
    a_.JumpIf(R::r0, C::kNotEqual, 0, reserved);
    Count(kRingFull);
    a_.Jump(told);
    a_.Bind(reserved);
    a_.Store(W::k8, R::r0, offsetof(LockRecord, address), R::r7);
    a_.Load(W::k8, R::r1, R::r9, offsetof(Held, requested));
    a_.Store(W::k8, R::r0, offsetof(LockRecord, requested), R::r1);
    a_.Load(W::k8, R::r1, R::r9, offsetof(Held, acquired));
    a_.Store(W::k8, R::r0, offsetof(LockRecord, acquired), R::r1);
    a_.Store(W::k8, R::r0, offsetof(LockRecord, released), R::r8);
    a_.Load(W::k4, R::r1, R::r10, kThread);
    a_.Store(W::k4, R::r0, offsetof(LockRecord, thread), R::r1);
    a_.Load(W::k8, R::r1, R::r9, offsetof(Held, mode));
    a_.Store(W::k4, R::r0, offsetof(LockRecord, mode), R::r1);
    a_.Move(R::r9, R::r0);
    AppendRingSubmit(a_, maps_.ring, R::r9);
    a_.Bind(told);
    if (then == Then::kGone) {
      Delete(maps_.held, kKey);
    } else {
      a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Held, requested)), R::r8);
      a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Held, acquired)), 0);
      a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Held, mode)), kAfterCondition);
      a_.Store(W::k8, R::r10, InFrame(kValue, offsetof(Held, depth)), 0);
      Update(maps_.held, kKey, kValue);
    }
    return End();
  }

 private:
  // r6: the probed thread's registers. r7–r9 are the program's own.
  void Begin() { a_.Move(R::r6, R::r1); }
  void Time() { a_.Call(BPF_FUNC_ktime_get_ns); }
  void ReadThread() {
    a_.Constant(R::r1, settings_.pid_namespace_device);
    a_.Constant(R::r2, settings_.pid_namespace_inode);
    FrameAddress(R::r3, kThread);
    a_.Move(R::r4, sizeof(bpf_pidns_info));
    a_.Call(BPF_FUNC_get_ns_current_pid_tgid);
    a_.JumpIf(R::r0, C::kNotEqual, 0, out_);  // a child that entered another namespace
  }
  // Of the lock in r7.
  void WriteKey() {
    a_.Store(W::k8, R::r10, InFrame(kKey, offsetof(HeldKey, address)), R::r7);
    a_.Load(W::k4, R::r1, R::r10, kThread);
    a_.Store(W::k4, R::r10, InFrame(kKey, offsetof(HeldKey, thread)), R::r1);
    a_.Store(W::k4, R::r10, InFrame(kKey, offsetof(HeldKey, zero)), 0);
  }

  const LockMaps& maps_;
  const LockProgramSettings& settings_;
};

}  // namespace

Result<LockMaps> LockMaps::Create() {
  LockMaps maps;
  WF_ASSIGN(maps.asking,
            bpf::BpfMap::Create("wf_lock_asking", {bpf::BpfMapType::kHash, sizeof(uint32_t),
                                                   sizeof(Asking), kMostThreads}));
  WF_ASSIGN(maps.held, bpf::BpfMap::Create("wf_lock_held", {bpf::BpfMapType::kHash, sizeof(HeldKey),
                                                            sizeof(Held), kMostHeld}));
  WF_ASSIGN(maps.ring,
            bpf::BpfMap::Create("wf_lock_ring", {bpf::BpfMapType::kRing, 0, 0, kRingBytes}));
  WF_ASSIGN(maps.counters,
            bpf::BpfMap::Create("wf_lock_counts",
                                {bpf::BpfMapType::kArray, sizeof(uint32_t), kCounters * 8, 1}));
  return maps;
}

std::vector<LockHolding> LockMaps::Unfinished() const {
  std::vector<LockHolding> unfinished;
  HeldKey key{}, next{};
  for (bool more = held.NextKey(nullptr, &next); more; more = held.NextKey(&key, &next)) {
    key = next;
    Held value{};
    if (!held.Lookup(&key, &value) || value.acquired == 0) continue;  // 0: waits on a condition
    unfinished.push_back(HoldingOf({key.address, value.requested, value.acquired, 0, key.thread,
                                    static_cast<uint32_t>(value.mode)}));
  }
  uint32_t thread = 0, next_thread = 0;
  for (bool more = asking.NextKey(nullptr, &next_thread); more;
       more = asking.NextKey(&thread, &next_thread)) {
    thread = next_thread;
    Asking value{};
    if (!asking.Lookup(&thread, &value)) continue;
    unfinished.push_back(HoldingOf(
        {value.address, value.requested, 0, 0, thread, static_cast<uint32_t>(value.mode)}));
  }
  return unfinished;
}

LockProbeCounters LockMaps::Counters() const {
  const uint32_t first = 0;
  uint64_t slots[kCounters] = {};
  counters.Lookup(&first, slots);
  return {slots[kBrief], slots[kGaveUp], slots[kUnpaired], slots[kRingFull], slots[kTableFull]};
}

std::vector<bpf_insn> AskProgram(const LockMaps& maps, const LockProgramSettings& settings,
                                 LockMode mode) {
  return Program(maps, settings).Ask(mode);
}
std::vector<bpf_insn> GotProgram(const LockMaps& maps, const LockProgramSettings& settings) {
  return Program(maps, settings).Got();
}
std::vector<bpf_insn> ReleaseProgram(const LockMaps& maps, const LockProgramSettings& settings) {
  return Program(maps, settings).Release(kFirstArgument, Program::Then::kGone);
}
std::vector<bpf_insn> ConditionProgram(const LockMaps& maps, const LockProgramSettings& settings) {
  return Program(maps, settings).Release(kSecondArgument, Program::Then::kHeldAgain);
}

LockHolding HoldingOf(const LockRecord& record) {
  LockHolding holding;
  holding.address = record.address;
  holding.requested = record.requested;
  holding.acquired = record.acquired;
  holding.released = record.released;
  holding.thread = record.thread;
  holding.mode = static_cast<LockMode>(record.mode & 0xFF);
  holding.after_condition = (record.mode & kAfterCondition) != 0;
  return holding;
}

}  // namespace wf::watch
