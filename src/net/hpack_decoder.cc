#include "net/hpack_decoder.h"

#include <nghttp2/nghttp2.h>

namespace wf::net {
namespace {

// A peer may use a larger table than the default of 4 KiB, after settings that we may not have seen. Room for
// what real servers announce costs nothing until it is used.
constexpr size_t kTableBytes = 1 << 20;
// Limit of one block; a larger one is hostile.
constexpr size_t kMostHeaders = 1000;

}  // namespace

struct HpackDecoder::Impl {
  nghttp2_hd_inflater* inflater = nullptr;
  bool broken = false;
  Impl() {
    broken = nghttp2_hd_inflate_new(&inflater) != 0 ||
             nghttp2_hd_inflate_change_table_size(inflater, kTableBytes) != 0;
  }
  ~Impl() {
    if (inflater != nullptr) nghttp2_hd_inflate_del(inflater);
  }
};

HpackDecoder::HpackDecoder() : impl_(std::make_unique<Impl>()) {}
HpackDecoder::~HpackDecoder() = default;

bool HpackDecoder::Decode(std::string_view block, Headers& headers) {
  headers.clear();
  const auto* in = reinterpret_cast<const uint8_t*>(block.data());
  size_t left = block.size();
  while (!impl_->broken) {
    nghttp2_nv field;
    int flags = 0;
    const ssize_t used = nghttp2_hd_inflate_hd2(impl_->inflater, &field, &flags, in, left, 1);
    if (used < 0 || headers.size() > kMostHeaders) break;
    in += used;
    left -= static_cast<size_t>(used);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      headers.emplace_back(std::string(reinterpret_cast<const char*>(field.name), field.namelen),
                           std::string(reinterpret_cast<const char*>(field.value), field.valuelen));
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
      nghttp2_hd_inflate_end_headers(impl_->inflater);
      return true;
    }
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) break;
  }
  impl_->broken = true;
  return false;
}

}  // namespace wf::net
