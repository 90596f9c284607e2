#include "recorder/preload/lz4_block.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace wf::recorder {
namespace {

// By the description of the block format, with every bound checked. Empty if it is not one.
std::string Decompress(const std::string& in, size_t size) {
  std::string out;
  size_t at = 0;
  const auto length_of = [&](size_t nibble) {
    size_t length = nibble;
    if (nibble == 15) {
      uint8_t more;
      do {
        if (at >= in.size()) return size_t{1} << 40;
        more = static_cast<uint8_t>(in[at++]);
        length += more;
      } while (more == 255);
    }
    return length;
  };
  while (at < in.size()) {
    const uint8_t token = static_cast<uint8_t>(in[at++]);
    const size_t literals = length_of(token >> 4);
    if (literals > in.size() - at) return {};
    out.append(in, at, literals);
    at += literals;
    if (at == in.size()) return out.size() == size ? out : std::string();
    if (in.size() - at < 2) return {};
    const size_t offset =
        static_cast<uint8_t>(in[at]) | static_cast<size_t>(static_cast<uint8_t>(in[at + 1])) << 8;
    at += 2;
    const size_t match = length_of(token & 15) + 4;
    if (offset == 0 || offset > out.size() || match > size - out.size()) return {};
    // The last match ends five bytes before the end, and begins twelve before it.
    if (out.size() + match + 5 > size || out.size() + 12 > size) return {};
    for (size_t i = 0; i < match; ++i) out.push_back(out[out.size() - offset]);
  }
  return {};
}

std::string Compress(const std::string& in) {
  static uint32_t table[kLz4TableSize];
  std::string out(Lz4Bound(static_cast<uint32_t>(in.size())), '\0');
  const uint32_t size =
      CompressLz4(reinterpret_cast<const uint8_t*>(in.data()), static_cast<uint32_t>(in.size()),
                  reinterpret_cast<uint8_t*>(out.data()), table);
  EXPECT_LE(size, out.size());
  out.resize(size);
  return out;
}

TEST(Lz4Block, EmptyIsOneToken) { EXPECT_EQ(Compress("").size(), 1u); }

TEST(Lz4Block, RecordsThatRepeatShrink) {
  std::string in;
  for (uint64_t i = 0; i < 4000; ++i) {
    const uint64_t record[8] = {0x0000004000010002, 7,           1000 * i, 1000 * i, 0,
                                0x55550001,         0x300000007, i};
    in.append(reinterpret_cast<const char*>(record), sizeof(record));
  }
  const std::string out = Compress(in);
  EXPECT_LT(out.size(), in.size() / 2);
  EXPECT_EQ(Decompress(out, in.size()), in);
}

TEST(Lz4Block, AMatchFurtherThan64KiBIsNotTaken) {
  std::string in(70'000, 'a');
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<char>((i * 2654435761u) >> 13);
  in += in.substr(0, 200);
  EXPECT_EQ(Decompress(Compress(in), in.size()), in);
}

RC_GTEST_PROP(Lz4Block, EveryBlockReadsBack, ()) {
  // Pieces that repeat, among bytes that do not.
  std::string in;
  const auto pieces =
      *rc::gen::container<std::vector<std::string>>(rc::gen::arbitrary<std::string>());
  const auto order = *rc::gen::container<std::vector<unsigned>>(rc::gen::inRange(0u, 1000u));
  for (const unsigned one : order) {
    if (!pieces.empty()) in += pieces[one % pieces.size()];
    if (one % 7 == 0) in.append(one, static_cast<char>(one));
  }
  RC_ASSERT(Decompress(Compress(in), in.size()) == in);
}

}  // namespace
}  // namespace wf::recorder
