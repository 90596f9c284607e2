#include "import/pcap/block_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace wf::pcap {
namespace {

// Large enough that system calls do not count, small enough for the second-level cache.
constexpr size_t kBlock = 256 << 10;

}  // namespace

BlockReader::~BlockReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool BlockReader::Fill(size_t size) {
  if (descriptor_ < 0 || ended_) return false;
  const size_t left = there();
  if (block_.size() < std::max(size + 16, kBlock)) {
    std::vector<char> larger(std::max(size + 16, kBlock));
    if (left != 0) std::memcpy(larger.data(), at_, left);
    block_ = std::move(larger);
  } else if (left != 0) {
    std::memmove(block_.data(), at_, left);
  }
  at_ = block_.data();
  end_ = at_ + left;
  while (there() < size) {
    const ssize_t got = ::read(descriptor_, block_.data() + there(), block_.size() - there());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      ended_ = true;
      if (got < 0) error_ = errno;
      return false;
    }
    end_ += got;
  }
  return true;
}

}  // namespace wf::pcap
