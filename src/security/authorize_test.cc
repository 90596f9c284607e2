#include "security/authorize.h"

#include <gtest/gtest.h>

#include "net/secret_hash.h"

namespace wf::security {
namespace {

class AuthorizeTest : public testing::Test {
 protected:
  Authorizer authorizer_{"secret", {"traces.example"}};
  Credentials local_{"", "127.0.0.1:8642", ""};
};

TEST_F(AuthorizeTest, LoopbackReadsAndWritesWithoutAToken) {
  EXPECT_TRUE(authorizer_.Authorize(local_, Right::kRead, HostCheck::kStrict).ok());
  EXPECT_TRUE(authorizer_.Authorize(local_, Right::kWrite, HostCheck::kStrict).ok());
}

TEST_F(AuthorizeTest, AdministeringNeedsTheTokenEvenOnLoopback) {
  EXPECT_FALSE(authorizer_.Authorize(local_, Right::kAdminister, HostCheck::kStrict).ok());
  local_.authorization = "Bearer secret";
  EXPECT_TRUE(authorizer_.Authorize(local_, Right::kAdminister, HostCheck::kStrict).ok());
}

TEST_F(AuthorizeTest, AWrongTokenIsRefusedEvenForReading) {
  for (const char* token : {"Bearer ", "Bearer wrong!", "Bearer secret2"}) {
    local_.authorization = token;
    EXPECT_FALSE(authorizer_.Authorize(local_, Right::kRead, HostCheck::kStrict).ok()) << token;
  }
}

TEST_F(AuthorizeTest, AForeignHostIsRefused) {  // DNS rebinding
  local_.host = "evil.example:8642";
  EXPECT_FALSE(authorizer_.Authorize(local_, Right::kRead, HostCheck::kStrict).ok());
  EXPECT_TRUE(authorizer_.Authorize(local_, Right::kWrite, HostCheck::kAnyHost).ok());
  for (const char* host :
       {"localhost:8642", "LocalHost:8642", "[::1]:8642", "10.1.2.3", "traces.example:443"}) {
    local_.host = host;
    EXPECT_TRUE(authorizer_.Authorize(local_, Right::kRead, HostCheck::kStrict).ok()) << host;
  }
}

TEST_F(AuthorizeTest, AForeignOriginIsRefusedEverywhere) {
  local_.origin = "http://evil.example";
  EXPECT_FALSE(authorizer_.Authorize(local_, Right::kWrite, HostCheck::kAnyHost).ok());
  // And when the Host agrees with it: DNS rebinding against a receiver.
  local_.host = "evil.example";
  EXPECT_FALSE(authorizer_.Authorize(local_, Right::kWrite, HostCheck::kAnyHost).ok());
  local_.host = "127.0.0.1:8642";
  local_.origin = "null";
  EXPECT_FALSE(authorizer_.Authorize(local_, Right::kRead, HostCheck::kStrict).ok());
  local_.origin = "http://127.0.0.1:8642";
  EXPECT_TRUE(authorizer_.Authorize(local_, Right::kRead, HostCheck::kStrict).ok());
}

TEST(EventsOrigins, PagesOfListedOriginsMaySendEventsAndNothingElse) {
  const Authorizer authorizer("secret", {}, {"https://shop.example", "http://localhost:3000"});
  Credentials page{"", "127.0.0.1:8642", "https://shop.example"};
  EXPECT_TRUE(authorizer.Authorize(page, Right::kWrite, HostCheck::kEventPages).ok());
  EXPECT_FALSE(authorizer.Authorize(page, Right::kWrite, HostCheck::kStrict).ok());
  EXPECT_FALSE(authorizer.Authorize(page, Right::kWrite, HostCheck::kAnyHost).ok());
  EXPECT_FALSE(authorizer.Authorize(page, Right::kAdminister, HostCheck::kEventPages).ok());
  for (const char* origin : {"http://shop.example", "https://shop.example:444", "null", "https://",
                             "https://shop.example.evil.example", "https://evil.example"}) {
    page.origin = origin;
    EXPECT_FALSE(authorizer.Authorize(page, Right::kWrite, HostCheck::kEventPages).ok()) << origin;
  }
  page = {"", "evil.example", "https://shop.example"};  // the Host is checked all the same
  EXPECT_FALSE(authorizer.Authorize(page, Right::kWrite, HostCheck::kEventPages).ok());
}

TEST(EventsOrigins, WithoutAListOnlyTheOwnOriginMay) {
  const Authorizer authorizer("secret", {});
  Credentials page{"", "127.0.0.1:8642", "https://shop.example"};
  EXPECT_FALSE(authorizer.Authorize(page, Right::kWrite, HostCheck::kEventPages).ok());
  page.origin = "";
  EXPECT_TRUE(authorizer.Authorize(page, Right::kWrite, HostCheck::kEventPages).ok());
  page.origin = "http://127.0.0.1:8642";
  EXPECT_TRUE(authorizer.Authorize(page, Right::kWrite, HostCheck::kEventPages).ok());
}

TEST(EventsOrigins, WhatNoBrowserSendsIsNoOrigin) {
  for (const char* good : {"https://shop.example", "http://localhost:3000", "http://127.0.0.1:80",
                           "http://[::1]:3000"})
    EXPECT_TRUE(CheckEventsOrigin(good).ok()) << good;
  for (const char* bad : {"", "*", "null", "shop.example", "https://", "https://shop.example/",
                          "https://Shop.example", "ftp://shop.example", "https://*.example"})
    EXPECT_FALSE(CheckEventsOrigin(bad).ok()) << bad;
}

// --- With accounts.

class AccountsAuthorizeTest : public testing::Test {
 protected:
  AccountsAuthorizeTest() {
    Account sender{"sender", net::Sha256Hex("sender-token"), "", "", {"shop"}, kWrite, {}};
    Account old{"old", net::Sha256Hex("old-token"), "", "", {"shop"}, kWrite, Now() - kSecond};
    Account reader{"reader",     net::Sha256Hex("reader-token"), "", "", {"shop", "ops"}, kRead,
                   Now() + kHour};
    Account boss{"boss", "", *net::HashPassword("correct horse"), "", {"*"}, 7, {}};
    Account mesh{"mesh", "", "", "mesh.example", {"mesh"}, kWrite, {}};
    authorizer_.SetAccounts({{sender, old, reader, boss, mesh}, {}});
  }
  Authorization Ask(const std::string& authorization, Right needed, const std::string& tenant = "",
                    const std::string& certificate = "") {
    return authorizer_.Authorize(
        {authorization, "127.0.0.1:1", "", tenant, certificate, "10.0.0.1:77"}, needed,
        HostCheck::kStrict);
  }
  static constexpr uint8_t kRead = static_cast<uint8_t>(Right::kRead);
  static constexpr uint8_t kWrite = static_cast<uint8_t>(Right::kWrite);
  // boss:correct horse, boss:wrong horse, nobody:correct horse
  const std::string boss_ = "Basic Ym9zczpjb3JyZWN0IGhvcnNl";
  const std::string wrong_ = "Basic Ym9zczp3cm9uZyBob3JzZQ==";
  const std::string nobody_ = "Basic bm9ib2R5OmNvcnJlY3QgaG9yc2U=";
  Authorizer authorizer_{"admin", {}};
};

TEST_F(AccountsAuthorizeTest, NobodyIsUnknownButForThePages) {
  EXPECT_EQ(Ask("", Right::kRead).refusal().HttpStatus(), 401);
  EXPECT_EQ(Ask("Digest x", Right::kRead).refusal().HttpStatus(), 401);
  const auto page = Ask("", Right::kNone);
  ASSERT_TRUE(page.ok());
  EXPECT_FALSE(page->Has(Right::kRead));
  EXPECT_FALSE(page->every_tenant);
}

TEST_F(AccountsAuthorizeTest, ATokenIsGoodForItsTenantsAndRights) {
  const auto sender = Ask("Bearer sender-token", Right::kWrite);
  ASSERT_TRUE(sender.ok()) << sender.error().message;
  EXPECT_EQ(sender->tenant, "shop");
  EXPECT_EQ(sender->name, "sender");
  EXPECT_FALSE(sender->every_tenant);
  EXPECT_EQ(Ask("Bearer sender-token", Right::kRead).refusal().HttpStatus(), 403);
  EXPECT_EQ(Ask("Bearer sender-token", Right::kAdminister).refusal().HttpStatus(), 403);
  EXPECT_EQ(Ask("Bearer sender-token", Right::kWrite, "ops").refusal().HttpStatus(), 403);
  EXPECT_EQ(Ask("Bearer sender-token", Right::kWrite, "default").refusal().HttpStatus(), 403);
  EXPECT_TRUE(Ask("bearer sender-token", Right::kWrite, "shop").ok());
  EXPECT_EQ(Ask("Bearer reader-token", Right::kRead)->tenant, "shop");
  EXPECT_EQ(Ask("Bearer reader-token", Right::kRead, "ops")->tenant, "ops");
}

TEST_F(AccountsAuthorizeTest, WrongExpiredAndWithdrawnTokensAreUnknown) {
  for (const char* wrong :
       {"Bearer ", "Bearer sender-toke", "Bearer sender-token2", "Bearer old-token"})
    EXPECT_EQ(Ask(wrong, Right::kWrite).refusal().HttpStatus(), 401) << wrong;
  // The hash that stands in the file is no token.
  EXPECT_FALSE(Ask("Bearer " + net::Sha256Hex("sender-token"), Right::kWrite).ok());
  ASSERT_TRUE(Ask("Bearer sender-token", Right::kWrite).ok());
  authorizer_.SetAccounts({});
  EXPECT_EQ(Ask("Bearer sender-token", Right::kWrite).refusal().HttpStatus(), 401);
}

TEST_F(AccountsAuthorizeTest, ThePasswordOfAnAccount) {
  const auto boss = Ask(boss_, Right::kAdminister, "shop");
  ASSERT_TRUE(boss.ok()) << boss.error().message;
  EXPECT_EQ(boss->tenant, "shop");
  EXPECT_TRUE(boss->every_tenant);
  EXPECT_EQ(Ask(boss_, Right::kRead)->tenant, "default");
  EXPECT_EQ(Ask(wrong_, Right::kRead).refusal().HttpStatus(), 401);
  EXPECT_EQ(Ask(nobody_, Right::kRead).refusal().HttpStatus(), 401);
  EXPECT_EQ(Ask("Basic !", Right::kRead).refusal().HttpStatus(), 401);
}

TEST_F(AccountsAuthorizeTest, GuessingPasswordsIsSlowedDownAndWhoIsKnownIsNot) {
  ASSERT_TRUE(Ask(boss_, Right::kRead).ok());
  int late = 0;
  for (int i = 0; i < 50; ++i) {
    const auto answer = Ask(wrong_, Right::kRead);
    ASSERT_FALSE(answer.ok());
    late += answer.refusal().kind == Refusal::Kind::kTooMuch ? 1 : 0;
  }
  EXPECT_GE(late, 20);
  EXPECT_TRUE(Ask(boss_, Right::kRead).ok());
}

TEST_F(AccountsAuthorizeTest, ACertificateIsAnAccountToo) {
  EXPECT_EQ(Ask("", Right::kWrite, "", "mesh.example")->tenant, "mesh");
  EXPECT_FALSE(Ask("", Right::kWrite, "shop", "mesh.example").ok());
  EXPECT_FALSE(Ask("", Right::kWrite, "", "other.example").ok());
  EXPECT_FALSE(Ask("Bearer wrong", Right::kWrite, "", "mesh.example").ok());
}

TEST_F(AccountsAuthorizeTest, TheTokenOfServerJsonIsGoodForEverything) {
  const auto admin = Ask("Bearer admin", Right::kAdminister, "anyone");
  ASSERT_TRUE(admin.ok());
  EXPECT_EQ(admin->tenant, "anyone");
  EXPECT_EQ(Ask("Bearer admin", Right::kRead)->tenant, "default");
}

TEST_F(AccountsAuthorizeTest, NoTenantIsCalledLikeAPath) {
  for (const char* name : {"..", "../shop", "a/b", "shop|ops", "shop,ops", "*"})
    EXPECT_FALSE(Ask("Bearer admin", Right::kRead, name).ok()) << name;
}

TEST_F(AuthorizeTest, WithoutAccountsTheHeaderNamesTheTenant) {
  EXPECT_EQ(authorizer_.Authorize(local_, Right::kRead, HostCheck::kStrict)->tenant, "default");
  local_.tenant = "shop";
  EXPECT_EQ(authorizer_.Authorize(local_, Right::kRead, HostCheck::kStrict)->tenant, "shop");
  local_.tenant = "../shop";
  EXPECT_FALSE(authorizer_.Authorize(local_, Right::kRead, HostCheck::kStrict).ok());
}

TEST(Credentials, AHeaderThatComesTwiceCountsForNothing) {
  net::HttpRequest request;
  request.headers.Add("Host", "127.0.0.1:1");
  request.headers.Add("X-Scope-OrgID", "shop");
  const Authorizer authorizer("secret", {});
  EXPECT_TRUE(authorizer.Authorize(CredentialsOf(request), Right::kRead, HostCheck::kStrict).ok());
  request.headers.Add("x-scope-orgid", "ops");
  EXPECT_FALSE(authorizer.Authorize(CredentialsOf(request), Right::kRead, HostCheck::kStrict).ok());
  net::HttpRequest tokens;
  tokens.headers.Add("Host", "127.0.0.1:1");
  tokens.headers.Add("Authorization", "Bearer secret");
  tokens.headers.Add("Authorization", "Bearer other");
  EXPECT_FALSE(authorizer.Authorize(CredentialsOf(tokens), Right::kRead, HostCheck::kStrict).ok());
}

TEST(RandomToken, IsLongAndDiffers) {
  const std::string a = *RandomToken(), b = *RandomToken();
  EXPECT_EQ(a.size(), 64u);
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace wf::security
