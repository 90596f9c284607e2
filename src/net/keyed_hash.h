// HMAC-SHA256 (RFC 2104): shows a holder of the key that the sender of the text also has the key.
#pragma once

#include <string>
#include <string_view>

namespace wf::net {

std::string KeyedHash(std::string_view key, std::string_view text);  // 64 hex digits

}  // namespace wf::net
