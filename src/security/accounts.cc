#include "security/accounts.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/byte_size.h"
#include "lang/common/yaml_reader.h"
#include "net/secret_hash.h"
#include "security/authorize.h"

namespace wf::security {
namespace {

// Errors name the line of the node that is wrong.
struct Reader {
  const std::string& file;

  Error Bad(const lang::YamlNode& node, const std::string& why, const std::string& hint) const {
    return BadInput(file + ": line " + std::to_string(node.line) + ": " + why, hint);
  }
  Result<std::string> Text(const lang::YamlNode& node, const std::string& key) const {
    if (!node.IsScalar() || node.text.empty())
      return Bad(node, key + ": expected a text", "write " + key + ": VALUE");
    return node.text;
  }
  Result<std::vector<std::string>> Texts(const lang::YamlNode& node, const std::string& key) const {
    std::vector<std::string> out;
    if (node.IsScalar()) {
      WF_ASSIGN(std::string one, Text(node, key));
      out.push_back(std::move(one));
      return out;
    }
    if (!node.IsList()) return Bad(node, key + ": expected a list", "write " + key + ": [A, B]");
    for (const lang::YamlNode& item : node.items) {
      WF_ASSIGN(std::string one, Text(item, key));
      out.push_back(std::move(one));
    }
    return out;
  }
  Result<double> Rate(const lang::YamlNode& node, const std::string& key) const {
    char* end = nullptr;
    const double value = node.IsScalar() ? std::strtod(node.text.c_str(), &end) : 0;
    if (!node.IsScalar() || end == node.text.c_str() || *end != '\0' || !(value > 0) ||
        value > 1e15)
      return Bad(node, key + ": expected a number above 0", "write a number, as in 20000");
    return value;
  }
  Result<int64_t> Bytes(const lang::YamlNode& node, const std::string& key) const {
    auto bytes = ParseByteSize(node.text);
    if (!node.IsScalar() || !bytes.ok() || *bytes <= 0)
      return Bad(node, key + ": expected a size", "write a number of bytes, or 8MiB, 20GB");
    return bytes;
  }
  Status TakeRoles(const lang::YamlNode& node, Account& account) const;
  Status TakeTenants(const lang::YamlNode& node, Account& account) const;
  Result<Account> ReadAccount(const lang::YamlNode& node) const;
  Result<TenantQuotas> ReadQuotas(const lang::YamlNode& node) const;
};

Status Reader::TakeRoles(const lang::YamlNode& node, Account& account) const {
  WF_ASSIGN(const auto roles, Texts(node, "roles"));
  const auto right = [](Right r) { return static_cast<uint8_t>(r); };
  for (const std::string& role : roles) {
    if (role == "read") {
      account.rights |= right(Right::kRead);
    } else if (role == "write") {
      account.rights |= right(Right::kWrite);
    } else if (role == "administer") {
      account.rights |= right(Right::kRead) | right(Right::kWrite) | right(Right::kAdminister);
    } else {
      return Bad(node, "\"" + role + "\" is not a role", "write read, write or administer");
    }
  }
  return {};
}

Status Reader::TakeTenants(const lang::YamlNode& node, Account& account) const {
  WF_ASSIGN(account.tenants, Texts(node, "tenants"));
  for (const std::string& tenant : account.tenants) {
    if (tenant == kEveryTenant) continue;
    if (const Status good = CheckTenantName(tenant); !good.ok())
      return Bad(node, good.error().message, good.error().hint);
  }
  return {};
}

Result<Account> Reader::ReadAccount(const lang::YamlNode& node) const {
  if (!node.IsMap())
    return Bad(node, "expected an account", "write - name: NAME, and its other keys below");
  Account account;
  for (const auto& [key, value] : node.members) {
    if (key == "name") {
      WF_ASSIGN(account.name, Text(value, key));
    } else if (key == "token") {
      WF_ASSIGN(const std::string text, Text(value, key));
      const std::string hash = text.rfind("sha256:", 0) == 0 ? text.substr(7) : "";
      if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos)
        return Bad(value, "token: expected sha256: and 64 hex digits, not the token itself",
                   "wherefore accounts new NAME makes a token and its hash");
      account.token_sha256 = hash;
    } else if (key == "password") {
      WF_ASSIGN(account.password, Text(value, key));
      if (const Status good = net::CheckPasswordHash(account.password); !good.ok())
        return Bad(value, "password: " + good.error().message, good.error().hint);
    } else if (key == "certificate") {
      WF_ASSIGN(account.certificate, Text(value, key));
    } else if (key == "tenants") {
      WF_TRY(TakeTenants(value, account));
    } else if (key == "roles") {
      WF_TRY(TakeRoles(value, account));
    } else if (key == "expires") {
      WF_ASSIGN(std::string text, Text(value, key));
      if (text.size() == 10) text += "T00:00:00Z";  // a day means its beginning
      const auto instant = ParseInstant(text, 0);
      if (!instant.ok() || text.find('-') == std::string::npos)
        return Bad(value, "expires: expected a time", "write 2027-01-31 or 2027-01-31T12:00:00Z");
      account.expires_ns = *instant;
    } else {
      return Bad(value, "\"" + key + "\" is not a key of an account",
                 "name, token, password, certificate, tenants, roles and expires are");
    }
  }
  const int secrets = (account.token_sha256.empty() ? 0 : 1) + (account.password.empty() ? 0 : 1) +
                      (account.certificate.empty() ? 0 : 1);
  if (account.name.empty() || account.name.find_first_of(":\r\n") != std::string::npos)
    return Bad(node, "an account needs a name, without colons", "write name: NAME");
  if (secrets != 1)
    return Bad(node, "account " + account.name + ": expected one of token, password, certificate",
               "split it into two accounts");
  if (account.tenants.empty() || account.rights == 0)
    return Bad(node, "account " + account.name + ": tenants or roles are missing",
               "write tenants: [NAME] and roles: [read, write]");
  return account;
}

Result<TenantQuotas> Reader::ReadQuotas(const lang::YamlNode& node) const {
  if (!node.IsMap())
    return Bad(node, "expected the limits of a tenant", "write spans-per-second: 20000, …");
  TenantQuotas quotas;
  for (const auto& [key, value] : node.members) {
    if (key == "spans-per-second") {
      WF_ASSIGN(quotas.spans_per_second, Rate(value, key));
    } else if (key == "bytes-per-second") {
      WF_ASSIGN(const int64_t bytes, Bytes(value, key));
      quotas.bytes_per_second = static_cast<double>(bytes);
    } else if (key == "questions-per-second") {
      WF_ASSIGN(quotas.questions_per_second, Rate(value, key));
    } else if (key == "request-bytes") {
      WF_ASSIGN(quotas.request_bytes, Bytes(value, key));
    } else if (key == "stored-bytes") {
      WF_ASSIGN(quotas.stored_bytes, Bytes(value, key));
    } else {
      return Bad(value, "\"" + key + "\" is not a limit",
                 "spans-per-second, bytes-per-second, questions-per-second, request-bytes and "
                 "stored-bytes are");
    }
  }
  return quotas;
}

}  // namespace

bool Account::MayActFor(std::string_view tenant) const {
  return std::any_of(tenants.begin(), tenants.end(),
                     [&](const std::string& t) { return t == kEveryTenant || t == tenant; });
}

Status CheckTenantName(std::string_view tenant) {
  const bool good = !tenant.empty() && tenant.size() <= 64 && tenant.front() != '.' &&
                    tenant.find_first_not_of(
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
                        std::string_view::npos;
  if (good) return {};
  return BadInput("\"" + std::string(tenant.substr(0, 80)) + "\" is not a name of a tenant",
                  "use 1 to 64 letters, digits, dots, dashes and underscores");
}

Result<AccountsFile> ReadAccounts(std::string_view yaml, const std::string& name) {
  WF_ASSIGN(const lang::YamlNode root, lang::ReadYaml(yaml, name));
  const Reader reader{name};
  if (!root.IsMap())
    return BadInput(name + ": not a file of accounts", "write accounts: and a list below it");
  AccountsFile file;
  std::set<std::string> names, tokens, certificates;
  for (const auto& [key, value] : root.members) {
    if (key == "accounts") {
      if (!value.IsList())
        return reader.Bad(value, "accounts: expected a list", "write - name: NAME");
      for (const lang::YamlNode& item : value.items) {
        WF_ASSIGN(Account account, reader.ReadAccount(item));
        if (!names.insert(account.name).second ||
            (!account.token_sha256.empty() && !tokens.insert(account.token_sha256).second) ||
            (!account.certificate.empty() && !certificates.insert(account.certificate).second))
          return reader.Bad(item, "account " + account.name + ": its name or secret is used twice",
                            "give each account its own");
        file.accounts.push_back(std::move(account));
      }
    } else if (key == "tenants") {
      if (!value.IsMap())
        return reader.Bad(value, "tenants: expected names with limits", "write NAME: and limits");
      for (const auto& [tenant, limits] : value.members) {
        if (tenant != kEveryTenant) {
          if (const Status good = CheckTenantName(tenant); !good.ok())
            return reader.Bad(limits, good.error().message, good.error().hint);
        }
        WF_ASSIGN(file.tenants[tenant], reader.ReadQuotas(limits));
      }
    } else {
      return reader.Bad(value, "\"" + key + "\" is not a key here", "accounts and tenants are");
    }
  }
  return file;
}

Result<AccountsFile> LoadAccounts(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && (facts.st_mode & S_IWOTH) != 0)
    return BadInput("--accounts " + path + ": every user may write to it", "chmod o-w " + path);
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  if (in) content << in.rdbuf();
  if (!in || S_ISDIR(facts.st_mode))
    return EnvironmentError("--accounts " + path + ": cannot be read",
                            "give a YAML file (docs/use/security.md)");
  auto file = ReadAccounts(content.view(), path);
  if (!file.ok()) return BadInput("--accounts " + file.error().message, file.error().hint);
  return file;
}

}  // namespace wf::security
