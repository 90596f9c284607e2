// Events handed over by real probes, to a process that maps what it is given: this program's child.
#include "weaver/linked_processes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "advice/handed_events.h"
#include "weaver/own_function_test.h"
#include "weaver/woven_query.h"

extern "C" {
[[gnu::noinline]] void wf_test_order(int64_t amount) {
  asm volatile("nop" ::"r"(amount) : "memory");
}
}

namespace wf::weaver {
namespace {

using advice::HandedThread;

void (*volatile const order)(int64_t) = &wf_test_order;

LocatedTracepoint OrderTracepoint() {
  LocatedTracepoint located;
  located.name = "Order";
  located.exports = {"amount"};
  LocatedFunction function;
  function.file = "/proc/self/exe";
  function.name = "wf_test_order";
  ProbeSite site;
  site.offset = FileOffset(reinterpret_cast<const void*>(&wf_test_order));
  ValueRead amount;
  amount.form = ValueForm::kInteger;
  amount.value = {{ReadOp::kRegister, Register::kRdi, 0, 0}};
  site.values = {amount};
  function.sites = {site};
  located.functions = {function};
  return located;
}

// From d In Done Join o In … (Order) On o -> d: Done is compiled in somewhere.
advice::Program PacksOrders(advice::Keep keep) {
  static uint64_t query = 0xABCD0000u + static_cast<uint64_t>(getpid());
  advice::Program program;
  program.query = ++query << 16;
  advice::Pack pack;
  pack.keep = keep;
  pack.limit = keep == advice::Keep::kAll ? 0 : 1;
  pack.grouping.columns = {advice::Column(0)};
  program.slots = {advice::SlotOf(pack)};
  program.advice.push_back({{"Order"}, {advice::Observe{{"amount"}}, pack}});
  advice::Emit emit;
  emit.grouping.columns = {advice::Column(0)};
  emit.select = {advice::Column(0)};
  program.advice.push_back({{"Done"}, {advice::Observe{{}}, advice::Unpack{}, emit}});
  program.result_columns = {"amount"};
  return program;
}

// What the child found out, for the parent to judge.
struct Findings {
  std::atomic<int> mapped{0}, go{0}, done{0};
  uint64_t head = 0, lost = 0, others = 0;
  int64_t amounts[1024] = {};
  char greeting[512] = {}, places[2048] = {};
};

// A process of its own, mapping what the query's socket gives.
class Linked {
 public:
  Linked(uint64_t query, const std::function<void(Linked&)>& body) {
    found = new (mmap(nullptr, sizeof(Findings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                      -1, 0)) Findings;
    pid_ = fork();
    if (pid_ != 0) return;
    if (Map(query)) {
      found->mapped = 1;
      while (found->go == 0) usleep(1000);
      body(*this);
    }
    found->done = 1;
    while (true) pause();
  }
  ~Linked() {
    Kill();
    munmap(found, sizeof(Findings));
  }
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  HandedThread* Own() const {
    const auto number = static_cast<uint64_t>(syscall(SYS_gettid));
    for (uint32_t i = 0; i < advice::kHandedThreads; ++i) {
      auto* const thread = reinterpret_cast<HandedThread*>(memory_ + advice::kHandedBytes * i);
      if (thread->owner == number) return thread;
    }
    return nullptr;
  }
  size_t owned() const {
    size_t count = 0;
    for (uint32_t i = 0; i < advice::kHandedThreads; ++i)
      count += reinterpret_cast<HandedThread*>(memory_ + advice::kHandedBytes * i)->owner != 0;
    return count;
  }
  // The amounts of this thread that are there, into the findings.
  void Note() const {
    HandedThread* const own = Own();
    if (own == nullptr) return;
    found->head = own->head;
    found->lost = own->lost;
    const uint64_t bytes = RecordBytes();
    for (uint64_t i = own->taken, at = 0; i < own->head; ++i, ++at) {
      const char* const record = reinterpret_cast<const char*>(own + 1) + bytes * i;
      std::memcpy(&found->amounts[at], record + advice::kHandedVariablesAt, 8);
    }
  }

  // As the greeting says.
  uint64_t RecordBytes() const {
    const char* const at = std::strstr(found->greeting, "\"record_bytes\":");
    return at != nullptr ? std::strtoull(at + std::strlen("\"record_bytes\":"), nullptr, 10) : 0;
  }

  Findings* found;

 private:
  bool Map(uint64_t query) {
    const int connection = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = advice::HandedSocketName(query);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    while (connect(connection, reinterpret_cast<sockaddr*>(&address), length) != 0) usleep(1000);
    iovec part{found->greeting, sizeof found->greeting - 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(connection, &message, 0) <= 0) return false;
    int descriptor;
    std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    if (recv(connection, found->places, sizeof found->places - 1, 0) <= 0) return false;
    void* const memory = mmap(nullptr, advice::kHandedBytes * advice::kHandedThreads,
                              PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    memory_ = static_cast<char*>(memory);
    return memory != MAP_FAILED;
  }

  pid_t pid_ = 0;
  char* memory_ = nullptr;
};

class LinkedProcessesTest : public testing::TestWithParam<LinkChoice> {
 protected:
  // Nothing: it cannot be woven here.
  std::unique_ptr<WovenQuery> Weave(const advice::Program& program) {
    WeaveOptions options;
    options.link = GetParam();
    options.hand_over = HandOver::kToLinkedProcesses;
    auto woven = WovenQuery::Create(program, options);
    if (woven.ok()) {
      Status attached = (*woven)->Prepare(OrderTracepoint(), 0,
                                          [](const LocatedFunction&) { return std::nullopt; });
      EXPECT_TRUE(attached.ok()) << attached.error().message;
      attached = (*woven)->AttachWaiting();
      EXPECT_TRUE(attached.ok()) << attached.error().message;
      EXPECT_TRUE((*woven)->notes().empty()) << (*woven)->notes()[0];
      return std::move(*woven);
    }
    // What the verifier says has several lines; that is our fault.
    EXPECT_EQ(woven.error().message.find('\n'), std::string::npos) << woven.error().message;
    return nullptr;
  }
  static void Run(WovenQuery& woven, Linked& linked) {
    for (int i = 0; i < 3000 && linked.found->mapped == 0; ++i) ASSERT_TRUE(woven.Poll(10).ok());
    ASSERT_EQ(linked.found->mapped, 1);
    linked.found->go = 1;
    for (int i = 0; i < 3000 && linked.found->done == 0; ++i) ASSERT_TRUE(woven.Poll(10).ok());
    ASSERT_EQ(linked.found->done, 1);
  }
};

#define WEAVE_OR_SKIP(program)       \
  const auto woven = Weave(program); \
  if (woven == nullptr) GTEST_SKIP() << "cannot weave here"

TEST_P(LinkedProcessesTest, AThreadFindsItsOwnEventsInOrder) {
  const advice::Program program = PacksOrders(advice::Keep::kAll);
  WEAVE_OR_SKIP(program);
  Linked linked(program.query, [](Linked& own) {
    std::thread([] { order(99); }).join();
    for (int64_t i = 1; i <= 5; ++i) order(i * 11);
    std::thread([&] {
      order(77);
      own.found->others = own.Own() != nullptr ? own.Own()->head - own.Own()->taken : 0;
    }).join();
    own.Note();
  });
  Run(*woven, linked);
  EXPECT_EQ(linked.found->head, 5u);
  EXPECT_EQ(linked.found->lost, 0u);
  EXPECT_EQ(linked.found->others, 1u);
  for (int64_t i = 1; i <= 5; ++i) EXPECT_EQ(linked.found->amounts[i - 1], i * 11);
  EXPECT_NE(std::string(linked.found->greeting).find("\"record_bytes\":"), std::string::npos);
  EXPECT_NE(std::string(linked.found->places).find("\"tracepoint\":\"Order\""), std::string::npos);
}

TEST_P(LinkedProcessesTest, WhatThereIsNoRoomForIsCounted) {
  const advice::Program program = PacksOrders(advice::Keep::kAll);
  WEAVE_OR_SKIP(program);
  Linked linked(program.query, [](Linked& own) {
    for (int64_t i = 0; i < 1000; ++i) order(i);
    own.Note();
  });
  Run(*woven, linked);
  EXPECT_GE(linked.found->head, 32u);
  EXPECT_EQ(linked.found->head + linked.found->lost, 1000u);
}

TEST_P(LinkedProcessesTest, OfTheMostRecentTheLastIsAlwaysThere) {
  const advice::Program program = PacksOrders(advice::Keep::kMostRecent);
  WEAVE_OR_SKIP(program);
  Linked linked(program.query, [](Linked& own) {
    for (int64_t i = 0; i < 1000; ++i) order(i);
    HandedThread* const thread = own.Own();
    if (thread == nullptr) return;
    own.found->head = thread->head;
    own.found->lost = thread->lost;
    const char* const last =
        reinterpret_cast<const char*>(thread + 1) + own.RecordBytes() * (thread->head - 1);
    std::memcpy(own.found->amounts, last + advice::kHandedVariablesAt, 8);
  });
  Run(*woven, linked);
  EXPECT_EQ(linked.found->lost, 0u);
  EXPECT_EQ(linked.found->amounts[0], 999);
}

TEST_P(LinkedProcessesTest, ThreadsThatEndMakeRoomForOthers) {
  const advice::Program program = PacksOrders(advice::Keep::kAll);
  WEAVE_OR_SKIP(program);
  Linked linked(program.query, [](Linked& own) {
    for (int64_t i = 0; i < 500; ++i) {
      std::thread([&, i] {
        order(i);
        const HandedThread* const thread = own.Own();
        // Nothing that another thread left.
        own.found->others += thread != nullptr && thread->head - thread->taken == 1;
      }).join();
    }
    own.found->lost = own.owned();
  });
  Run(*woven, linked);
  EXPECT_EQ(linked.found->others, 500u);
  EXPECT_LE(linked.found->lost, 2u) << "join() may return before the thread has wholly ended";
}

INSTANTIATE_TEST_SUITE_P(Links, LinkedProcessesTest,
                         testing::Values(LinkChoice::kAuto, LinkChoice::kPerf),
                         [](const auto& each) {
                           return each.param == LinkChoice::kAuto ? "Auto" : "Perf";
                         });

}  // namespace
}  // namespace wf::weaver
