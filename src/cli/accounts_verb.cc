// `wherefore accounts new NAME`: a new token, or the hash of a password, as an entry for the file of `serve --accounts`.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "base/nanos.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "net/secret_hash.h"
#include "security/accounts.h"
#include "security/authorize.h"

namespace wf::cli {
namespace {

struct AccountsFlags {
  std::string action, argument;
  std::vector<std::string> tenants = {security::kDefaultTenant};
  std::vector<std::string> roles = {"read"};
  std::string expires, password_file;
};

Result<std::string> ReadPassword(const std::string& path) {
  std::string password;
  if (path == "-") {
    std::getline(std::cin, password);
  } else {
    std::ifstream in(path);
    if (!in)
      return EnvironmentError(
          "--password-file " + path + ": cannot be read",
          "give a file whose first line is the password, or - for standard input");
    std::getline(in, password);
  }
  if (!password.empty() && password.back() == '\r') password.pop_back();
  if (password.size() < 8)
    return BadInput("--password-file: a password has at least 8 characters", "choose a longer one");
  return password;
}

std::string Listed(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items)
    out += (out.size() > 1 ? ", " : "") + (item == security::kEveryTenant ? "\"*\"" : item);
  return out + "]";
}

Status New(const AccountsFlags& flags, const CommonFlags& common) {
  std::string token, secret;
  if (flags.password_file.empty()) {
    WF_ASSIGN(token, security::RandomToken());
    secret = "token: sha256:" + net::Sha256Hex(token);
  } else {
    WF_ASSIGN(const std::string password, ReadPassword(flags.password_file));
    WF_ASSIGN(const std::string hash, net::HashPassword(password));
    secret = "password: " + hash;
  }
  JsonWriter name;
  name.String(flags.argument);
  std::string entry = "  - name: " + name.Take() + "\n    " + secret +
                      "\n    tenants: " + Listed(flags.tenants) +
                      "\n    roles: " + Listed(flags.roles) + "\n";
  if (!flags.expires.empty()) entry += "    expires: " + flags.expires + "\n";
  // What the server would refuse is refused here.
  WF_TRY(security::ReadAccounts("accounts:\n" + entry, "accounts new"));
  if (common.format == "json") {
    JsonWriter json;
    json.BeginObject().Field("name", flags.argument);
    json.Key("token");
    token.empty() ? json.Null() : json.String(token);
    json.Field("entry", entry).EndObject();
    return Print(json.Take() + "\n");
  }
  std::string text;
  if (!token.empty()) text += "token, shown this once: " + token + "\n\n";
  return Print(text + "add it below \"accounts:\" in the file of serve --accounts:\n" + entry);
}

Status Check(const AccountsFlags& flags, const CommonFlags& common) {
  WF_ASSIGN(const security::AccountsFile file, security::LoadAccounts(flags.argument));
  if (common.format == "json") {
    JsonWriter json;
    json.BeginObject().Field("accounts", static_cast<int64_t>(file.accounts.size()));
    json.Field("tenants", static_cast<int64_t>(file.tenants.size())).EndObject();
    return Print(json.Take() + "\n");
  }
  return Print(std::to_string(file.accounts.size()) + " accounts, limits of " +
               std::to_string(file.tenants.size()) + " tenants\n");
}

}  // namespace

Verb AddAccounts(CLI::App& root) {
  Verb verb = MakeVerb(root, "accounts", "Make tokens and accounts for serve --accounts");
  const auto flags = std::make_shared<AccountsFlags>();
  verb.app
      ->add_option("ACTION", flags->action, "new: make a token and its entry; check: check a file")
      ->required()
      ->check(CLI::IsMember({"new", "check"}));
  verb.app->add_option("NAME", flags->argument, "name of the new account; for check: the file")
      ->required();
  verb.app
      ->add_option("--tenants", flags->tenants,
                   "tenants it may act for, the default first; * is any")
      ->delimiter(',')
      ->capture_default_str();
  verb.app->add_option("--roles", flags->roles, "read, write, administer")
      ->delimiter(',')
      ->capture_default_str();
  verb.app->add_option("--expires", flags->expires, "2027-01-31, or with a time");
  verb.app->add_option(
      "--password-file", flags->password_file,
      "hash the password in this file's first line instead of making a token; -: standard input");
  verb.run = [flags, common = verb.common] {
    return flags->action == "new" ? New(*flags, *common) : Check(*flags, *common);
  };
  return verb;
}

}  // namespace wf::cli
