// How secrets are stored: tokens, which are random, by a plain hash; passwords, which people choose, by a
// slow one. Thread safety: pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::net {

std::string Sha256Hex(std::string_view text);  // 64 hex digits

// Takes as long for a wrong secret as for a right one of the same length.
bool SameSecret(std::string_view a, std::string_view b);

// "scrypt:LOG2N:R:P:SALT:HASH", the last two in hex, with a new random salt.
Result<std::string> HashPassword(std::string_view password);
// Whether the text is such a hash, with a cost that a server can afford.
Status CheckPasswordHash(std::string_view stored);
// About 10 ms and 4 MB for a hash from HashPassword. False for text that is no such hash.
bool PasswordMatches(std::string_view stored, std::string_view password);

}  // namespace wf::net
