// The state of DISTINCT: the hashes of up to 1,000 values, then a HyperLogLog sketch. 64-bit hashes of a thousand values
// collide with a chance of 3e-14; 2^16 registers have a standard error of 0.41 %, so 2 % is five of them away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "advice/wire.h"

namespace wf::advice {

class Distinct {
 public:
  static constexpr size_t kMaxExact = 1'000;

  void Add(uint64_t hash);
  void Merge(const Distinct& other);
  uint64_t Estimate() const;

  void Encode(Writer& out) const;
  bool Decode(Reader& in);

 private:
  static constexpr unsigned kIndexBits = 16;
  static constexpr size_t kRegisters = size_t{1} << kIndexBits;
  // A thousand hashes fall into fewer registers than this only if someone chose them: bytes that say so are refused,
  // because a few of them would make us allocate all registers.
  static constexpr size_t kMinUsedRegisters = 750;

  void AddToSketch(uint64_t hash);
  void Coarsen();

  std::vector<uint64_t> hashes_;    // ascending
  std::vector<uint8_t> registers_;  // empty while exact
};

}  // namespace wf::advice
