// StringTable: texts ↔ small integer codes, for the repeated texts of one batch. Code 0 is the empty text.
// Thread safety: none for Intern; At may be called from many threads once nobody interns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wf {

class StringTable {
 public:
  StringTable();

  uint32_t Intern(std::string_view text);
  // Code of a text that is there, or UINT32_MAX.
  uint32_t Find(std::string_view text) const;
  std::string_view At(uint32_t code) const {
    return std::string_view(bytes_).substr(ends_[code], ends_[code + 1] - ends_[code]);
  }
  size_t size() const { return ends_.size() - 1; }
  size_t MemoryBytes() const;

  // For serialization: the concatenated texts and their ends (size() + 1 offsets, the first 0).
  const std::string& bytes() const { return bytes_; }
  const std::vector<uint32_t>& ends() const { return ends_; }

 private:
  void Grow();

  std::string bytes_;
  std::vector<uint32_t> ends_;
  // Open addressing, code + 1; 0 = free; a power of two, at most half full.
  std::vector<uint32_t> slots_;
};

}  // namespace wf
