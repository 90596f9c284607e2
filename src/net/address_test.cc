#include "net/address.h"

#include <gtest/gtest.h>

namespace wf::net {
namespace {

TEST(Address, Parses) {
  struct Case {
    const char* text;
    const char* shown;
  } cases[] = {
      {"4317", "127.0.0.1:4317"},         {"0", "127.0.0.1:0"},
      {"0.0.0.0:80", "0.0.0.0:80"},       {"localhost:1", "localhost:1"},
      {"[::1]:4317", "[::1]:4317"},       {"[::]:65535", "[::]:65535"},
      {":4318", "127.0.0.1:4318"},        {"off", "off"},
      {"my-host.x_y:9", "my-host.x_y:9"},
  };
  for (const Case& c : cases) {
    Result<ListenAddress> parsed = ParseListenAddress(c.text);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(ToString(*parsed), c.shown);
    EXPECT_EQ(ToString(*ParseListenAddress(ToString(*parsed))), c.shown);
  }
}

TEST(Address, RefusesWithTheTextAndANextStep) {
  for (const char* text :
       {"", "65536", "-1", "4317x", "host", "host:", "host:70000", "::1:4317", "[::1]", "[::1]4317",
        "[::1", "[host]:1", "a b:1", "http://x:1", "OFF"}) {
    Result<ListenAddress> parsed = ParseListenAddress(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kBadInput);
    EXPECT_NE(parsed.error().message.find("\"" + std::string(text) + "\""), std::string::npos);
    EXPECT_NE(parsed.error().hint.find("[HOST:]PORT"), std::string::npos);
  }
}

TEST(Url, Parses) {
  Result<Url> url = ParseUrl("https://example.org/a/b?c=d");
  ASSERT_TRUE(url.ok());
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->host, "example.org");
  EXPECT_EQ(url->port, 443);
  EXPECT_EQ(url->target, "/a/b?c=d");
  EXPECT_EQ(url->HostHeader(), "example.org");
  url = ParseUrl("http://[::1]:8642");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->target, "/");
  EXPECT_EQ(url->HostHeader(), "[::1]:8642");
  EXPECT_EQ(ParseUrl("http://h?x=1")->target, "/?x=1");
}

TEST(Url, Refuses) {
  for (const char* text :
       {"", "ftp://h/", "http://", "http://:80/", "http://h:0/", "http://h:99999/", "http://u@h/",
        "http://h/ x", "http://h/#f", "http://h\r\n/"}) {
    EXPECT_FALSE(ParseUrl(text).ok()) << text;
  }
}

}  // namespace
}  // namespace wf::net
