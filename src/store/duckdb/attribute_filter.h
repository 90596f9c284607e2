// Which blocks of a segment may hold an attribute's value, and which segments may hold a trace.
//
// Attribute filter: (key, value) is hashed; the hash chooses one of 64 buckets; a bucket holds one small Bloom array
// for each block of 2,048 rows. A search reads one bucket of each segment, about 15 kB,
// and learns which blocks to look at. Nine bits and five probes per entry: about 1.4% of blocks are looked at in vain.
//
// Trace filter: all trace ids of a segment in one Bloom array of cache lines, 32 bits an id, kept in memory (0.5
// bytes per span): a look-up opens only segments that have the trace, and about 0.002% of the others. So sharp because
// every trace written is looked for in all earlier segments (flush.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "model/packed.h"

namespace wf::store::duckdb {

constexpr uint32_t kFilterBuckets = 64;

inline uint64_t FilterKeyHash(std::string_view key) { return HashBytes(key, 0x6b6579); }
inline uint64_t FilterTextHash(uint64_t key_hash, std::string_view text) {
  return HashBytes(text, key_hash);
}
inline uint64_t FilterNumberHash(uint64_t key_hash, uint64_t bits, ValueType type) {
  return MixBits(key_hash ^ MixBits(bits + static_cast<uint64_t>(type) * 0x9E3779B97F4A7C15ull));
}
// Texts and ids by their bytes, numbers by their bits and type, lists by their text.
uint64_t FilterHash(uint64_t key_hash, const Value& value);
// Every hash under which a value that reads as `text` may stand.
std::vector<uint64_t> FilterHashesOfText(std::string_view key, std::string_view text);

inline uint32_t FilterBucket(uint64_t hash) { return static_cast<uint32_t>(hash >> 58); }

class AttributeFilter {
 public:
  // `entries`: distinct values expected in one block.
  AttributeFilter(size_t blocks, size_t entries);
  void Add(size_t block, uint64_t hash);
  // Bucket after bucket, each block after block: a bucket is one 64th of the bytes.
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bits_.data()), bits_.size() * 8};
  }

 private:
  size_t blocks_, words_;  // words of one array
  std::vector<uint64_t> bits_;
};

// Sets may[block] for each of `blocks` whose array in this bucket may hold the hash.
void MarkBlocks(std::string_view bucket, size_t blocks, uint64_t hash, std::vector<bool>& may);

class TraceFilter {
 public:
  TraceFilter() = default;
  explicit TraceFilter(size_t traces);
  explicit TraceFilter(std::string_view stored);
  void Add(TraceId id);
  bool MayHave(TraceId id) const;
  std::string_view bytes() const;

 private:
  std::vector<uint64_t> bits_;  // lines of eight words
};

}  // namespace wf::store::duckdb
