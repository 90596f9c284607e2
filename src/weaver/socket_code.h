// From a file descriptor to the stream behind it, in eBPF: which connection and which direction, read from
// the kernel's structures.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "bpf/assembler.h"
#include "weaver/event_record.h"

namespace wf::weaver {

// Members of the kernel's structures.
struct SocketOffsets {
  int32_t task_files, files_table, table_files, table_size;
  int32_t file_inode, file_data, inode_mode;
  int32_t socket_type, socket_sock;
  int32_t family, source4, target4, source6, target6, target_port, source_port;
  int32_t protocol, sent_unread, write_position, read_position, unix_peer;
};

Result<SocketOffsets> FindSocketOffsets();

// Slots in the frame of a program that follows requests.
namespace request_frame {
constexpr int16_t kThread = -8, kRead = -16, kSocket = -24, kArgumentsAt = -48, kFd = -56,
                  kFlags = -64, kState = -80, kRecord = -80 - 128, kSendingAt = -80 - 128 - 56;
constexpr int16_t In(int16_t place, size_t offset) {
  return static_cast<int16_t>(place + static_cast<int16_t>(offset));
}
constexpr int16_t Record(size_t offset) { return In(kRecord, offset); }
constexpr size_t kStreamAt = offsetof(MessageRecord, stream);
}  // namespace request_frame

enum class Direction : uint8_t { kSend, kReceive };

class SocketCode {
 public:
  // `out`: the jump target if the stream is not followed, or cannot be read.
  SocketCode(bpf::BpfAssembler& a, const SocketOffsets& offsets, bpf::BpfAssembler::Label out)
      : a_(a), o_(offsets), out_(out) {}

  // Fills the record's stream and own socket from the descriptor in kFd; the socket is in kSocket too. r0 to
  // r5, r8 and r9 are lost.
  void Resolve(Direction direction);
  // r8 becomes the value at `offset` from where it points.
  void Follow(int32_t offset, int32_t bytes = 8);
  void Address(bpf::BpfReg to, int16_t place);

 private:
  void Copy(int32_t offset, int32_t bytes, int16_t to);
  void ResolveUnix(Direction direction);
  void ResolveInet(Direction direction);
  void ResolveInet6(Direction direction, bpf::BpfAssembler::Label inet);
  void ResolvePorts(Direction direction);

  bpf::BpfAssembler& a_;
  const SocketOffsets& o_;
  const bpf::BpfAssembler::Label out_;
};

}  // namespace wf::weaver
