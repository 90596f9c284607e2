#include "weaver/socket_code.h"

#include <linux/bpf.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "bpf/kernel_types.h"

namespace wf::weaver {
namespace {

using namespace request_frame;
using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;
using M = bpf::BpfMath;

constexpr int16_t Stream(size_t offset) { return Record(kStreamAt + offset); }

}  // namespace

Result<SocketOffsets> FindSocketOffsets() {
  WF_ASSIGN(bpf::KernelTypes types, bpf::KernelTypes::Load());
  SocketOffsets o{};
  const struct {
    int32_t* offset;
    const char *structure, *member;
  } wanted[] = {
      {&o.task_files, "task_struct", "files"},
      {&o.files_table, "files_struct", "fdt"},
      {&o.table_files, "fdtable", "fd"},
      {&o.table_size, "fdtable", "max_fds"},
      {&o.file_inode, "file", "f_inode"},
      {&o.file_data, "file", "private_data"},
      {&o.inode_mode, "inode", "i_mode"},
      {&o.socket_type, "socket", "type"},
      {&o.socket_sock, "socket", "sk"},
      {&o.family, "sock_common", "skc_family"},
      {&o.source4, "sock_common", "skc_rcv_saddr"},
      {&o.target4, "sock_common", "skc_daddr"},
      {&o.source6, "sock_common", "skc_v6_rcv_saddr"},
      {&o.target6, "sock_common", "skc_v6_daddr"},
      {&o.target_port, "sock_common", "skc_dport"},
      {&o.source_port, "sock_common", "skc_num"},
      {&o.protocol, "sock", "sk_protocol"},
      {&o.sent_unread, "sock", "sk_wmem_alloc"},
      {&o.write_position, "tcp_sock", "write_seq"},
      {&o.read_position, "tcp_sock", "copied_seq"},
      {&o.unix_peer, "unix_sock", "peer"},
  };
  for (const auto& each : wanted) {
    WF_ASSIGN(*each.offset, types.OffsetOf(each.structure, each.member));
  }
  return o;  // sock_common is the first member of every socket
}

void SocketCode::Address(R to, int16_t place) {
  a_.Move(to, R::r10);
  a_.Add(to, place);
}

void SocketCode::Follow(int32_t offset, int32_t bytes) {
  a_.Store(W::k8, R::r10, kRead, 0);
  Address(R::r1, kRead);
  a_.Move(R::r2, bytes);
  a_.Move(R::r3, R::r8);
  a_.Add(R::r3, offset);
  a_.Call(BPF_FUNC_probe_read_kernel);
  a_.JumpIf(R::r0, C::kNotEqual, 0, out_);
  a_.Load(W::k8, R::r8, R::r10, kRead);
}
// `bytes` behind the socket go to a place in the record.
void SocketCode::Copy(int32_t offset, int32_t bytes, int16_t to) {
  Address(R::r1, to);
  a_.Move(R::r2, bytes);
  a_.Load(W::k8, R::r3, R::r10, kSocket);
  a_.Add(R::r3, offset);
  a_.Call(BPF_FUNC_probe_read_kernel);
  a_.JumpIf(R::r0, C::kNotEqual, 0, out_);
}

// From the descriptor to the record's stream, or out if it is no stream that is followed.
void SocketCode::Resolve(Direction direction) {
  for (size_t at = 0; at < sizeof(MessageRecord); at += 8) a_.Store(W::k8, R::r10, Record(at), 0);
  a_.Call(BPF_FUNC_get_current_task);
  a_.Move(R::r8, R::r0);
  Follow(o_.task_files);
  Follow(o_.files_table);
  a_.Move(R::r9, R::r8);
  Follow(o_.table_size, 4);
  a_.Load(W::k8, R::r1, R::r10, kFd);
  a_.JumpIf(R::r1, C::kGreaterEqual, R::r8, out_);
  a_.Move(R::r8, R::r9);
  Follow(o_.table_files);
  a_.Load(W::k8, R::r1, R::r10, kFd);
  a_.Math(M::kShiftLeft, R::r1, 3);
  a_.Math(M::kAdd, R::r8, R::r1);
  Follow(0);
  a_.JumpIf(R::r8, C::kEqual, 0, out_);
  a_.Move(R::r9, R::r8);
  Follow(o_.file_inode);
  Follow(o_.inode_mode, 2);
  a_.Math(M::kAnd, R::r8, 0xF000);
  a_.JumpIf(R::r8, C::kNotEqual, 0xC000, out_);  // a socket
  a_.Move(R::r8, R::r9);
  Follow(o_.file_data);
  a_.Move(R::r9, R::r8);
  Follow(o_.socket_type, 2);
  a_.JumpIf(R::r8, C::kNotEqual, SOCK_STREAM, out_);
  a_.Move(R::r8, R::r9);
  Follow(o_.socket_sock);
  a_.JumpIf(R::r8, C::kEqual, 0, out_);
  a_.Store(W::k8, R::r10, kSocket, R::r8);
  a_.Store(W::k8, R::r10, Record(offsetof(MessageRecord, own)), R::r8);
  a_.Move(R::r9, R::r8);
  Follow(o_.family, 2);
  const auto inet = a_.NewLabel(), inet6 = a_.NewLabel(), done = a_.NewLabel();
  a_.JumpIf(R::r8, C::kEqual, AF_INET, inet);
  a_.JumpIf(R::r8, C::kEqual, AF_INET6, inet6);
  a_.JumpIf(R::r8, C::kNotEqual, AF_UNIX, out_);
  ResolveUnix(direction);
  a_.Jump(done);
  a_.Bind(inet6);
  ResolveInet6(direction, inet);
  a_.Jump(done);
  a_.Bind(inet);
  ResolveInet(direction);
  a_.Bind(done);
}

void SocketCode::ResolveUnix(Direction direction) {
  a_.Move(R::r8, R::r9);
  if (direction == Direction::kSend) {
    Follow(o_.unix_peer);
    a_.JumpIf(R::r8, C::kEqual, 0, out_);
  }
  a_.Store(W::k8, R::r10, Stream(offsetof(StreamKey, target)), R::r8);
  a_.Store(W::k4, R::r10, Stream(offsetof(StreamKey, kind)),
           static_cast<int32_t>(StreamKind::kUnix));
}

// The sender's end is the source, on either side.
void SocketCode::ResolveInet(Direction direction) {
  const bool sends = direction == Direction::kSend;
  Copy(sends ? o_.source4 : o_.target4, 4, Stream(offsetof(StreamKey, source)));
  Copy(sends ? o_.target4 : o_.source4, 4, Stream(offsetof(StreamKey, target)));
  ResolvePorts(direction);
}
void SocketCode::ResolveInet6(Direction direction, bpf::BpfAssembler::Label inet) {
  const bool sends = direction == Direction::kSend;
  Copy(sends ? o_.source6 : o_.target6, 16, Stream(offsetof(StreamKey, source)));
  Copy(sends ? o_.target6 : o_.source6, 16, Stream(offsetof(StreamKey, target)));
  // An IPv4 connection of an IPv6 socket; its other end may call it by its IPv4 addresses.
  const auto real = a_.NewLabel();
  a_.Load(W::k8, R::r1, R::r10, Stream(offsetof(StreamKey, target)));
  a_.JumpIf(R::r1, C::kNotEqual, 0, real);
  a_.Load(W::k4, R::r1, R::r10, Stream(offsetof(StreamKey, target) + 8));
  a_.Constant(R::r2, 0xFFFF0000u);
  a_.JumpIf(R::r1, C::kNotEqual, R::r2, real);
  for (size_t at = 0; at < sizeof(StreamKey); at += 8) a_.Store(W::k8, R::r10, Stream(at), 0);
  a_.Jump(inet);
  a_.Bind(real);
  ResolvePorts(direction);
}
void SocketCode::ResolvePorts(Direction direction) {
  const bool sends = direction == Direction::kSend;
  const size_t source = offsetof(StreamKey, source_port), target = offsetof(StreamKey, target_port);
  a_.Load(W::k8, R::r8, R::r10, kSocket);
  Follow(o_.protocol, 2);
  a_.JumpIf(R::r8, C::kNotEqual, IPPROTO_TCP, out_);
  a_.Load(W::k8, R::r8, R::r10, kSocket);
  Follow(o_.source_port, 2);
  a_.Store(W::k2, R::r10, Stream(sends ? source : target), R::r8);
  a_.Load(W::k8, R::r8, R::r10, kSocket);
  Follow(o_.target_port, 2);  // in the network's order
  a_.Move(R::r1, R::r8);
  a_.Math(M::kShiftRight, R::r1, 8);
  a_.Math(M::kShiftLeft, R::r8, 8);
  a_.Math(M::kOr, R::r8, R::r1);
  a_.Store(W::k2, R::r10, Stream(sends ? target : source), R::r8);
  a_.Store(W::k4, R::r10, Stream(offsetof(StreamKey, kind)),
           static_cast<int32_t>(StreamKind::kTcp));
}

}  // namespace wf::weaver
