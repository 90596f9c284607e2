// Tuples of numbers, the commonest thing that is packed, kept as the bytes that will travel: packing encodes, serialising
// copies. The bytes are what advice::PackedTuples writes for the same bag (advice/wire.h), so receivers know no
// difference. It holds distinct tuples of weight 1 only; whoever packs anything else turns it into PackedTuples first.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "advice/packed_tuples.h"

namespace wherefore::client {

class NumberLog {
 public:
  enum class Added : uint8_t { kAdded, kNotForMe };
  // All of `rows` or nothing. kNotForMe: a string, a weight, an equal tuple.
  Added Add(const wf::advice::Rows& rows);

  uint32_t tuples() const { return tuples_; }
  bool empty() const { return tuples_ == 0; }
  uint32_t bytes() const { return used_; }  // but for the head
  // What advice::PackedTuples::Encode would give.
  size_t EncodedSize() const;
  char* Encode(char* at) const;
  wf::advice::PackedTuples ToPackedTuples(const wf::advice::Slot& rule) const;

 private:
  static constexpr uint32_t kFirstPlaces = 16;
  struct Place {
    uint32_t hash = 0;
    uint32_t begin = 0;  // + 1; 0: free
  };
  bool Encode(const wf::advice::Value* columns, size_t width);  // behind the end
  bool Known(uint32_t begin, uint32_t end);
  void GrowIndex();

  // Not a vector: its bytes need no zeros before they are written.
  std::unique_ptr<char[]> bytes_;
  uint32_t capacity_ = 0, used_ = 0;
  uint32_t end_ = 0, hash_ = 0;  // of what is being added
  uint32_t tuples_ = 0;
  // Where tuples are, by their hash; open-addressed, half full at most. The first few need no allocation.
  uint32_t places_ = kFirstPlaces;
  Place first_places_[kFirstPlaces];
  std::unique_ptr<Place[]> more_places_;
};

}  // namespace wherefore::client
