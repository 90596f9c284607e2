#include "base/hash.h"

#include "base/hash_inline.h"

namespace wf {

using hash::Fold;
using hash::kP0;
using hash::kP1;

[[gnu::hot]] uint64_t HashBytes(std::string_view bytes, uint64_t seed) {
  return HashBytesHere(bytes, seed);
}

void Hasher128::Add(uint64_t value) {
  a_ = Fold(a_ ^ value, kP0);
  b_ = Fold(b_ + value, kP1) + a_;
}

void Hasher128::Add(std::string_view bytes) {
  Add(HashBytes(bytes, a_) ^ bytes.size());
  Add(HashBytes(bytes, b_));
}

Hash128 Hasher128::Finish() const { return {MixBits(a_ ^ kP1), MixBits(b_ ^ kP0)}; }

}  // namespace wf
