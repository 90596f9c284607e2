#include "import/watch/io_programs.h"

#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "import/watch/map_program.h"

namespace wf {
namespace {

using R = BpfReg;
using W = BpfWidth;
using C = BpfCondition;

// Where the first three arguments of a system call stand in pt_regs: side by side, in this or the other order.
#if defined(__x86_64__)
constexpr int32_t kArguments = 96;  // rdx, rsi, rdi
constexpr int16_t kFirst = 16, kSecond = 8, kThird = 0;
#elif defined(__aarch64__)
constexpr int32_t kArguments = 0;  // x0, x1, x2
constexpr int16_t kFirst = 0, kSecond = 8, kThird = 16;
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

// thread → the call it is in. Padding is told explicitly: the verifier wants every byte written.
struct InFlight {
  uint64_t time, address;
  uint32_t call, buffer;
  int32_t fd;
  uint32_t zero;
};
struct DescriptorKey {
  uint32_t process;
  int32_t fd;
};
constexpr int32_t kUringSeen = -1;  // in place of a descriptor: told already

enum CounterSlot : uint32_t { kRingFull, kTableFull, kCounters };
constexpr int32_t kWatch = 1, kIgnore = 2;

constexpr uint32_t kMostThreads = 1 << 15, kMostProcesses = 1 << 14, kMostDescriptors = 1 << 17;
// 95,000 records: a tenth of a second of a machine that does a million calls a second.
constexpr uint32_t kRingBytes = 8u << 20, kOpenedBytes = 1u << 20;

// Places in a program's frame.
constexpr int16_t kThread = -8;        // the thread, then its process, as in bpf_pidns_info
constexpr int16_t kProcess = -4;       // the latter
constexpr int16_t kArgumentsAt = -32;  // three
constexpr int16_t kKey = -40;          // DescriptorKey
constexpr int16_t kValue = -72;        // InFlight
constexpr int16_t kPointer = -80;
static_assert(sizeof(InFlight) == 32 && sizeof(DescriptorKey) == 8);
constexpr int16_t At(int16_t place, size_t offset) {
  return static_cast<int16_t>(place + static_cast<int16_t>(offset));
}

class Program : private MapProgram {
 public:
  Program(const IoMaps& maps, const IoProgramSettings& settings)
      : MapProgram(maps.counters, kTableFull), maps_(maps), settings_(settings) {}

  std::vector<bpf_insn> Enter() {
    const auto chosen = a_.NewLabel(), known = a_.NewLabel(), keep = a_.NewLabel(),
               seen_bytes = a_.NewLabel();
    a_.Move(R::r6, R::r1);
    a_.Load(W::k8, R::r7, R::r6, 8);
    std::vector<BpfAssembler::Label> labels;
    for (const WantedCall& call : kCalls) {
      labels.push_back(a_.NewLabel());
      a_.JumpIf(R::r7, C::kEqual, call.number, labels.back());
    }
    a_.Jump(out_);
    // r7: which call, r8: where its bytes are, r9: where its descriptor is.
    for (size_t i = 0; i < labels.size(); ++i) {
      a_.Bind(labels[i]);
      a_.Move(R::r7, static_cast<int32_t>(kCalls[i].call));
      a_.Move(R::r8, static_cast<int32_t>(kCalls[i].buffer));
      a_.Move(R::r9, kCalls[i].fd_at == kThird ? 1 : 0);
      if (i + 1 < labels.size()) a_.Jump(chosen);
    }
    a_.Bind(chosen);
    Identify();
    Lookup(maps_.processes, kProcess);
    a_.JumpIf(R::r0, C::kNotEqual, 0, known);
    a_.Jump(settings_.unknown == IoProgramSettings::Unknown::kIgnored ? out_ : keep);
    a_.Bind(known);
    a_.Load(W::k4, R::r1, R::r0, 0);
    a_.JumpIf(R::r1, C::kEqual, kIgnore, out_);
    a_.Bind(keep);
    FrameAddress(R::r1, kArgumentsAt);
    a_.Move(R::r2, 24);
    a_.Load(W::k8, R::r3, R::r6, 0);
    a_.Add(R::r3, kArguments);
    a_.Call(BPF_FUNC_probe_read_kernel);
    a_.JumpIf(R::r0, C::kNotEqual, 0, out_);
    const auto third = a_.NewLabel(), have_fd = a_.NewLabel();
    a_.JumpIf(R::r9, C::kEqual, 1, third);
    a_.Load(W::k4, R::r9, R::r10, At(kArgumentsAt, kFirst));
    a_.Jump(have_fd);
    a_.Bind(third);
    a_.Load(W::k4, R::r9, R::r10, At(kArgumentsAt, kThird));
    a_.Bind(have_fd);
    const auto not_uring = a_.NewLabel();
    a_.JumpIf(R::r7, C::kNotEqual, static_cast<int32_t>(IoCall::kUring), not_uring);
    a_.Move(R::r9, kUringSeen);
    a_.Bind(not_uring);
    WriteKey(R::r9);
    // What is connected, accepted or closed tells of the descriptor itself.
    a_.JumpIf(R::r7, C::kEqual, static_cast<int32_t>(IoCall::kConnect), seen_bytes);
    a_.JumpIf(R::r7, C::kEqual, static_cast<int32_t>(IoCall::kAccept), seen_bytes);
    a_.JumpIf(R::r7, C::kEqual, static_cast<int32_t>(IoCall::kClose), seen_bytes);
    Lookup(maps_.descriptors, kKey);
    a_.JumpIf(R::r0, C::kNotEqual, 0, out_);
    a_.Bind(seen_bytes);
    a_.Call(BPF_FUNC_ktime_get_ns);
    a_.Store(W::k8, R::r10, At(kValue, offsetof(InFlight, time)), R::r0);
    a_.Load(W::k8, R::r1, R::r10, At(kArgumentsAt, kSecond));
    a_.Store(W::k8, R::r10, At(kValue, offsetof(InFlight, address)), R::r1);
    a_.Store(W::k4, R::r10, At(kValue, offsetof(InFlight, call)), R::r7);
    a_.Store(W::k4, R::r10, At(kValue, offsetof(InFlight, buffer)), R::r8);
    a_.Store(W::k4, R::r10, At(kValue, offsetof(InFlight, fd)), R::r9);
    a_.Store(W::k4, R::r10, At(kValue, offsetof(InFlight, zero)), 0);
    Update(maps_.calls, kThread, kValue);
    return End();
  }

  std::vector<bpf_insn> Leave() {
    const auto is_close = a_.NewLabel(), is_connect = a_.NewLabel(), is_accept = a_.NewLabel(),
               is_uring = a_.NewLabel(), late = a_.NewLabel(), tell = a_.NewLabel(),
               reserved = a_.NewLabel(), message = a_.NewLabel(), vector = a_.NewLabel(),
               direct = a_.NewLabel(), submit = a_.NewLabel();
    a_.Move(R::r6, R::r1);
    a_.Load(W::k8, R::r7, R::r6, 8);  // the result
    Identify();
    Lookup(maps_.calls, kThread);
    a_.JumpIf(R::r0, C::kEqual, 0, out_);
    for (const size_t offset : {offsetof(InFlight, time), offsetof(InFlight, address),
                                offsetof(InFlight, call), offsetof(InFlight, fd)}) {
      a_.Load(W::k8, R::r1, R::r0, static_cast<int16_t>(offset));
      a_.Store(W::k8, R::r10, At(kValue, offset), R::r1);
    }
    Delete(maps_.calls, kThread);
    a_.Load(W::k4, R::r8, R::r10, At(kValue, offsetof(InFlight, call)));
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kClose), is_close);
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kConnect), is_connect);
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kAccept), is_accept);
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kUring), is_uring);
    a_.JumpIf(R::r7, C::kEqual, 0, out_);            // the end of the stream
    a_.JumpIf(R::r7, C::kGreater, INT32_MAX, out_);  // an error
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kSend), tell);
    a_.Jump(late);

    a_.Bind(is_close);
    a_.Load(W::k4, R::r9, R::r10, At(kValue, offsetof(InFlight, fd)));
    WriteKey(R::r9);
    Delete(maps_.descriptors, kKey);
    a_.Jump(late);

    a_.Bind(is_uring);  // told once of a process
    a_.Move(R::r9, kUringSeen);
    WriteKey(R::r9);
    a_.Store(W::k4, R::r10, kPointer, kIgnore);
    Update(maps_.descriptors, kKey, kPointer);
    a_.Jump(late);

    a_.Bind(is_connect);
    a_.JumpIf(R::r7, C::kEqual, 0, late);
    a_.JumpIf(R::r7, C::kEqual, -EINPROGRESS, late);
    a_.Jump(out_);

    a_.Bind(is_accept);
    a_.JumpIf(R::r7, C::kGreater, INT32_MAX, out_);
    a_.Store(W::k4, R::r10, At(kValue, offsetof(InFlight, fd)), R::r7);

    a_.Bind(late);
    a_.Call(BPF_FUNC_ktime_get_ns);
    a_.Store(W::k8, R::r10, At(kValue, offsetof(InFlight, time)), R::r0);

    // What opens goes into a ring whose reader is woken: the socket is looked at while it is there.
    const auto opens = a_.NewLabel(), chosen = a_.NewLabel();
    a_.Bind(tell);
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kConnect), opens);
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kAccept), opens);
    a_.Map(R::r1, maps_.ring.fd());
    a_.Jump(chosen);
    a_.Bind(opens);
    a_.Map(R::r1, maps_.opened.fd());
    a_.Bind(chosen);
    a_.Move(R::r2, sizeof(IoRecord));
    a_.Move(R::r3, 0);
    a_.Call(BPF_FUNC_ringbuf_reserve);
    a_.JumpIf(R::r0, C::kNotEqual, 0, reserved);
    Count(kRingFull);
    a_.Jump(out_);
    a_.Bind(reserved);
    a_.Move(R::r9, R::r0);
    a_.Load(W::k8, R::r1, R::r10, At(kValue, offsetof(InFlight, time)));
    a_.Store(W::k8, R::r9, offsetof(IoRecord, time), R::r1);
    a_.Load(W::k4, R::r1, R::r10, kProcess);
    a_.Store(W::k4, R::r9, offsetof(IoRecord, process), R::r1);
    a_.Load(W::k4, R::r1, R::r10, kThread);
    a_.Store(W::k4, R::r9, offsetof(IoRecord, thread), R::r1);
    a_.Load(W::k4, R::r1, R::r10, At(kValue, offsetof(InFlight, fd)));
    a_.Store(W::k4, R::r9, offsetof(IoRecord, fd), R::r1);
    a_.Store(W::k4, R::r9, offsetof(IoRecord, call), R::r8);
    a_.Store(W::k8, R::r9, offsetof(IoRecord, bytes), R::r7);
    a_.Move(R::r1, R::r9);
    a_.Add(R::r1, offsetof(IoRecord, name));
    a_.Move(R::r2, sizeof(IoRecord::name));
    a_.Call(BPF_FUNC_get_current_comm);
    for (size_t i = 0; i < kIoPrefix; i += 8)
      a_.Store(W::k8, R::r9, static_cast<int16_t>(offsetof(IoRecord, prefix) + i), 0);
    a_.Load(W::k4, R::r1, R::r10, At(kValue, offsetof(InFlight, buffer)));
    a_.JumpIf(R::r1, C::kEqual, static_cast<int32_t>(Buffer::kSecondArgument), direct);
    a_.JumpIf(R::r1, C::kEqual, static_cast<int32_t>(Buffer::kVector), vector);
    a_.JumpIf(R::r1, C::kEqual, static_cast<int32_t>(Buffer::kMessage), message);
    a_.Jump(submit);
    a_.Bind(message);
    Follow(16, submit);  // msghdr::msg_iov
    a_.Bind(vector);
    Follow(0, submit);  // iovec::iov_base
    a_.Bind(direct);
    a_.Move(R::r1, R::r9);
    a_.Add(R::r1, offsetof(IoRecord, prefix));
    a_.Move(R::r2, kIoPrefix);
    a_.Load(W::k8, R::r3, R::r10, At(kValue, offsetof(InFlight, address)));
    a_.Call(BPF_FUNC_probe_read_user);  // what cannot be read is zero
    const auto wakes = a_.NewLabel(), flagged = a_.NewLabel();
    a_.Bind(submit);
    a_.Move(R::r1, R::r9);
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kConnect), wakes);
    a_.JumpIf(R::r8, C::kEqual, static_cast<int32_t>(IoCall::kAccept), wakes);
    a_.Move(R::r2, BPF_RB_NO_WAKEUP);
    a_.Jump(flagged);
    a_.Bind(wakes);
    a_.Move(R::r2, 0);
    a_.Bind(flagged);
    a_.Call(BPF_FUNC_ringbuf_submit);
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
  // The address in the frame becomes what stands `offset` bytes behind where it points to.
  void Follow(int32_t offset, BpfAssembler::Label otherwise) {
    FrameAddress(R::r1, kPointer);
    a_.Move(R::r2, 8);
    a_.Load(W::k8, R::r3, R::r10, At(kValue, offsetof(InFlight, address)));
    a_.Add(R::r3, offset);
    a_.Call(BPF_FUNC_probe_read_user);
    a_.JumpIf(R::r0, C::kNotEqual, 0, otherwise);
    a_.Load(W::k8, R::r1, R::r10, kPointer);
    a_.Store(W::k8, R::r10, At(kValue, offsetof(InFlight, address)), R::r1);
  }
  void WriteKey(R fd) {
    a_.Store(W::k4, R::r10, At(kKey, offsetof(DescriptorKey, fd)), fd);
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
            BpfMap::Create("wf_io_processes", {BpfMapType::kHash, 4, 4, kMostProcesses}));
  WF_ASSIGN(maps.descriptors, BpfMap::Create("wf_io_fds", {BpfMapType::kHash, sizeof(DescriptorKey),
                                                           4, kMostDescriptors}));
  WF_ASSIGN(maps.calls,
            BpfMap::Create("wf_io_calls", {BpfMapType::kHash, 4, sizeof(InFlight), kMostThreads}));
  WF_ASSIGN(maps.ring, BpfMap::Create("wf_io_ring", {BpfMapType::kRing, 0, 0, kRingBytes}));
  WF_ASSIGN(maps.opened, BpfMap::Create("wf_io_opened", {BpfMapType::kRing, 0, 0, kOpenedBytes}));
  WF_ASSIGN(maps.counters,
            BpfMap::Create("wf_io_counts", {BpfMapType::kArray, 4, kCounters * 8, 1}));
  return maps;
}

IoCounters IoMaps::Counters() const {
  const uint32_t first = 0;
  uint64_t slots[kCounters] = {};
  counters.Lookup(&first, slots);
  return {slots[kRingFull], slots[kTableFull]};
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

std::vector<bpf_insn> EnterProgram(const IoMaps& maps, const IoProgramSettings& settings) {
  return Program(maps, settings).Enter();
}
std::vector<bpf_insn> LeaveProgram(const IoMaps& maps, const IoProgramSettings& settings) {
  return Program(maps, settings).Leave();
}

}  // namespace wf
