// The agent against a server and a weaver that the test simulates.
#include "live/agent.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <thread>

#include "json/json_reader.h"
#include "json/json_writer.h"
#include "live/live_query_lab_test.h"
#include "log/log.h"

namespace wf::live {
namespace {

using namespace std::chrono_literals;

// The server's answers, and the reports it received.
struct PlayedServer {
  std::mutex mutex;
  std::condition_variable changed;
  std::string version = "v0", members = R"("policies":[],"queries":[],"tracepoints":[])";
  bool down = false, cancelled = false;
  std::deque<std::string> reports;
  std::string acknowledged;
  size_t reports_at_acknowledgement = 0;

  void Say(const std::string& new_version, const std::string& new_members) {
    const std::lock_guard lock(mutex);
    version = new_version;
    members = new_members;
    changed.notify_all();
  }
  void SetDown(bool value) {
    const std::lock_guard lock(mutex);
    down = value;
    changed.notify_all();
  }
};

class PlayedLink : public AgentLink {
 public:
  explicit PlayedLink(PlayedServer& server) : server_(server) {}
  Result<std::string> Ask(const std::string& version, Patience patience) override {
    std::unique_lock lock(server_.mutex);
    if (server_.acknowledged != version) {
      server_.acknowledged = version;
      server_.reports_at_acknowledgement = server_.reports.size();
      server_.changed.notify_all();
    }
    server_.changed.wait_for(lock, std::chrono::nanoseconds(patience.wait), [&] {
      return server_.cancelled || server_.down || server_.version != version;
    });
    if (server_.down || server_.cancelled) return EnvironmentError("nobody listens");
    return "{\"version\":\"" + server_.version + "\"," + server_.members + "}";
  }
  Status Report(const std::string& json) override {
    const std::lock_guard lock(server_.mutex);
    if (server_.down) return EnvironmentError("nobody listens");
    server_.reports.push_back(json);
    server_.changed.notify_all();
    return {};
  }
  void Cancel() override {
    const std::lock_guard lock(server_.mutex);
    server_.cancelled = true;
    server_.changed.notify_all();
  }

 private:
  PlayedServer& server_;
};

// Every Collect returns one hit; Unweave returns one more.
struct Loom {
  std::atomic<int> woven{0}, alive{0}, collected{0};
  std::atomic<bool> refuses{false};
};

class PlayedWoven : public weaver::Woven {
 public:
  PlayedWoven(Loom& loom, const advice::Program& program) : loom_(loom), program_(program) {
    ++loom_.woven;
    ++loom_.alive;
  }
  ~PlayedWoven() override { --loom_.alive; }
  Status Poll(int) override { return {}; }
  Result<weaver::WeaveCounters> Collect(advice::Results& results) override {
    live_testing::Hit(program_, results, {{"host", advice::Value(std::string("h"))}});
    ++loom_.collected;
    weaver::WeaveCounters counters;
    counters.hits = 1;
    return counters;
  }
  Status Unweave() override { return {}; }
  const advice::Program& program() const override { return program_; }
  const std::vector<weaver::WovenPlace>& places() const override { return places_; }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  Loom& loom_;
  const advice::Program program_;
  std::vector<weaver::WovenPlace> places_;
  std::vector<std::string> notes_ = {"arg n is null here"};
};

class AgentTest : public testing::Test {
 protected:
  AgentTest() { log::SetLevel(log::Level::kOff); }
  ~AgentTest() override {
    agent_.reset();
    log::SetLevel(log::Level::kInfo);
  }
  void Begin() {
    agent_ = std::make_unique<Agent>(
        std::make_unique<PlayedLink>(server_),
        AgentOptions{"i1", "h1",
                     [this](const advice::Program& program,
                            const std::vector<weaver::TracepointDefinition>& definitions,
                            const weaver::PackLimits&) -> Result<std::unique_ptr<weaver::Woven>> {
                       if (loom_.refuses) return Denied("no privilege", "be root");
                       EXPECT_EQ(definitions.size(), 1u);
                       return std::unique_ptr<weaver::Woven>(
                           std::make_unique<PlayedWoven>(loom_, program));
                     }});
  }
  static std::string Members(const std::string& tracepoint, Nanos interval) {
    const auto program = live_testing::Compiled(
        "From x In " + tracepoint + " GroupBy x.host Select x.host, COUNT", 0xabc);
    JsonWriter json;
    json.BeginObject();
    json.Key("queries").BeginArray().BeginObject();
    json.Field("id", ToHex64(0xabc)).Field("program", Base64Encode(advice::Encode(*program)));
    json.Field("interval_ms", interval / kMilli).EndObject().EndArray();
    json.Key("tracepoints").BeginArray();
    json.Raw(R"({"version":1,"name":"T","locations":[{"exe":"x","function":"f","at":"entry"}],)"
             R"("exports":{}})");
    json.EndArray().EndObject();
    const std::string object = json.Take();
    return object.substr(1, object.size() - 2);
  }
  template <class Condition>
  static bool Eventually(const Condition& condition) {
    for (int i = 0; i < 3'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  size_t Reports() {
    const std::lock_guard lock(server_.mutex);
    return server_.reports.size();
  }
  // COUNT over everything reported.
  int64_t Counted() {
    const auto program =
        live_testing::Compiled("From x In T GroupBy x.host Select x.host, COUNT", 0xabc);
    advice::Results results(*program);
    const std::lock_guard lock(server_.mutex);
    for (const std::string& report : server_.reports) {
      JsonParser parser;
      for (const JsonValue one : parser.Parse(report)->Get("results").Elements())
        EXPECT_TRUE(results.Merge(*Base64Decode(one.Get("partial").String())));
    }
    return results.empty() ? 0 : std::get<int64_t>(results.Rows()[0][1]);
  }

  PlayedServer server_;
  Loom loom_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentTest, WeavesReportsAndTakesOut) {
  Begin();
  server_.Say("v1", Members("T", 50 * kMilli));
  ASSERT_TRUE(Eventually([&] { return Reports() >= 3; }));
  EXPECT_EQ(loom_.woven, 1);
  server_.Say("v2", R"("queries":[],"tracepoints":[])");
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard lock(server_.mutex);
    return server_.acknowledged == "v2";
  }));
  EXPECT_EQ(loom_.alive, 0);
  EXPECT_EQ(Counted(), loom_.collected) << "nothing is lost";
  const std::lock_guard lock(server_.mutex);
  EXPECT_EQ(server_.reports_at_acknowledgement, server_.reports.size())
      << "what was left is reported before the change is acknowledged";
  EXPECT_NE(server_.reports[0].find("arg n is null here"), std::string::npos);
}

TEST_F(AgentTest, IntervalsAreMultiplesSinceTheEpoch) {
  Begin();
  server_.Say("v1", Members("T", 50 * kMilli));
  ASSERT_TRUE(Eventually([&] { return Reports() >= 2; }));
  const std::lock_guard lock(server_.mutex);
  JsonParser parser;
  const auto json = parser.Parse(server_.reports[0]);
  for (const JsonValue one : json->Get("results").Elements())
    EXPECT_EQ(*one.Get("start_ns").Int() % (50 * kMilli), 0);
}

TEST_F(AgentTest, ALostServerTakesItsQueriesWithIt) {
  Begin();
  server_.Say("v1", Members("T", 50 * kMilli));
  ASSERT_TRUE(Eventually([&] { return loom_.alive == 1; }));
  server_.SetDown(true);
  ASSERT_TRUE(Eventually([&] { return loom_.alive == 0; }));
  EXPECT_EQ(agent_->contact(), Agent::Contact::kLost);
  server_.SetDown(false);
  ASSERT_TRUE(Eventually([&] { return loom_.alive == 1; })) << "and brings them back";
  EXPECT_EQ(loom_.woven, 2);
  agent_->Stop();
  EXPECT_EQ(loom_.alive, 0);
  EXPECT_EQ(Counted(), loom_.collected) << "what could not be sent was sent later";
}

TEST_F(AgentTest, QueriesOfCompiledInTracepointsAloneAreNotForIt) {
  Begin();
  server_.Say("v1", Members("CompiledIn", 50 * kMilli));
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard lock(server_.mutex);
    return server_.acknowledged == "v1";
  }));
  EXPECT_EQ(loom_.woven, 0);
}

TEST_F(AgentTest, WhyItCannotWeaveIsToldOnce) {
  loom_.refuses = true;
  Begin();
  server_.Say("v1", Members("T", 50 * kMilli));
  ASSERT_TRUE(Eventually([&] { return Reports() >= 1; }));
  {
    const std::lock_guard lock(server_.mutex);
    EXPECT_NE(server_.reports[0].find("no privilege (be root)"), std::string::npos);
  }
  loom_.refuses = false;
  EXPECT_TRUE(Eventually([&] { return loom_.alive == 1; })) << "it is tried again";
}

}  // namespace
}  // namespace wf::live
