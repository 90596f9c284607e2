#include "security/accounts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "net/secret_hash.h"
#include "security/authorize.h"

namespace wf::security {
namespace {

const std::string kHash = net::Sha256Hex("shop-token");

std::string Entry(const std::string& more) {
  return "accounts:\n  - name: shop\n    token: sha256:" + kHash + "\n" + more;
}

TEST(Accounts, AFileIsReadWhole) {
  const auto file = ReadAccounts(Entry("    tenants: [shop, \"*\"]\n"
                                       "    roles: [write]\n"
                                       "    expires: 2027-01-31\n"
                                       "  - name: ada\n"
                                       "    certificate: ada.example\n"
                                       "    tenants: ops\n"
                                       "    roles: administer\n"
                                       "tenants:\n"
                                       "  shop:\n"
                                       "    spans-per-second: 20000\n"
                                       "    bytes-per-second: 20MB\n"
                                       "    questions-per-second: 2.5\n"
                                       "    request-bytes: 8MiB\n"
                                       "    stored-bytes: 50GB\n"
                                       "  \"*\": {spans-per-second: 10}\n"),
                                 "file");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->accounts.size(), 2u);
  const Account& shop = file->accounts[0];
  EXPECT_EQ(shop.token_sha256, kHash);
  EXPECT_EQ(shop.rights, static_cast<uint8_t>(Right::kWrite));
  EXPECT_EQ(shop.expires_ns, *ParseInstant("2027-01-31T00:00:00Z", 0));
  EXPECT_TRUE(shop.MayActFor("any"));
  const Account& ada = file->accounts[1];
  EXPECT_TRUE(ada.MayActFor("ops"));
  EXPECT_FALSE(ada.MayActFor("shop"));
  EXPECT_EQ(ada.rights, 7);  // an administrator may also read and write
  EXPECT_EQ(file->tenants.at("shop").bytes_per_second, 20e6);
  EXPECT_EQ(file->tenants.at("shop").request_bytes, 8 << 20);
  EXPECT_EQ(file->tenants.at("*").spans_per_second, 10);
}

TEST(Accounts, WhatIsWrongIsNamedWithItsLine) {
  const std::string rest = "    tenants: [shop]\n    roles: [read]\n";
  for (const auto& [text, word] : std::vector<std::pair<std::string, std::string>>{
           {"accounts: 3\n", "line 1"},
           {"users: []\n", "users"},
           {Entry("    tenants: [shop]\n"), "roles are missing"},
           {Entry("    roles: [read]\n"), "tenants or roles"},
           {Entry("    tenants: [../etc]\n    roles: [read]\n"), "../etc"},
           {Entry("    tenants: [shop]\n    roles: [root]\n"), "\"root\" is not a role"},
           {Entry(rest + "    colour: red\n"), "colour"},
           {Entry(rest + "    expires: soon\n"), "expires"},
           {Entry(rest + "    password: secret\n"), "password"},
           {Entry(rest + "    certificate: also.example\n"), "one of token"},
           {Entry(rest + "  - name: shop\n    certificate: x\n" + rest), "is used twice"},
           {"accounts:\n  - name: a\n    token: shop-token\n" + rest, "not the token itself"},
           {"accounts:\n  - token: sha256:" + kHash + "\n" + rest, "name"},
           {"tenants:\n  shop: {spans-per-second: -1}\n", "spans-per-second"},
           {"tenants:\n  shop: {speed: 1}\n", "speed"},
           {"tenants:\n  \"a/b\": {}\n", "a/b"},
       }) {
    const auto file = ReadAccounts(text, "file");
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_NE(file.error().message.find(word), std::string::npos) << file.error().message;
    EXPECT_EQ(file.error().message.find("shop-token"), std::string::npos) << file.error().message;
  }
}

TEST(Accounts, AFileThatAnybodyMayWriteIsRefused) {
  const std::string path = testing::TempDir() + "/wherefore_accounts_" + std::to_string(::getpid());
  std::ofstream(path) << Entry("    tenants: [shop]\n    roles: [read]\n");
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_FALSE(LoadAccounts(path).ok());
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_TRUE(LoadAccounts(path).ok());
  ::unlink(path.c_str());
  EXPECT_FALSE(LoadAccounts(path).ok());
  EXPECT_FALSE(LoadAccounts(testing::TempDir()).ok());
}

TEST(TenantNames, AreNamesOfFoldersToo) {
  for (const char* good : {"default", "shop-1", "a.b_c", "X"})
    EXPECT_TRUE(CheckTenantName(good).ok()) << good;
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string(".hidden"),
        std::string("a/b"), std::string("a b"), std::string("a|b"), std::string("ä"),
        std::string("a\0b", 3), std::string(65, 'a'), std::string("*"), std::string("a\r\nb")})
    EXPECT_FALSE(CheckTenantName(bad).ok()) << bad;
}

}  // namespace
}  // namespace wf::security
