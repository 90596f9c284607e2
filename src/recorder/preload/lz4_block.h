// Compresses one block in the LZ4 block format, which any LZ4 library reads. Implemented here because no
// library may be linked into other people's programs.
#pragma once

#include <cstdint>

namespace wf::recorder {

constexpr uint32_t Lz4Bound(uint32_t size) { return size + size / 255 + 16; }

// `table` is scratch space of kLz4TableSize entries. Returns the number of bytes written to `out`, which has
// room for Lz4Bound(size).
constexpr uint32_t kLz4TableSize = 8192;
uint32_t CompressLz4(const uint8_t* in, uint32_t size, uint8_t* out, uint32_t* table);

}  // namespace wf::recorder
