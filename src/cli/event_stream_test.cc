#include "cli/event_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wf::cli {
namespace {

TEST(EventStream, EventsComeWholeHoweverTheBytesAreCut) {
  const std::string text =
      ": comment\n\nid: 5\nevent: interval\ndata: {\"a\":1}\n\nevent: end\r\ndata: x\r\ndata: "
      "y\r\n\r\n"
      "event: half\ndata: never";
  for (size_t cut = 1; cut <= text.size(); ++cut) {
    std::vector<std::string> seen;
    EventStreamReader reader([&](std::string_view name, std::string_view data) {
      seen.push_back(std::string(name) + "=" + std::string(data));
      return true;
    });
    for (size_t at = 0; at < text.size(); at += cut) EXPECT_TRUE(reader.Feed(text.substr(at, cut)));
    EXPECT_EQ(seen, (std::vector<std::string>{"interval={\"a\":1}", "end=x\ny"})) << cut;
  }
}

TEST(EventStream, WhoHasEnoughGetsNoMore) {
  int seen = 0;
  EventStreamReader reader([&](std::string_view, std::string_view) { return ++seen < 2; });
  EXPECT_FALSE(reader.Feed("data: 1\n\ndata: 2\n\ndata: 3\n\n"));
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace wf::cli
