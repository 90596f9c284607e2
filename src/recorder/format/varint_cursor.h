// Reads varints from untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "recorder/format/branches.h"

namespace wf::recorder {

class VarintCursor {
 public:
  explicit VarintCursor(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return at_ == bytes_.size(); }
  size_t position() const { return at_; }
  // A read failed because the bytes ended; more may follow.
  bool ran_out() const { return ran_out_; }

  // False: the bytes end within it, or it is longer than 64 bits.
  bool Read(uint64_t& out) {
    out = 0;
    for (unsigned shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      out |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    ran_out_ = at_ == bytes_.size();
    return false;
  }

  bool ReadBytes(uint64_t size, std::string_view& out) {
    if (size > bytes_.size() - at_) {
      ran_out_ = true;
      return false;
    }
    out = bytes_.substr(at_, size);
    at_ += size;
    return true;
  }

  // A difference to `base`.
  bool ReadFrom(uint64_t base, uint64_t& out) {
    uint64_t distance = 0;
    if (!Read(distance)) return false;
    out = base + static_cast<uint64_t>(UnZigZag(distance));
    return true;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool ran_out_ = false;
};

}  // namespace wf::recorder
