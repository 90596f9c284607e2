// The LZ4 block format, decoded: sequences of literals and of copies from what was decoded before. Our own
// code, because it is short and must never read or write outside its buffers, whatever a damaged file
// contains.
#pragma once

#include <string>
#include <string_view>

namespace wf::recorder {

// Whether `block` decodes to exactly `size` bytes; `out` is replaced.
bool DecodeLz4Block(std::string_view block, size_t size, std::string& out);

}  // namespace wf::recorder
