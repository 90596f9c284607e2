#include "live/event_pages.h"

#include <gtest/gtest.h>

namespace wf::live {
namespace {

// The headers of the answer to this request.
std::string AnswerHeaders(std::string method, std::string path, std::string origin) {
  const security::Authorizer authorizer("secret", {}, {"https://shop.example"});
  const net::HttpHandler handler =
      ReadableByEventPages(authorizer, [](net::HttpRequest, net::HttpResponder respond) {
        respond({200, {}, "{}"});
      });
  net::HttpRequest request;
  request.method = std::move(method);
  request.path = std::move(path);
  if (!origin.empty()) request.headers.Add("origin", origin);
  std::string out;
  handler(std::move(request), net::HttpResponder([&out](net::HttpResponse answer) {
            for (const auto& [name, value] : answer.headers) out += name + "=" + value + ";";
          }));
  return out;
}

TEST(EventPages, OnlyAListedSiteReadsTheAnswerAndOnlyOfSendingEvents) {
  EXPECT_EQ(AnswerHeaders("POST", "/api/v1/events", "https://shop.example"),
            "Vary=Origin;Access-Control-Allow-Origin=https://shop.example;");
  EXPECT_EQ(AnswerHeaders("POST", "/api/v1/events", "https://evil.example"), "Vary=Origin;");
  EXPECT_EQ(AnswerHeaders("POST", "/api/v1/events", ""), "");
  EXPECT_EQ(AnswerHeaders("GET", "/api/v1/events", "https://shop.example"), "");
  EXPECT_EQ(AnswerHeaders("POST", "/api/v1/import", "https://shop.example"), "");
  EXPECT_EQ(AnswerHeaders("GET", "/api/v1/traces", "https://shop.example"), "");
}

}  // namespace
}  // namespace wf::live
