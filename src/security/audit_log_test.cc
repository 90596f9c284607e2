#include "security/audit_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "json/json_reader.h"

namespace wf::security {
namespace {

class AuditLogTest : public testing::Test {
 protected:
  ~AuditLogTest() override { ::unlink(path_.c_str()); }
  std::vector<std::string> Lines() const {
    std::ifstream in(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  const std::string path_ =
      testing::TempDir() + "/wherefore_audit_" + std::to_string(::getpid()) + ".jsonl";
  pipeline::Counters counters_;
};

TEST_F(AuditLogTest, OneLineAnActionForItsOwnerOnly) {
  auto log = AuditLog::Open(path_, counters_);
  ASSERT_TRUE(log.ok());
  (*log)->Write({"ada", "shop", "127.0.0.1:5", "PUT /api/v1/policies/a\"\nb", "ok", 200});
  (*log)->Write({"server", "", "", "reload tls", "failed", 0});
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  JsonParser parser;
  const auto json = parser.Parse(lines[0]);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Get("who").String(), "ada");
  EXPECT_EQ(json->Get("tenant").String(), "shop");
  EXPECT_EQ(json->Get("action").String(), "PUT /api/v1/policies/a\"\nb");
  EXPECT_EQ(json->Get("outcome").String(), "ok");
  EXPECT_EQ(json->Get("status").Int(), 200);
  EXPECT_EQ(json->Get("remote_address").String(), "127.0.0.1:5");
  EXPECT_TRUE(json->Get("time_ns").Int().has_value());
  struct stat facts {};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, AFloodOfDenialsIsBoundedAndActionsAreNot) {
  auto log = AuditLog::Open(path_, counters_);
  ASSERT_TRUE(log.ok());
  for (int i = 0; i < 5'000; ++i) (*log)->Write({"anonymous", "", "", "DELETE /x", "denied", 401});
  for (int i = 0; i < 200; ++i) (*log)->Write({"ada", "", "", "DELETE /x", "ok", 200});
  EXPECT_GE(Lines().size(), 300u);
  EXPECT_LT(Lines().size(), 2'000u);
  EXPECT_GT(counters_.Snapshot().at("audit_denials_skipped"), 3'000);
}

TEST_F(AuditLogTest, AFileThatWasMovedAwayIsMadeAnew) {
  auto log = AuditLog::Open(path_, counters_);
  ASSERT_TRUE(log.ok());
  (*log)->Write({"ada", "", "", "one", "ok", 200});
  ::unlink(path_.c_str());
  ASSERT_TRUE((*log)->Reopen().ok());
  (*log)->Write({"ada", "", "", "two", "ok", 200});
  ASSERT_EQ(Lines().size(), 1u);
  EXPECT_NE(Lines()[0].find("two"), std::string::npos);
}

TEST_F(AuditLogTest, OffRecordsNothingAndAWrongPathIsAnError) {
  auto off = AuditLog::Open("off", counters_);
  ASSERT_TRUE(off.ok());
  (*off)->Write({"ada", "", "", "one", "ok", 200});
  EXPECT_FALSE(AuditLog::Open("/nonexistent/audit.jsonl", counters_).ok());
}

}  // namespace
}  // namespace wf::security
