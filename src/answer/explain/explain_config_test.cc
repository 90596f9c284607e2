#include "answer/explain/explain_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::answer {
namespace {

using ::testing::HasSubstr;

TEST(ExplainConfig, ReadsResourcesAndWorkers) {
  const auto read = ReadExplainConfig(
      "resources:\n"
      "  - name: table\n"
      "    service: storage\n"
      "    operation: PUT /put\n"
      "    attribute: db.collection.name\n"
      "    servers: 2\n"
      "  - name: printer\n"
      "workers:\n"
      "  - service: compute\n"
      "    workers: 64\n"
      "    kind: asynchronous\n",
      "rules");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->resources.size(), 2u);
  EXPECT_EQ(read->resources[0].name, "table");
  EXPECT_EQ(read->resources[0].service, "storage");
  EXPECT_EQ(read->resources[0].operation, "PUT /put");
  EXPECT_EQ(read->resources[0].attribute, "db.collection.name");
  EXPECT_EQ(read->resources[0].servers, 2);
  EXPECT_EQ(read->resources[1].name, "printer");
  EXPECT_FALSE(read->resources[1].servers);
  ASSERT_EQ(read->workers.size(), 1u);
  EXPECT_EQ(read->workers[0].service, "compute");
  EXPECT_EQ(read->workers[0].workers, 64);
  EXPECT_EQ(read->workers[0].kind, provenance::ServerKind::kAsynchronous);
  EXPECT_TRUE(ReadExplainConfig("", "rules").ok());
}

TEST(ExplainConfig, AMistakeIsNamedWithItsLine) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"locks: []", "rules: line 1: \"locks\" is neither resources nor workers"},
      {"resources: 5", "rules: line 1: resources is not a list"},
      {"resources:\n  - service: a", "rules: line 2: a resource has no name"},
      {"resources:\n  - name: a\n    size: 3", "rules: line 3: a resource has no \"size\""},
      {"resources:\n  - name: a\n    servers: 0",
       "rules: line 3: servers: \"0\" is not a whole number"},
      {"workers:\n  - workers: 2", "rules: line 2: workers have no service"},
      {"workers:\n  - service: a\n    kind: busy",
       "rules: line 3: \"busy\" is neither synchronous nor asynchronous"},
      {"workers:\n  - 3", "rules: line 2: an entry of workers is not a map"},
  };
  for (const auto& one : cases) {
    const auto read = ReadExplainConfig(one.text, "rules");
    ASSERT_FALSE(read.ok()) << one.text;
    EXPECT_EQ(read.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(read.error().message, HasSubstr(one.error));
  }
}

}  // namespace
}  // namespace wf::answer
