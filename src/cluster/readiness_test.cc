#include "cluster/readiness.h"

#include <gtest/gtest.h>

namespace wf::cluster {
namespace {

TEST(Readiness, IsReadyWhenEveryCheckIs) {
  Readiness readiness(Role::kTail);
  readiness.Add("store", [] { return Status(); });
  readiness.Add("bus", [] { return Status(EnvironmentError("no broker answers")); });
  const Readiness::Answer answer = readiness.Ask();
  EXPECT_FALSE(answer.ready);
  EXPECT_EQ(answer.json,
            "{\"ready\":false,\"role\":\"tail\",\"checks\":[{\"check\":\"running\",\"ok\":true},"
            "{\"check\":\"store\",\"ok\":true},"
            "{\"check\":\"bus\",\"ok\":false,\"message\":\"no broker answers\"}]}\n");
}

TEST(Readiness, ManyWhoAskCostOneCheck) {
  Readiness readiness(Role::kAll);
  int asked = 0;
  readiness.Add("store", [&] {
    ++asked;
    return Status();
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(readiness.Ask().ready);
  EXPECT_LE(asked, 2);  // a slow machine may need more than a second for the hundred calls
}

TEST(Readiness, WhoDrainsIsNotReadyAndAsksNobody) {
  Readiness readiness(Role::kReceive);
  bool asked = false;
  readiness.Add("bus", [&] {
    asked = true;
    return Status();
  });
  readiness.Drain();
  const Readiness::Answer answer = readiness.Ask();
  EXPECT_FALSE(answer.ready);
  EXPECT_FALSE(asked);
  EXPECT_NE(answer.json.find("the server is stopping"), std::string::npos);
}

}  // namespace
}  // namespace wf::cluster
