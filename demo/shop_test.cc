// The shop as people start it: real processes, real sockets, blocks read back from what they export.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/transport/test_receiver.h"
#include "test_places.h"

namespace shop {
namespace {

using wherefore::client::ReceivedSpan;
using wherefore::client::TestReceiver;

constexpr uint64_t kServer = 2, kClient = 3, kProducer = 4, kConsumer = 5;

pid_t Launch(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), WHEREFORE_BINARY_DIR "/wherefore-demo");
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    execv(argv[0], argv.data());
    _exit(127);
  }
  return pid;
}

int ExitOf(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

const std::string& ServiceOf(const ReceivedSpan& span) { return span.process.at("service.name"); }
uint64_t DurationOf(const ReceivedSpan& span) { return span.end_ns - span.start_ns; }

struct Shop {
  std::vector<ReceivedSpan> spans;
  std::map<std::string, const ReceivedSpan*> by_id;
  std::map<std::string, std::set<std::string>> services_of_trace;
  const ReceivedSpan* slowest = nullptr;  // frontend's

  explicit Shop(const std::string& trouble, const std::string& seconds) {
    TestReceiver receiver;
    EXPECT_EQ(ExitOf(Launch({"up", "--endpoint", receiver.url(), "--trouble", trouble, "--seconds",
                             seconds, "--rate", "12"})),
              0);
    spans = receiver.Spans();
    for (const ReceivedSpan& span : spans) {
      by_id[span.trace_id + span.span_id] = &span;
      services_of_trace[span.trace_id].insert(ServiceOf(span));
      if (ServiceOf(span) == "frontend" && span.kind == kServer &&
          (slowest == nullptr || DurationOf(span) > DurationOf(*slowest))) {
        slowest = &span;
      }
    }
  }

  uint64_t MedianRequest() const {
    std::vector<uint64_t> durations;
    for (const ReceivedSpan& span : spans) {
      if (ServiceOf(span) == "frontend" && span.kind == kServer)
        durations.push_back(DurationOf(span));
    }
    std::nth_element(durations.begin(), durations.begin() + durations.size() / 2, durations.end());
    return durations[durations.size() / 2];
  }
};

TEST(Shop, TracesJoinAcrossProcesses) {
  const Shop shop("none", "4");
  ASSERT_NE(shop.slowest, nullptr);
  std::set<std::string> services;
  int consumers = 0;
  for (const ReceivedSpan& span : shop.spans) {
    SCOPED_TRACE(ServiceOf(span) + ": " + span.name);
    services.insert(ServiceOf(span));
    EXPECT_TRUE(span.well_formed);
    EXPECT_FALSE(span.labels.at("thread.id").empty());
    if (span.parent_id.empty()) {
      const std::string& service = ServiceOf(span);
      EXPECT_TRUE(service == "frontend" || service == "maintenance" ||
                  span.name == "send invoices");
      continue;
    }
    const auto parent = shop.by_id.find(span.trace_id + span.parent_id);
    ASSERT_NE(parent, shop.by_id.end()) << "no block may be missing";
    if (span.kind == kServer) {
      EXPECT_EQ(parent->second->kind, kClient);
      const auto arrival = std::stoull(span.labels.at("wherefore.arrival_ns"));
      EXPECT_LE(parent->second->start_ns, arrival);
      EXPECT_LE(arrival, span.start_ns);
      EXPECT_LE(span.end_ns, parent->second->end_ns);
    }
    if (span.kind == kConsumer) {
      ++consumers;
      EXPECT_EQ(parent->second->kind, kProducer);
      EXPECT_EQ(span.labels.at("messaging.destination.partition.id"),
                parent->second->labels.at("messaging.destination.partition.id"));
    }
  }
  EXPECT_EQ(services, (std::set<std::string>{"compute", "frontend", "maintenance", "queue-worker",
                                             "storage"}));
  EXPECT_GT(consumers, 0);
}

TEST(Shop, StorageServesOneAtATimeOnOneThread) {
  const Shop shop("none", "2");
  std::vector<const ReceivedSpan*> served;
  std::set<std::string> threads;
  for (const ReceivedSpan& span : shop.spans) {
    if (ServiceOf(span) != "storage") continue;
    served.push_back(&span);
    threads.insert(span.labels.at("thread.id"));
  }
  EXPECT_EQ(threads.size(), 1u);
  ASSERT_GT(served.size(), 10u);
  std::sort(served.begin(), served.end(),
            [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  for (size_t i = 1; i < served.size(); ++i) {
    EXPECT_LE(served[i - 1]->end_ns, served[i]->start_ns);
    EXPECT_LE(served[i - 1]->labels.at("wherefore.arrival_ns"),
              served[i]->labels.at("wherefore.arrival_ns"));
  }
}

TEST(Shop, FloodDelaysRequestsThatNeverMeetMaintenance) {
  const Shop healthy("none", "5");
  const Shop flooded("maintenance-flood", "5");
  ASSERT_NE(healthy.slowest, nullptr);
  ASSERT_NE(flooded.slowest, nullptr);
  // Healthy requests take 7–20 ms; behind 96 scans of 6 ms each, one storage call alone waits half a second. The
  // median, because one hiccup of a busy machine is no sign of trouble.
  EXPECT_LT(healthy.MedianRequest(), 200'000'000u);
  EXPECT_GT(DurationOf(*flooded.slowest), 800'000'000u);
  for (const auto& [trace, services] : flooded.services_of_trace) {
    EXPECT_FALSE(services.count("frontend") != 0 && services.count("maintenance") != 0) << trace;
  }
  // The delay is time in line at storage, and those ahead in it are scans for maintenance.
  const ReceivedSpan* longest_wait = nullptr;
  uint64_t longest = 0;
  for (const ReceivedSpan& span : flooded.spans) {
    if (span.trace_id != flooded.slowest->trace_id || ServiceOf(span) != "storage") continue;
    const uint64_t wait = span.start_ns - std::stoull(span.labels.at("wherefore.arrival_ns"));
    if (wait > longest) {
      longest = wait;
      longest_wait = &span;
    }
  }
  ASSERT_NE(longest_wait, nullptr);
  EXPECT_GT(longest, 300'000'000u);
  int scans_ahead = 0;
  for (const ReceivedSpan& span : flooded.spans) {
    if (span.name == "GET /scan" && span.kind == kServer && span.end_ns <= longest_wait->start_ns &&
        span.end_ns > std::stoull(longest_wait->labels.at("wherefore.arrival_ns"))) {
      ++scans_ahead;
    }
  }
  EXPECT_GT(scans_ahead, 50);
}

TEST(Shop, StopsEverythingOnCtrlC) {
  TestReceiver receiver;
  const pid_t launcher = Launch({"up", "--endpoint", receiver.url(), "--seconds", "0"});
  // Its services are in process groups of their own: found again by their parent.
  const std::string children_file =
      "/proc/" + std::to_string(launcher) + "/task/" + std::to_string(launcher) + "/children";
  std::set<pid_t> children;
  for (int i = 0; i < 500 && children.size() < 6; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    children.clear();
    if (FILE* file = std::fopen(children_file.c_str(), "r")) {
      int pid;
      while (std::fscanf(file, "%d", &pid) == 1) children.insert(pid);
      std::fclose(file);
    }
  }
  ASSERT_EQ(children.size(), 6u) << "five services and the load";
  kill(launcher, SIGINT);
  EXPECT_EQ(ExitOf(launcher), 0);
  for (pid_t child : children) EXPECT_NE(kill(child, 0), 0) << child << " still runs";
}

TEST(Shop, RunsOnWhenNobodyReceivesItsBlocks) {
  // Port 1 on loopback: connections are refused.
  EXPECT_EQ(ExitOf(Launch({"up", "--endpoint", "http://127.0.0.1:1", "--requests", "10"})), 0);
}

TEST(Shop, WrongUsageExitsWith2) {
  EXPECT_EQ(ExitOf(Launch({})), 2);
  EXPECT_EQ(ExitOf(Launch({"florist"})), 2);
  EXPECT_EQ(ExitOf(Launch({"up", "--trouble", "fire"})), 2);
  EXPECT_EQ(ExitOf(Launch({"up", "--seconds", "soon"})), 2);
  EXPECT_EQ(ExitOf(Launch({"frontend", "--listen", "127.0.0.1:0"})), 2);
  EXPECT_EQ(ExitOf(Launch({"storage", "--listen", "999.0.0.1:0"})), 3);
}

}  // namespace
}  // namespace shop
