// The accounts file (`serve --accounts FILE`, docs/use/security.md): accounts with a token, a password or a
// client certificate, the tenants they may act for, their rights there, and how much each tenant may send and
// keep. It holds hashes, never a secret. Thread safety: pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::security {

constexpr char kDefaultTenant[] = "default";
constexpr char kEveryTenant[] = "*";

struct Account {
  std::string name;
  // Exactly one of these three is set.
  std::string token_sha256;          // 64 hex digits
  std::string password;              // as net::HashPassword writes it
  std::string certificate;           // the common name in a client's certificate
  std::vector<std::string> tenants;  // "*": any. The first is the default when a request names none
  uint8_t rights = 0;                // bits of Right
  std::optional<Nanos> expires_ns;

  bool MayActFor(std::string_view tenant) const;
};

// Absent: no limit.
struct TenantQuotas {
  std::optional<double> spans_per_second, bytes_per_second, questions_per_second;
  std::optional<int64_t> request_bytes, stored_bytes;
};

struct AccountsFile {
  std::vector<Account> accounts;
  std::map<std::string, TenantQuotas> tenants;  // "*": tenants that are not listed
};

// Errors name the file and the line.
Result<AccountsFile> ReadAccounts(std::string_view yaml, const std::string& name);
// Also refuses a file that anybody may write, because anybody could then add an account.
Result<AccountsFile> LoadAccounts(const std::string& path);

// 1 to 64 of A–Z a–z 0–9 . _ - without a leading dot, because a tenant's name becomes a folder's name.
Status CheckTenantName(std::string_view tenant);

}  // namespace wf::security
