#include "weaver/request_programs.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstddef>
#include <iterator>
#include <utility>

#include "bpf/assembler.h"
#include "bpf/ring_submit.h"
#include "weaver/socket_code.h"

namespace wf::weaver {
namespace {

using namespace request_frame;
using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;
using M = bpf::BpfMath;

constexpr int32_t kSends[] = {SYS_write, SYS_sendto, SYS_sendmsg, SYS_writev};
constexpr int32_t kReceives[] = {SYS_read, SYS_recvfrom, SYS_recvmsg, SYS_readv};
// Bytes that go by these are not followed: reported once per call, for threads that may be in a request.
constexpr int32_t kUnfollowed[] = {SYS_io_uring_enter, SYS_splice,   SYS_sendfile,
                                   SYS_sendmmsg,       SYS_recvmmsg, SYS_vmsplice};

// In pt_regs of x86-64.
constexpr int32_t kArguments = 96;  // rdx, rsi, rdi
constexpr int32_t kFourth = 56, kCallNumber = 120;

struct StreamState {
  uint64_t sent = 0, received = 0;
};
struct Sending {
  StreamKey stream;
  uint64_t own = 0, position = 0;
};
static_assert(sizeof(Sending) == 56);

class Program {
 public:
  Program(const WovenMaps& maps, const RequestMaps& requests, const SocketOffsets& offsets)
      : maps_(maps),
        requests_(requests),
        o_(offsets),
        out_(a_.NewLabel()),
        socket_(a_, offsets, out_) {}

  // A thread that may be in a request begins to send.
  std::vector<bpf_insn> Enter() {
    const auto send = a_.NewLabel(), unfollowed = a_.NewLabel(), known = a_.NewLabel(),
               counted = a_.NewLabel(), told = a_.NewLabel();
    a_.Move(R::r6, R::r1);
    a_.Load(W::k8, R::r7, R::r6, 8);
    for (const int32_t number : kSends) a_.JumpIf(R::r7, C::kEqual, number, send);
    for (const int32_t number : kUnfollowed) a_.JumpIf(R::r7, C::kEqual, number, unfollowed);
    a_.Jump(out_);
    a_.Bind(unfollowed);
    Thread();
    Lookup(requests_.involved, kThread);
    a_.JumpIf(R::r0, C::kEqual, 0, out_);
    Count(Counter::kUnfollowed);
    a_.Jump(out_);

    a_.Bind(send);
    Thread();
    Lookup(requests_.involved, kThread);
    a_.JumpIf(R::r0, C::kEqual, 0, out_);
    ReadArguments();
    socket_.Resolve(Direction::kSend);
    Lookup(requests_.streams, Record(kStreamAt));
    a_.JumpIf(R::r0, C::kNotEqual, 0, known);
    // The first send that is followed. What a Unix socket has sent before must have been read.
    a_.Load(W::k4, R::r1, R::r10, Record(kStreamAt + offsetof(StreamKey, kind)));
    a_.JumpIf(R::r1, C::kNotEqual, static_cast<int32_t>(StreamKind::kUnix), counted);
    a_.Load(W::k8, R::r8, R::r10, kSocket);
    socket_.Follow(o_.sent_unread, 4);
    a_.JumpIf(R::r8, C::kGreater, 1, out_);
    a_.Bind(counted);
    a_.Store(W::k8, R::r10, kState, 0);
    a_.Store(W::k8, R::r10, kState + 8, 0);
    Update(requests_.streams, Record(kStreamAt), kState);
    Lookup(requests_.streams, Record(kStreamAt));
    a_.JumpIf(R::r0, C::kEqual, 0, out_);
    a_.Bind(known);
    const auto unix_socket = a_.NewLabel();
    a_.Load(W::k4, R::r1, R::r10, Record(kStreamAt + offsetof(StreamKey, kind)));
    a_.Load(W::k8, R::r9, R::r0, offsetof(StreamState, sent));
    a_.JumpIf(R::r1, C::kEqual, static_cast<int32_t>(StreamKind::kUnix), unix_socket);
    a_.Load(W::k8, R::r8, R::r10, kSocket);
    socket_.Follow(o_.write_position, 4);
    a_.Move(R::r9, R::r8);
    a_.Bind(unix_socket);
    a_.Store(W::k8, R::r10, Record(offsetof(MessageRecord, position)), R::r9);
    a_.Store(W::k8, R::r10, Record(offsetof(MessageRecord, bytes)), 0);
    for (size_t at = 0; at < sizeof(Sending); at += 8) {
      a_.Load(W::k8, R::r1, R::r10, Record(kStreamAt + at));
      a_.Store(W::k8, R::r10, In(kSendingAt, at), R::r1);
    }
    Update(requests_.sending, kThread, kSendingAt);
    a_.Bind(told);
    Tell(RecordKind::kSendBegins);
    return End();
  }

  // A send or a receive is over.
  std::vector<bpf_insn> Leave() {
    const auto sent = a_.NewLabel(), received = a_.NewLabel(), stranger = a_.NewLabel();
    a_.Move(R::r6, R::r1);
    a_.Load(W::k8, R::r7, R::r6, 8);  // the result
    Address(R::r1, kRead);
    a_.Move(R::r2, 8);
    a_.Load(W::k8, R::r3, R::r6, 0);
    a_.Add(R::r3, kCallNumber);
    a_.Call(BPF_FUNC_probe_read_kernel);
    a_.JumpIf(R::r0, C::kNotEqual, 0, out_);
    a_.Load(W::k8, R::r8, R::r10, kRead);
    for (const int32_t number : kSends) a_.JumpIf(R::r8, C::kEqual, number, sent);
    a_.JumpIf(R::r7, C::kLessEqualSigned, 0, out_);
    for (const int32_t number : kReceives) a_.JumpIf(R::r8, C::kEqual, number, received);
    a_.Jump(out_);

    a_.Bind(sent);
    Thread();
    Lookup(requests_.sending, kThread);
    a_.JumpIf(R::r0, C::kEqual, 0, stranger);
    for (size_t at = 0; at < sizeof(Sending); at += 8) {
      a_.Load(W::k8, R::r1, R::r0, static_cast<int16_t>(at));
      a_.Store(W::k8, R::r10, Record(kStreamAt + at), R::r1);
    }
    Delete(requests_.sending, kThread);
    const auto some = a_.NewLabel();
    a_.JumpIf(R::r7, C::kGreaterEqualSigned, 0, some);
    a_.Move(R::r7, 0);
    a_.Bind(some);
    a_.Store(W::k8, R::r10, Record(offsetof(MessageRecord, bytes)), R::r7);
    AddToStream(offsetof(StreamState, sent));
    Tell(RecordKind::kSendEnds);

    // A thread in no request, on a Unix socket whose bytes are counted.
    a_.Bind(stranger);
    a_.JumpIf(R::r7, C::kLessEqualSigned, 0, out_);
    ReadArguments();
    socket_.Resolve(Direction::kSend);
    AddToStream(offsetof(StreamState, sent));
    a_.Jump(out_);

    a_.Bind(received);
    // What is only looked at will be received again.
    const auto from = a_.NewLabel(), message = a_.NewLabel(), taken = a_.NewLabel();
    ReadArguments();
    a_.JumpIf(R::r8, C::kEqual, SYS_recvfrom, from);
    a_.JumpIf(R::r8, C::kEqual, SYS_recvmsg, message);
    a_.Jump(taken);
    a_.Bind(from);
    Address(R::r1, kFlags);
    a_.Move(R::r2, 8);
    a_.Load(W::k8, R::r3, R::r6, 0);
    a_.Add(R::r3, kFourth);
    a_.Call(BPF_FUNC_probe_read_kernel);
    a_.JumpIf(R::r0, C::kNotEqual, 0, out_);
    a_.Load(W::k8, R::r1, R::r10, kFlags);
    a_.JumpIf(R::r1, C::kAnyBitOf, MSG_PEEK, out_);
    a_.Jump(taken);
    a_.Bind(message);
    a_.Load(W::k8, R::r1, R::r10, kArgumentsAt);
    a_.JumpIf(R::r1, C::kAnyBitOf, MSG_PEEK, out_);
    a_.Bind(taken);
    Thread();
    socket_.Resolve(Direction::kReceive);
    a_.Store(W::k8, R::r10, Record(offsetof(MessageRecord, bytes)), R::r7);
    Receive();
    return End();
  }

  std::vector<bpf_insn> ThreadEnd(const LinkedMaps* linked) {
    Thread();
    Lookup(requests_.involved, kThread);
    a_.JumpIf(R::r0, C::kEqual, 0, out_);
    Delete(requests_.involved, kThread);
    Delete(requests_.sending, kThread);
    if (linked != nullptr) Release(*linked);
    for (size_t at = 0; at < sizeof(MessageRecord); at += 8) a_.Store(W::k8, R::r10, Record(at), 0);
    Tell(RecordKind::kThreadEnds);
    return End();
  }

 private:
  void Receive() {
    const auto unmarked = a_.NewLabel(), unix_socket = a_.NewLabel(), positioned = a_.NewLabel();
    Lookup(requests_.streams, Record(kStreamAt));
    a_.JumpIf(R::r0, C::kEqual, 0, unmarked);
    a_.Load(W::k4, R::r1, R::r10, Record(kStreamAt + offsetof(StreamKey, kind)));
    a_.JumpIf(R::r1, C::kEqual, static_cast<int32_t>(StreamKind::kUnix), unix_socket);
    a_.Load(W::k8, R::r8, R::r10, kSocket);
    socket_.Follow(o_.read_position, 4);
    a_.Subtract(R::r8, R::r7);
    a_.Math(M::kShiftLeft, R::r8, 32);
    a_.Math(M::kShiftRight, R::r8, 32);
    a_.Jump(positioned);
    a_.Bind(unix_socket);
    a_.Load(W::k8, R::r8, R::r0, offsetof(StreamState, received));
    a_.AtomicAdd(R::r0, offsetof(StreamState, received), R::r7);
    a_.Bind(positioned);
    a_.Store(W::k8, R::r10, Record(offsetof(MessageRecord, position)), R::r8);
    Update(requests_.involved, kThread, kThread);
    Tell(RecordKind::kReceives);

    a_.Bind(unmarked);
    Lookup(requests_.involved, kThread);
    a_.JumpIf(R::r0, C::kEqual, 0, out_);
    a_.Store(W::k8, R::r10, Record(offsetof(MessageRecord, position)), 0);
    Tell(RecordKind::kReceivesUnmarked);
  }

  void Release(const LinkedMaps& linked) {
    const auto unseen = a_.NewLabel();
    if (linked.pid_namespace_inode != 0) {
      a_.Constant(R::r1, linked.pid_namespace_device);
      a_.Constant(R::r2, linked.pid_namespace_inode);
      Address(R::r3, kRead);
      a_.Move(R::r4, sizeof(bpf_pidns_info));
      a_.Call(BPF_FUNC_get_ns_current_pid_tgid);
      a_.JumpIf(R::r0, C::kNotEqual, 0, unseen);
      a_.Load(W::k4, R::r8, R::r10, kRead + 4);
    } else {
      a_.Call(BPF_FUNC_get_current_pid_tgid);
      a_.Move(R::r8, R::r0);
      a_.Math(M::kShiftRight, R::r8, 32);
    }
    a_.Store(W::k8, R::r10, kFlags, R::r8);
    HandOverCode(a_, linked, {kRead, kArgumentsAt, kFd, kFlags}).Release();
    a_.Bind(unseen);
  }

  // r7 more bytes.
  void AddToStream(int16_t which) {
    const auto not_counted = a_.NewLabel();
    Lookup(requests_.streams, Record(kStreamAt));
    a_.JumpIf(R::r0, C::kEqual, 0, not_counted);
    a_.AtomicAdd(R::r0, which, R::r7);
    a_.Bind(not_counted);
  }

  void Thread() {
    a_.Call(BPF_FUNC_get_current_pid_tgid);
    a_.Math(M::kShiftLeft, R::r0, 32);
    a_.Math(M::kShiftRight, R::r0, 32);
    a_.Store(W::k8, R::r10, kThread, R::r0);
  }

  void ReadArguments() {
    Address(R::r1, kArgumentsAt);
    a_.Move(R::r2, 24);
    a_.Load(W::k8, R::r3, R::r6, 0);
    a_.Add(R::r3, kArguments);
    a_.Call(BPF_FUNC_probe_read_kernel);
    a_.JumpIf(R::r0, C::kNotEqual, 0, out_);
    a_.Load(W::k4, R::r1, R::r10, kArgumentsAt + 16);
    a_.Store(W::k8, R::r10, kFd, R::r1);
  }

  // Sends the record, and ends.
  void Tell(RecordKind kind) {
    for (size_t at = 0; at < sizeof(RecordHeader); at += 8) a_.Store(W::k8, R::r10, Record(at), 0);
    a_.Load(W::k8, R::r1, R::r10, kThread);
    a_.Store(W::k8, R::r10, Record(offsetof(RecordHeader, thread)), R::r1);
    a_.Store(W::k4, R::r10, Record(offsetof(RecordHeader, kind)), static_cast<int32_t>(kind));
    Address(R::r9, request_frame::kRecord);
    AppendRingOutput(a_, maps_.ring, R::r9, sizeof(MessageRecord));
    a_.JumpIf(R::r0, C::kEqual, 0, out_);
    Count(Counter::kLost);
    a_.Jump(out_);
  }

  void Address(R to, int16_t place) { socket_.Address(to, place); }
  void Lookup(const bpf::BpfMap& map, int16_t key) {
    a_.Map(R::r1, map.fd());
    Address(R::r2, key);
    a_.Call(BPF_FUNC_map_lookup_elem);
  }
  void Update(const bpf::BpfMap& map, int16_t key, int16_t value) {
    a_.Map(R::r1, map.fd());
    Address(R::r2, key);
    Address(R::r3, value);
    a_.Move(R::r4, BPF_ANY);
    a_.Call(BPF_FUNC_map_update_elem);
  }
  void Delete(const bpf::BpfMap& map, int16_t key) {
    a_.Map(R::r1, map.fd());
    Address(R::r2, key);
    a_.Call(BPF_FUNC_map_delete_elem);
  }
  void Count(Counter counter) {
    a_.MapValue(R::r1, maps_.counters.fd(), static_cast<uint32_t>(counter) * 8);
    a_.Move(R::r2, 1);
    a_.AtomicAdd(R::r1, 0, R::r2);
  }
  std::vector<bpf_insn> End() {
    a_.Bind(out_);
    a_.Return(0);
    return a_.Finish();
  }

  bpf::BpfAssembler a_;
  const WovenMaps& maps_;
  const RequestMaps& requests_;
  const SocketOffsets& o_;
  const bpf::BpfAssembler::Label out_;
  SocketCode socket_;
};

}  // namespace

Result<RequestMaps> RequestMaps::Create() {
  RequestMaps maps;
  constexpr uint32_t kMostThreads = 1 << 15, kMostStreams = 1 << 15;
  WF_ASSIGN(maps.involved,
            bpf::BpfMap::Create("wf_involved", {bpf::BpfMapType::kRecentHash, 8, 8, kMostThreads}));
  WF_ASSIGN(maps.streams,
            bpf::BpfMap::Create("wf_streams", {bpf::BpfMapType::kRecentHash, sizeof(StreamKey),
                                               sizeof(StreamState), kMostStreams}));
  WF_ASSIGN(maps.sending, bpf::BpfMap::Create("wf_sending", {bpf::BpfMapType::kRecentHash, 8,
                                                             sizeof(Sending), kMostThreads}));
  return maps;
}

Result<std::vector<bpf::RawTracepoint>> FollowRequests(const WovenMaps& maps,
                                                       const RequestMaps& requests,
                                                       const LinkedMaps* linked) {
  WF_ASSIGN(const SocketOffsets offsets, FindSocketOffsets());
  std::vector<bpf::RawTracepoint> attached;
  // The end first: a send that is seen to begin is seen to end.
  const std::pair<const char*, std::vector<bpf_insn>> programs[] = {
      {"sched_process_exit", Program(maps, requests, offsets).ThreadEnd(linked)},
      {"sys_exit", Program(maps, requests, offsets).Leave()},
      {"sys_enter", Program(maps, requests, offsets).Enter()},
  };
  for (const auto& [name, text] : programs) {
    WF_ASSIGN(const bpf::BpfProgram program,
              bpf::BpfProgram::Load("wf_requests", bpf::BpfProgramType::kTracepoint, text));
    WF_ASSIGN(bpf::RawTracepoint tracepoint, bpf::RawTracepoint::Attach(program, name));
    attached.push_back(std::move(tracepoint));
  }
  return attached;
}

}  // namespace wf::weaver
