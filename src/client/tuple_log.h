// Tuples kept as the bytes that will travel: packing encodes, serialising copies. For what is packed most: numbers and
// short strings. The bytes are what advice::PackedTuples writes for the same bag (advice/wire.h), so receivers know no
// difference. It holds distinct tuples of weight 1 only; whoever packs anything else turns it into PackedTuples first.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "advice/rows.h"

namespace wherefore::client {

class TupleLog {
 public:
  enum class Added : uint8_t { kAdded, kNotForMe };
  static constexpr uint32_t kMostTexts = 8;  // strings of 2 to 64 bytes, different ones
  // All of `rows` or nothing. kNotForMe: a long string, a list, a weight, an equal tuple, too many at once.
  Added Add(const wf::advice::Rows& rows);
  // The same of tuples in flight, `width` cells each.
  [[gnu::hot]] Added Add(const wf::advice::Cell* cells, size_t width, size_t rows);

  // Of an empty log: the same as `other`, which has a tuple or a few. False: it has too many.
  [[gnu::hot]] bool CopyFew(const TupleLog& other);

  uint32_t tuples() const { return tuples_; }
  bool empty() const { return tuples_ == 0; }
  uint32_t bytes() const { return used_; }  // but for the head
  // What advice::PackedTuples::Encode would give.
  [[gnu::hot]] size_t EncodedSize() const;
  [[gnu::hot]] char* Encode(char* at) const;

  [[gnu::hot]] void Clear();  // keeps the memory

 private:
  static constexpr uint32_t kFirstTuples = 8, kFirstPlaces = 64, kKept = 4096;
  struct Place {
    uint32_t hash;
    uint32_t begin;  // + 1; 0: free
  };
  struct Text {  // a string that later ones refer to
    uint32_t begin, size;
  };
  [[gnu::hot]] bool AddRow(const wf::advice::Cell* columns, size_t width);
  [[gnu::hot]] bool Encode(const wf::advice::Cell* columns, size_t width);  // behind the end
  [[gnu::hot]] bool EncodeText(std::string_view text, char*& at, uint64_t& hash);
  void MakeRoom(size_t most);
  [[gnu::hot]] bool Known(uint32_t begin, size_t width);
  bool Same(uint32_t a, uint32_t b, size_t width) const;
  std::string_view Canonical(uint32_t& at) const;
  void GrowIndex();

  // Not a vector: its bytes need no zeros before they are written.
  std::unique_ptr<char[]> bytes_;
  uint32_t capacity_ = 0, used_ = 0;
  uint32_t end_ = 0, hash_ = 0;  // of what is being added
  uint32_t tuples_ = 0;
  uint32_t texts_ = 0;
  // Where tuples are, by their hash: the first few one after the other; beyond them all are in a table, open-addressed,
  // half full at most.
  std::unique_ptr<Place[]> table_;
  uint32_t places_ = 0;
  Place first_[kFirstTuples];
  Text text_[kMostTexts];
};

}  // namespace wherefore::client
