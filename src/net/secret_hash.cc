#include "net/secret_hash.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <charconv>
#include <optional>
#include <vector>

namespace wf::net {
namespace {

constexpr uint64_t kLog2N = 12, kR = 8, kP = 1;  // 4 MB
constexpr uint64_t kMostBytes = 64 << 20;        // of memory, for one check
constexpr size_t kSaltBytes = 16, kHashBytes = 32;

std::string Hex(const unsigned char* bytes, size_t size) {
  std::string hex;
  for (size_t i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

std::optional<std::string> FromHex(std::string_view hex) {
  std::string bytes;
  if (hex.empty() || hex.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < hex.size(); i += 2) {
    unsigned value = 0;
    const auto read = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    if (read.ec != std::errc() || read.ptr != hex.data() + i + 2) return std::nullopt;
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

struct Scrypt {
  uint64_t log2_n = kLog2N, r = kR, p = kP;
  std::string salt, hash;
};

std::optional<std::string> Derive(const Scrypt& how, std::string_view password) {
  std::string out(kHashBytes, '\0');
  if (EVP_PBE_scrypt(password.data(), password.size(),
                     reinterpret_cast<const unsigned char*>(how.salt.data()), how.salt.size(),
                     uint64_t{1} << how.log2_n, how.r, how.p, kMostBytes + (1 << 20),
                     reinterpret_cast<unsigned char*>(out.data()), out.size()) != 1)
    return std::nullopt;
  return out;
}

std::optional<Scrypt> Parse(std::string_view stored) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t colon = stored.find(':');
    parts.push_back(stored.substr(0, colon));
    if (colon == std::string_view::npos) break;
    stored.remove_prefix(colon + 1);
  }
  if (parts.size() != 6 || parts[0] != "scrypt") return std::nullopt;
  Scrypt out;
  const auto number = [](std::string_view text, uint64_t& value) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() && value > 0;
  };
  if (!number(parts[1], out.log2_n) || !number(parts[2], out.r) || !number(parts[3], out.p) ||
      out.log2_n < 10 || out.log2_n > 24 || out.r > 64 || out.p > 4 ||
      (uint64_t{128} << out.log2_n) * out.r > kMostBytes)
    return std::nullopt;
  auto salt = FromHex(parts[4]), hash = FromHex(parts[5]);
  if (!salt || salt->size() < 8 || !hash || hash->size() != kHashBytes) return std::nullopt;
  out.salt = std::move(*salt);
  out.hash = std::move(*hash);
  return out;
}

}  // namespace

std::string Sha256Hex(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return Hex(digest, sizeof digest);
}

bool SameSecret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<std::string> HashPassword(std::string_view password) {
  Scrypt how;
  how.salt.resize(kSaltBytes);
  if (RAND_bytes(reinterpret_cast<unsigned char*>(how.salt.data()), kSaltBytes) != 1)
    return EnvironmentError("password: no random bytes from the system");
  const auto hash = Derive(how, password);
  if (!hash) return EnvironmentError("password: scrypt failed", "is memory short?");
  const auto hex = [](const std::string& bytes) {
    return Hex(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  };
  return fmt::format("scrypt:{}:{}:{}:{}:{}", how.log2_n, how.r, how.p, hex(how.salt), hex(*hash));
}

Status CheckPasswordHash(std::string_view stored) {
  if (Parse(stored)) return {};
  return BadInput("not a password's hash of the form scrypt:LOG2N:R:P:SALT:HASH (at most 64 MB)",
                  "make one with: wherefore accounts new NAME --password-file FILE");
}

bool PasswordMatches(std::string_view stored, std::string_view password) {
  const auto how = Parse(stored);
  if (!how) return false;
  const auto hash = Derive(*how, password);
  return hash && SameSecret(*hash, how->hash);
}

}  // namespace wf::net
