// HMAC-SHA256 (RFC 2104): whoever knows the key can tell that the text is from somebody who knows it too.
#pragma once

#include <string>
#include <string_view>

namespace wf::net {

std::string KeyedHash(std::string_view key, std::string_view text);  // 64 hex digits

}  // namespace wf::net
