#include "recorder/reader/chunk_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/file_descriptor.h"
#include "recorder/reader/lz4_block.h"

namespace wf::recorder {
namespace {

// The recorder's chunks are below a megabyte; a few of these fit into any memory.
constexpr uint32_t kMaxRaw = uint32_t{256} << 20;
constexpr uint32_t kMaxHead = 1 << 16;
constexpr size_t kPiece = size_t{4} << 20;

// As many bytes as there are, up to `size`. The buffer grows by what was really read: a head that promises much costs
// nothing.
Status ReadUpTo(const ReadAt& read, uint64_t offset, size_t size, std::string& to) {
  to.clear();
  while (to.size() < size) {
    const size_t had = to.size();
    to.resize(had + std::min(kPiece, size - had));
    const Result<size_t> got = read(offset + had, to.data() + had, to.size() - had);
    if (!got.ok()) return got.error();
    to.resize(had + *got);
    if (*got == 0) break;
  }
  return {};
}

}  // namespace

uint64_t ChecksumOf(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return hash;
}

ReadAt FromMemory(std::string_view bytes) {
  return [bytes](uint64_t offset, char* to, size_t size) -> Result<size_t> {
    if (offset >= bytes.size()) return size_t{0};
    const size_t count = std::min<uint64_t>(size, bytes.size() - offset);
    std::memcpy(to, bytes.data() + offset, count);
    return count;
  };
}

Result<ReadAt> FromFile(const std::string& path) {
  const auto fd =
      std::make_shared<FileDescriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd->valid() || ::fstat(fd->get(), &status) != 0) {
    const std::string why = fmt::format("{}: {}", path, std::strerror(errno));
    const char* const next = "wherefore record -o F.cpg -- PROG writes such a file";
    return errno == ENOENT ? BadInput(why, next) : EnvironmentError(why, next);
  }
  if (!S_ISREG(status.st_mode))
    return BadInput(path + ": is not a file", "give a .cpg file that wherefore record wrote");
  return ReadAt([fd, path](uint64_t offset, char* to, size_t size) -> Result<size_t> {
    for (;;) {
      const ssize_t got = ::pread(fd->get(), to, size, static_cast<off_t>(offset));
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR)
        return EnvironmentError(fmt::format("{}: {}", path, std::strerror(errno)));
    }
  });
}

Result<ChunkReader> ChunkReader::Open(ReadAt read, const std::string& name) {
  ChunkReader reader;
  std::string bytes;
  WF_TRY(ReadUpTo(read, 0, sizeof(SharedHead), bytes));
  const char* const next = "give a .cpg file that wherefore record wrote";
  if (bytes.size() < sizeof kMagic || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return BadInput(name + ": is not a recording", next);
  if (bytes.size() < sizeof(FileHead)) return BadInput(name + ": is cut off in its head", next);
  std::memcpy(&reader.head_, bytes.data(), sizeof(FileHead));
  const FileHead& head = reader.head_;
  if (head.version == 0 || head.version > kVersion) {
    return BadInput(fmt::format("{}: is of version {}, and this wherefore reads up to {}", name,
                                head.version, kVersion),
                    "read it with the wherefore that recorded it, or a newer one");
  }
  if (head.head_size < sizeof(FileHead) || head.head_size > kMaxHead)
    return BadInput(fmt::format("{}: its head says that it has {} bytes", name, head.head_size),
                    next);
  if (head.head_size >= sizeof(SharedHead) && bytes.size() == sizeof(SharedHead)) {
    SharedHead shared;
    std::memcpy(&shared, bytes.data(), sizeof shared);
    reader.trouble_ = shared.trouble;
    reader.only_snapshot_ = shared.only_snapshot;
  }
  reader.at_ = head.head_size;
  reader.read_ = std::move(read);
  return reader;
}

Result<bool> ChunkReader::Next(Chunk& chunk) {
  for (;;) {
    std::string bytes;
    WF_TRY(ReadUpTo(read_, at_, sizeof(ChunkHead), bytes));
    if (bytes.size() < sizeof(ChunkHead)) return false;
    ChunkHead head;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.mark != kChunkMark || head.raw_size > kMaxRaw || head.stored_size > kMaxRaw)
      return false;
    WF_TRY(ReadUpTo(read_, at_ + sizeof head, head.stored_size, stored_));
    if (stored_.size() < head.stored_size) return false;
    at_ += sizeof head + head.stored_size;
    bool good = ChecksumOf(stored_) == head.checksum;
    if (good && head.codec == Codec::kNone) {
      good = head.raw_size == head.stored_size;
      raw_ = stored_;
    } else if (good && head.codec == Codec::kLz4) {
      // A byte of a block is at most 255 bytes of what it stands for.
      good = head.raw_size <= uint64_t{256} * head.stored_size &&
             DecodeLz4Block(stored_, head.raw_size, raw_);
    } else {
      good = false;
    }
    if (!good) {
      ++damaged_;
      continue;
    }
    if (head.kind == ChunkKind::kEnd) complete_ = true;
    chunk = {head.kind, head.thread, raw_};
    return true;
  }
}

}  // namespace wf::recorder
