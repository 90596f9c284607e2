#include "server/authorize.h"

#include <gtest/gtest.h>

namespace wf {
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
  local_.host =
      "evil.example";  // and when the Host agrees with it: DNS rebinding against a receiver
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

TEST(RandomToken, IsLongAndDiffers) {
  const std::string a = *RandomToken(), b = *RandomToken();
  EXPECT_EQ(a.size(), 64u);
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace wf
