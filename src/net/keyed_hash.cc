#include "net/keyed_hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace wf::net {

std::string KeyedHash(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  WF_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest,
                &size) != nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex.push_back("0123456789abcdef"[digest[i] >> 4]);
    hex.push_back("0123456789abcdef"[digest[i] & 15]);
  }
  return hex;
}

}  // namespace wf::net
