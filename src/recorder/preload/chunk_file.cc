#include "recorder/preload/chunk_file.h"

#include <errno.h>

#include <cstring>

#include "recorder/preload/raw_calls.h"

namespace wf::recorder {

void ChunkFile::Write(ChunkKind kind, uint32_t thread, const void* records, uint32_t size) {
  if (used_ + sizeof(ChunkHead) + Lz4Bound(size) > sizeof(out_)) Flush();
  uint8_t* const payload = out_ + used_ + sizeof(ChunkHead);
  ChunkHead head = {kChunkMark, kind, thread, Codec::kLz4, size, 0, 0};
  head.stored_size = CompressLz4(static_cast<const uint8_t*>(records), size, payload, table_);
  if (head.stored_size >= size) {
    head.codec = Codec::kNone;
    head.stored_size = size;
    if (size != 0) std::memcpy(payload, records, size);
  }
  uint64_t checksum = 0xcbf29ce484222325ull;
  for (uint32_t i = 0; i < head.stored_size; ++i)
    checksum = (checksum ^ payload[i]) * 0x100000001b3ull;
  head.checksum = checksum;
  std::memcpy(out_ + used_, &head, sizeof(head));
  used_ += sizeof(head) + head.stored_size;
}

void ChunkFile::Flush() {
  uint32_t done = 0;
  while (done < used_ && trouble_ == 0) {
    const long wrote = at_ == 0 ? RawCall(SYS_write, fd_, Arg(out_ + done), used_ - done)
                                : RawCall(SYS_pwrite64, fd_, Arg(out_ + done), used_ - done,
                                          static_cast<long>(at_ + done));
    if (wrote == -EINTR) continue;
    if (wrote <= 0) {
      trouble_ = wrote == 0 ? ENOSPC : static_cast<int>(-wrote);
    } else {
      done += static_cast<uint32_t>(wrote);
    }
  }
  if (at_ != 0) at_ += used_;
  used_ = 0;
}

}  // namespace wf::recorder
