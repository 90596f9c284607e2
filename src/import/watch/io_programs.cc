#include "import/watch/io_programs.h"

#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "import/watch/map_program.h"

namespace wf::watch {
namespace {

using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;

// Where pt_regs keeps a system call's first three arguments and its number until its end, copied into four places.
struct KeptRegisters {
  int32_t from;  // in pt_regs
  int16_t to;
  int32_t bytes;
};
#if defined(__x86_64__)
constexpr KeptRegisters kKept[] = {{96, 0, 32}};  // rdx, rsi, rdi, orig_rax
constexpr int16_t kFirst = 16, kSecond = 8, kThird = 0, kNumber = 24;
#elif defined(__aarch64__)
constexpr KeptRegisters kKept[] = {{272, 0, 16}, {8, 16, 16}};  // orig_x0, syscallno; x1, x2
constexpr int16_t kFirst = 0, kNumber = 8, kSecond = 16, kThird = 24;
#else
#error "tell where this processor passes arguments"
#endif

// Where the moved bytes, or the address, are found.
enum class Buffer : int32_t { kSecondArgument, kVector, kMessage, kNone };

struct WantedCall {
  int32_t number;
  IoCall call;
  Buffer buffer;
  int16_t fd_at;
};
constexpr WantedCall kCalls[] = {
    {SYS_read, IoCall::kReceive, Buffer::kSecondArgument, kFirst},
    {SYS_write, IoCall::kSend, Buffer::kSecondArgument, kFirst},
    {SYS_recvfrom, IoCall::kReceive, Buffer::kSecondArgument, kFirst},
    {SYS_sendto, IoCall::kSend, Buffer::kSecondArgument, kFirst},
    {SYS_recvmsg, IoCall::kReceive, Buffer::kMessage, kFirst},
    {SYS_sendmsg, IoCall::kSend, Buffer::kMessage, kFirst},
    {SYS_readv, IoCall::kReceive, Buffer::kVector, kFirst},
    {SYS_writev, IoCall::kSend, Buffer::kVector, kFirst},
    {SYS_recvmmsg, IoCall::kReceive, Buffer::kNone, kFirst},
    {SYS_sendmmsg, IoCall::kSend, Buffer::kNone, kFirst},
    {SYS_sendfile, IoCall::kSend, Buffer::kNone, kFirst},
    {SYS_splice, IoCall::kSend, Buffer::kNone, kThird},
    {SYS_connect, IoCall::kConnect, Buffer::kSecondArgument, kFirst},
    {SYS_accept, IoCall::kAccept, Buffer::kSecondArgument, kFirst},
    {SYS_accept4, IoCall::kAccept, Buffer::kSecondArgument, kFirst},
    {SYS_close, IoCall::kClose, Buffer::kNone, kFirst},
    {SYS_io_uring_enter, IoCall::kUring, Buffer::kNone, kFirst},
};

// Of a thread that sends: when it began. A thread's place follows from its number.
struct Sending {
  uint64_t time;
  uint32_t thread;
  uint32_t zero;
};
constexpr int32_t kSendingPlaces = 1 << 16;
struct DescriptorKey {
  uint32_t process;
  int32_t fd;
};
constexpr int32_t kUringSeen = -1;  // in place of a descriptor: already reported

enum CounterSlot : uint32_t { kRingFull, kTableFull, kLateSends, kCounters };
// Of a process or a descriptor, which is kWatch once it was connected or accepted, and kKnow when the reader has seen
// its first bytes.
constexpr int32_t kWatch = 1, kIgnore = 2, kKnow = 3;

constexpr uint32_t kMostProcesses = 1 << 14, kMostDescriptors = 1 << 17;
// 170,000 records: a fifth of a second of a machine that does 800,000 calls a second.
constexpr uint32_t kRingBytes = 8u << 20, kOpenedBytes = 1u << 20;

// Places in a program's frame.
constexpr int16_t kThread = -8;        // the thread, then its process, as in bpf_pidns_info
constexpr int16_t kProcess = -4;       // the latter
constexpr int16_t kRegistersAt = -40;  // four
constexpr int16_t kKey = -48;          // DescriptorKey
constexpr int16_t kPointer = -56;
constexpr int16_t kTime = -64;
constexpr int16_t kPlace = -72;  // in the table of sending threads
static_assert(sizeof(Sending) == 16 && sizeof(DescriptorKey) == 8);
constexpr int16_t At(int16_t place, size_t offset) {
  return static_cast<int16_t>(place + static_cast<int16_t>(offset));
}

class Program : private MapProgram {
 public:
  Program(const IoMaps& maps, const IoProgramSettings& settings)
      : MapProgram(maps.counters, kTableFull), maps_(maps), settings_(settings) {}

  std::vector<bpf_insn> Enter() {
    const auto sends = a_.NewLabel();
    a_.Load(W::k8, R::r7, R::r1, 8);
    for (const WantedCall& call : kCalls) {
      if (call.call == IoCall::kSend) a_.JumpIf(R::r7, C::kEqual, call.number, sends);
    }
    a_.Jump(out_);
    a_.Bind(sends);
    FindSending();
    a_.Move(R::r6, R::r0);
    a_.Store(W::k4, R::r6, offsetof(Sending, thread), R::r8);
    a_.Call(BPF_FUNC_ktime_get_ns);
    a_.Store(W::k8, R::r6, offsetof(Sending, time), R::r0);
    return End();
  }

  // r7: the result, r8: which call, r6: where its bytes are.
  std::vector<bpf_insn> Leave() {
    const auto moves = a_.NewLabel(), opens = a_.NewLabel(), closes = a_.NewLabel(),
               uring = a_.NewLabel(), whole = a_.NewLabel(), brief = a_.NewLabel();
    const auto tried = a_.NewLabel();
    a_.Load(W::k8, R::r7, R::r1, 8);
    a_.Load(W::k8, R::r6, R::r1, 0);
    a_.JumpIf(R::r7, C::kEqual, -EINPROGRESS, tried);  // connecting
    a_.JumpIf(R::r7, C::kGreater, INT32_MAX, out_);    // an error
    a_.Bind(tried);
    for (const KeptRegisters& kept : kKept) {
      FrameAddress(R::r1, At(kRegistersAt, static_cast<size_t>(kept.to)));
      a_.Move(R::r2, kept.bytes);
      a_.Move(R::r3, R::r6);
      a_.Add(R::r3, kept.from);
      a_.Call(BPF_FUNC_probe_read_kernel);
      a_.JumpIf(R::r0, C::kNotEqual, 0, out_);
    }
    a_.Load(W::k4, R::r1, R::r10, At(kRegistersAt, kNumber));
    a_.Load(W::k4, R::r9, R::r10, At(kRegistersAt, kFirst));
    std::vector<bpf::BpfAssembler::Label> labels;
    for (const WantedCall& call : kCalls) {
      labels.push_back(a_.NewLabel());
      a_.JumpIf(R::r1, C::kEqual, call.number, labels.back());
    }
    a_.Jump(out_);
    for (size_t i = 0; i < labels.size(); ++i) {
      a_.Bind(labels[i]);
      a_.Move(R::r8, static_cast<int32_t>(kCalls[i].call));
      a_.Move(R::r6, static_cast<int32_t>(kCalls[i].buffer));
      if (kCalls[i].fd_at != kFirst)
        a_.Load(W::k4, R::r9, R::r10, At(kRegistersAt, kCalls[i].fd_at));
      a_.Jump(kCalls[i].call == IoCall::kUring     ? uring
              : kCalls[i].call == IoCall::kClose   ? closes
              : kCalls[i].call <= IoCall::kReceive ? moves
                                                   : opens);
    }

    a_.Bind(moves);
    a_.JumpIf(R::r7, C::kEqual, 0, out_);            // the end of the stream
    a_.JumpIf(R::r7, C::kGreater, INT32_MAX, out_);  // sent with connecting
    Identify();
    WriteKey();
    Lookup(maps_.descriptors, kKey);
    const auto unknown = a_.NewLabel();
    a_.JumpIf(R::r0, C::kEqual, 0, unknown);
    a_.Load(W::k4, R::r1, R::r0, 0);
    a_.JumpIf(R::r1, C::kEqual, kIgnore, out_);
    a_.JumpIf(R::r1, C::kEqual, kWatch, unknown);
    TimeOf();
    a_.Jump(brief);
    a_.Bind(unknown);
    DropUnwatched();
    TimeOf();
    a_.Jump(whole);

    a_.Bind(uring);  // reported once per process
    Identify();
    a_.Move(R::r9, kUringSeen);
    WriteKey();
    Lookup(maps_.descriptors, kKey);
    a_.JumpIf(R::r0, C::kNotEqual, 0, out_);
    DropUnwatched();
    a_.Store(W::k4, R::r10, kPointer, kIgnore);
    Update(maps_.descriptors, kKey, kPointer);
    TimeOf();
    a_.Jump(whole);

    a_.Bind(closes);  // for descriptors that were reported
    Identify();
    WriteKey();
    Lookup(maps_.descriptors, kKey);
    a_.JumpIf(R::r0, C::kEqual, 0, out_);
    a_.Load(W::k4, R::r6, R::r0, 0);
    Delete(maps_.descriptors, kKey);
    a_.JumpIf(R::r6, C::kEqual, kIgnore, out_);
    TimeOf();
    a_.Jump(brief);

    const auto made = a_.NewLabel();
    a_.Bind(opens);
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kConnect), made);
    a_.Move(R::r9, R::r7);  // the accepted descriptor
    a_.Bind(made);
    Identify();
    DropUnwatched();
    WriteKey();
    a_.Store(W::k4, R::r10, kPointer, kWatch);
    Update(maps_.descriptors, kKey, kPointer);
    TimeOf();
    // Into a ring whose reader is woken: the socket is looked at while it is there.
    Reserve(maps_.opened, sizeof(IoRecord));
    FillBrief();
    FillRest();
    Submit(0);

    a_.Bind(whole);
    Reserve(maps_.ring, sizeof(IoRecord));
    FillBrief();
    FillRest();
    Submit(BPF_RB_NO_WAKEUP);

    a_.Bind(brief);
    Reserve(maps_.ring, kShortIoRecord);
    FillBrief();
    Submit(BPF_RB_NO_WAKEUP);
    return End();
  }

 private:
  void Identify() {
    if (settings_.pid_namespace_inode == 0) {
      a_.Call(BPF_FUNC_get_current_pid_tgid);  // the process above, the thread below
      a_.Store(W::k8, R::r10, kThread, R::r0);
      return;
    }
    a_.Constant(R::r1, settings_.pid_namespace_device);
    a_.Constant(R::r2, settings_.pid_namespace_inode);
    FrameAddress(R::r3, kThread);
    a_.Move(R::r4, sizeof(bpf_pidns_info));
    a_.Call(BPF_FUNC_get_ns_current_pid_tgid);
    a_.JumpIf(R::r0, C::kNotEqual, 0, out_);  // not one that we see
  }
  // r0: this thread's place in the table of those that send; r8: its number, as the kernel counts.
  void FindSending() {
    a_.Call(BPF_FUNC_get_current_pid_tgid);
    a_.Store(W::k8, R::r10, kPointer, R::r0);
    a_.Load(W::k4, R::r8, R::r10, kPointer);
    a_.Move(R::r1, R::r8);
    a_.Math(bpf::BpfMath::kAnd, R::r1, kSendingPlaces - 1);
    a_.Store(W::k4, R::r10, kPlace, R::r1);
    Lookup(maps_.sends, kPlace);
    a_.JumpIf(R::r0, C::kEqual, 0, out_);
  }
  // Into the frame: of a send its beginning, of all others now. Changes r0 to r5 only.
  void TimeOf() {
    const auto now = a_.NewLabel(), late = a_.NewLabel(), done = a_.NewLabel();
    a_.JumpIf(R::r8, C::kNotEqual, static_cast<int32_t>(IoCall::kSend), now);
    FindSending();
    a_.Load(W::k4, R::r1, R::r0, offsetof(Sending, thread));
    a_.Load(W::k8, R::r2, R::r0, offsetof(Sending, time));
    a_.Move(R::r3, R::r8);
    a_.Move(R::r8, static_cast<int32_t>(IoCall::kSend));
    a_.JumpIf(R::r1, C::kNotEqual, R::r3, late);
    a_.Store(W::k8, R::r10, kTime, R::r2);
    a_.Jump(done);
    a_.Bind(late);
    Count(kLateSends);
    a_.Bind(now);
    a_.Call(BPF_FUNC_ktime_get_ns);
    a_.Store(W::k8, R::r10, kTime, R::r0);
    a_.Bind(done);
  }
  void DropUnwatched() {
    const auto known = a_.NewLabel(), keep = a_.NewLabel();
    Lookup(maps_.processes, kProcess);
    a_.JumpIf(R::r0, C::kNotEqual, 0, known);
    a_.Jump(settings_.unknown == IoProgramSettings::Unknown::kIgnored ? out_ : keep);
    a_.Bind(known);
    a_.Load(W::k4, R::r1, R::r0, 0);
    a_.JumpIf(R::r1, C::kEqual, kIgnore, out_);
    a_.Bind(keep);
  }
  // The record in r9, in place of the descriptor, which the key keeps.
  void Reserve(const bpf::BpfMap& ring, size_t bytes) {
    const auto reserved = a_.NewLabel();
    a_.Map(R::r1, ring.fd());
    a_.Move(R::r2, static_cast<int32_t>(bytes));
    a_.Move(R::r3, 0);
    a_.Call(BPF_FUNC_ringbuf_reserve);
    a_.JumpIf(R::r0, C::kNotEqual, 0, reserved);
    Count(kRingFull);
    a_.Jump(out_);
    a_.Bind(reserved);
    a_.Move(R::r9, R::r0);
  }
  void FillBrief() {
    a_.Load(W::k8, R::r1, R::r10, kTime);
    a_.Store(W::k8, R::r9, offsetof(IoRecord, time), R::r1);
    a_.Load(W::k4, R::r1, R::r10, kProcess);
    a_.Store(W::k4, R::r9, offsetof(IoRecord, process), R::r1);
    a_.Load(W::k4, R::r1, R::r10, kThread);
    a_.Store(W::k4, R::r9, offsetof(IoRecord, thread), R::r1);
    a_.Load(W::k4, R::r1, R::r10, At(kKey, offsetof(DescriptorKey, fd)));
    a_.Store(W::k4, R::r9, offsetof(IoRecord, fd), R::r1);
    a_.Store(W::k4, R::r9, offsetof(IoRecord, call), R::r8);
    a_.Store(W::k8, R::r9, offsetof(IoRecord, bytes), R::r7);
  }
  void FillRest() {
    const auto message = a_.NewLabel(), vector = a_.NewLabel(), direct = a_.NewLabel(),
               done = a_.NewLabel();
    a_.Move(R::r1, R::r9);
    a_.Add(R::r1, offsetof(IoRecord, name));
    a_.Move(R::r2, sizeof(IoRecord::name));
    a_.Call(BPF_FUNC_get_current_comm);
    for (size_t i = 0; i < kIoPrefix; i += 8)
      a_.Store(W::k8, R::r9, static_cast<int16_t>(offsetof(IoRecord, prefix) + i), 0);
    a_.Load(W::k8, R::r1, R::r10, At(kRegistersAt, kSecond));
    a_.Store(W::k8, R::r10, kPointer, R::r1);
    a_.JumpIf(R::r6, C::kEqual, static_cast<int32_t>(Buffer::kSecondArgument), direct);
    a_.JumpIf(R::r6, C::kEqual, static_cast<int32_t>(Buffer::kVector), vector);
    a_.JumpIf(R::r6, C::kEqual, static_cast<int32_t>(Buffer::kMessage), message);
    a_.Jump(done);
    a_.Bind(message);
    Follow(16, done);  // msghdr::msg_iov
    a_.Bind(vector);
    Follow(0, done);  // iovec::iov_base
    a_.Bind(direct);
    a_.Move(R::r1, R::r9);
    a_.Add(R::r1, offsetof(IoRecord, prefix));
    a_.Move(R::r2, kIoPrefix);
    a_.Load(W::k8, R::r3, R::r10, kPointer);
    a_.Call(BPF_FUNC_probe_read_user);  // what cannot be read is zero
    a_.Bind(done);
  }
  void Submit(int32_t flags) {
    a_.Move(R::r1, R::r9);
    a_.Move(R::r2, flags);
    a_.Call(BPF_FUNC_ringbuf_submit);
    a_.Jump(out_);
  }
  // The address in the frame becomes what stands `offset` bytes behind where it points to.
  void Follow(int32_t offset, bpf::BpfAssembler::Label otherwise) {
    FrameAddress(R::r1, kPointer);
    a_.Move(R::r2, 8);
    a_.Load(W::k8, R::r3, R::r10, kPointer);
    a_.Add(R::r3, offset);
    a_.Call(BPF_FUNC_probe_read_user);
    a_.JumpIf(R::r0, C::kNotEqual, 0, otherwise);
  }
  void WriteKey() {
    a_.Store(W::k4, R::r10, At(kKey, offsetof(DescriptorKey, fd)), R::r9);
    a_.Load(W::k4, R::r1, R::r10, kProcess);
    a_.Store(W::k4, R::r10, At(kKey, offsetof(DescriptorKey, process)), R::r1);
  }

  const IoMaps& maps_;
  const IoProgramSettings& settings_;
};

}  // namespace

Result<IoMaps> IoMaps::Create() {
  IoMaps maps;
  WF_ASSIGN(maps.processes,
            bpf::BpfMap::Create("wf_io_processes", {bpf::BpfMapType::kHash, 4, 4, kMostProcesses}));
  WF_ASSIGN(maps.descriptors,
            bpf::BpfMap::Create(
                "wf_io_fds", {bpf::BpfMapType::kHash, sizeof(DescriptorKey), 4, kMostDescriptors}));
  WF_ASSIGN(maps.sends,
            bpf::BpfMap::Create("wf_io_sends", {bpf::BpfMapType::kArray, 4, sizeof(Sending),
                                                static_cast<uint32_t>(kSendingPlaces)}));
  WF_ASSIGN(maps.ring,
            bpf::BpfMap::Create("wf_io_ring", {bpf::BpfMapType::kRing, 0, 0, kRingBytes}));
  WF_ASSIGN(maps.opened,
            bpf::BpfMap::Create("wf_io_opened", {bpf::BpfMapType::kRing, 0, 0, kOpenedBytes}));
  WF_ASSIGN(maps.counters,
            bpf::BpfMap::Create("wf_io_counts", {bpf::BpfMapType::kArray, 4, kCounters * 8, 1}));
  return maps;
}

IoCounters IoMaps::Counters() const {
  const uint32_t first = 0;
  uint64_t slots[kCounters] = {};
  counters.Lookup(&first, slots);
  return {slots[kRingFull], slots[kTableFull], slots[kLateSends]};
}

void IoMaps::IgnoreProcess(uint32_t process) const {
  const uint32_t verdict = kIgnore;
  processes.Put(&process, &verdict);
}
void IoMaps::WantProcess(uint32_t process) const {
  const uint32_t verdict = kWatch;
  processes.Put(&process, &verdict);
}
void IoMaps::IgnoreDescriptor(uint32_t process, int fd) const {
  const DescriptorKey key{process, fd};
  const uint32_t verdict = kIgnore;
  descriptors.Put(&key, &verdict);
}
void IoMaps::KnowDescriptor(uint32_t process, int fd) const {
  const DescriptorKey key{process, fd};
  const uint32_t verdict = kKnow;
  descriptors.Put(&key, &verdict);
}

std::vector<bpf_insn> EnterProgram(const IoMaps& maps, const IoProgramSettings& settings) {
  return Program(maps, settings).Enter();
}
std::vector<bpf_insn> LeaveProgram(const IoMaps& maps, const IoProgramSettings& settings) {
  return Program(maps, settings).Leave();
}

}  // namespace wf::watch
