// Bytes that are written again and again: memory is kept, is not zeroed before it is written, and stays where it is when
// the buffer is moved or swapped, so that views of it stay good.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace wherefore::client {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.get(), size_}; }

  // Where `size` bytes are to be written, all of them; what was there is gone.
  char* Resize(size_t size) {
    if (size > capacity_) {
      const size_t more = std::max(size, kFirst);
      size_ = capacity_ = 0;
      bytes_.reset(new char[more]);
      capacity_ = more;
    }
    size_ = size;
    return bytes_.get();
  }
  // `bytes` are not this buffer's own.
  void Assign(std::string_view bytes) {
    char* const to = Resize(bytes.size());
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  }
  // Empty; memory beyond what most need is given back.
  void Clear() {
    size_ = 0;
    if (capacity_ <= kKept) return;
    bytes_.reset();
    capacity_ = 0;
  }

 private:
  static constexpr size_t kFirst = 240, kKept = 8192;
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace wherefore::client
