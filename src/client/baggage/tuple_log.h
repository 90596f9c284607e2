// Tuples kept as the bytes that will travel: packing encodes, serialising copies. For what is packed most: numbers and
// short strings. The bytes are what advice::PackedTuples writes for the same bag (advice/wire.h), so receivers know no
// difference. It holds distinct tuples of weight 1 only, and no more bytes than may travel; whoever packs anything else
// turns it into PackedTuples first.
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
  // All of `rows` or nothing. kNotForMe: a long string, a list, a weight, an equal tuple, too many at once, too much.
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
  static constexpr uint32_t kFirstTuples = 8, kKept = 4096, kMostBytes = 0xFFFF;
  struct Noted {
    uint16_t hash, begin;
  };
  struct Text {  // a string that later ones refer to
    uint32_t begin, size;
  };
  // Of columns as cells or as values.
  template <typename Column>
  Added AddRows(const Column* columns, size_t width, size_t rows);
  template <typename Column>
  bool AddRow(const Column* columns, size_t width);
  // Behind the end; returns the new one, or null.
  template <typename Column>
  char* Encode(const Column* columns, size_t width, uint16_t& hash);
  [[gnu::hot]] bool EncodeText(std::string_view text, char*& at, uint64_t& hash);
  bool MakeRoom(size_t most);               // false: it would be too much
  bool Known(uint16_t hash, size_t width);  // what was encoded last; noted if not
  bool Same(uint32_t a, uint32_t b, size_t width) const;
  std::string_view Canonical(uint32_t& at) const;
  void GrowIndex();
  uint16_t& FreePlace(uint16_t hash);

  // Not a vector: its bytes need no zeros before they are written.
  std::unique_ptr<char[]> bytes_;
  uint32_t capacity_ = 0, used_ = 0;
  uint32_t tuples_ = 0;
  uint32_t texts_ = 0;
  // Where tuples are, and their hashes: the first few one after the other, to be looked through; beyond them all are in
  // `noted_`, and found by a table of their numbers (+ 1; 0: free), open-addressed. Small, and nearly empty: a table has
  // to be zeroed, and every place that is taken is a branch that nobody foresees.
  Noted first_[kFirstTuples];
  std::unique_ptr<uint16_t[]> table_;
  std::unique_ptr<Noted[]> noted_;
  uint32_t places_ = 0, room_ = 0;  // of the table; of `noted_`
  Text text_[kMostTexts];
};

}  // namespace wherefore::client
