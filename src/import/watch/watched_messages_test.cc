#include "import/watch/watched_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace wf::watch {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FakeHost : public WatchedHost {
 public:
  std::optional<SocketFacts> Socket(uint32_t process, int fd) override {
    const auto it = sockets.find({process, fd});
    return it == sockets.end() ? std::nullopt : std::optional(it->second);
  }
  std::string ProcessName(uint32_t process) override { return names[process]; }
  std::string ProgramFile(uint32_t process) override { return "/usr/bin/" + names[process]; }

  std::map<std::pair<uint32_t, int>, SocketFacts> sockets;
  std::map<uint32_t, std::string> names;
};

SocketFacts Tcp(const char* local, const char* peer, bool listens = false) {
  SocketFacts facts;
  facts.local = local, facts.peer = peer, facts.listens = listens;
  facts.local_port =
      static_cast<uint16_t>(std::stoi(facts.local.substr(facts.local.rfind(':') + 1)));
  facts.peer_port = static_cast<uint16_t>(std::stoi(facts.peer.substr(facts.peer.rfind(':') + 1)));
  return facts;
}

class WatchedMessagesTest : public ::testing::Test {
 protected:
  WatchedMessagesTest() {
    host_.names = {{10, "web"}, {20, "data base"}, {30, "other"}};
    host_.sockets[{10, 5}] = Tcp("10.0.0.1:4000", "10.0.0.2:80");
    host_.sockets[{20, 7}] = Tcp("10.0.0.2:80", "10.0.0.1:4000", true);
  }
  WatchedMessages& Messages() {
    if (messages_ == nullptr) {
      messages_ = std::make_unique<WatchedMessages>(
          host_, filter_,
          WatchedMessages::Verdicts{
              [this](uint32_t process) { ignored_.push_back(std::to_string(process)); },
              [this](uint32_t process, int fd) {
                ignored_.push_back(std::to_string(process) + ":" + std::to_string(fd));
              },
              [this](uint32_t process, int fd) {
                known_.push_back(std::to_string(process) + ":" + std::to_string(fd));
              }});
    }
    return *messages_;
  }
  void See(uint32_t process, int fd, IoCall call, Nanos milliseconds, int64_t bytes = 100,
           const char* begins = "GET /") {
    IoRecord record{};
    record.time = static_cast<uint64_t>(milliseconds * kMilli);
    record.process = process;
    record.thread = process + 1;
    record.fd = fd;
    record.call = call;
    record.bytes = bytes;
    std::memcpy(record.prefix, begins, std::min(kIoPrefix, std::strlen(begins)));
    Messages().Add(record);
  }
  // Times in milliseconds, keys left out.
  std::vector<std::string> Lines(Nanos now = WatchedMessages::kForever) {
    std::vector<std::string> lines;
    Messages().Take(now, 0, [&](std::string_view told) {
      const std::string line(told);
      const size_t blank = line.find(' ');
      const auto ms = std::llround(std::stod(line.substr(0, blank)) * 1000);
      lines.push_back(std::to_string(ms) + line.substr(blank, line.find(" thread=") - blank));
      last_ = line;
    });
    return lines;
  }

  FakeHost host_;
  WatchFilter filter_;
  std::vector<std::string> ignored_, known_;
  std::string last_;
  std::unique_ptr<WatchedMessages> messages_;
};

TEST_F(WatchedMessagesTest, BothEndsOfAnExchangeBearOneId) {
  See(10, 5, IoCall::kConnect, 1);
  See(20, 7, IoCall::kAccept, 1);
  for (const Nanos t : {10, 50}) {
    See(10, 5, IoCall::kSend, t);
    See(10, 5, IoCall::kSend, t + 1);  // the same request goes on
    See(20, 7, IoCall::kReceive, t + 2);
    See(20, 7, IoCall::kReceive, t + 3);
    See(20, 7, IoCall::kSend, t + 8);
    See(20, 7, IoCall::kSend, t + 10);  // a return is over with its last byte
    See(10, 5, IoCall::kReceive, t + 9);
    See(10, 5, IoCall::kReceive, t + 11);
  }
  EXPECT_THAT(Lines(),
              ElementsAre("10 CALL_SENT web data_base 1.1", "12 CALL_RCVD web data_base 1.1",
                          "20 RET_SENT data_base web 1.1", "21 RET_RCVD data_base web 1.1",
                          "50 CALL_SENT web data_base 1.2", "52 CALL_RCVD web data_base 1.2",
                          "60 RET_SENT data_base web 1.2", "61 RET_RCVD data_base web 1.2"));
  EXPECT_EQ(last_, "0.061000000 RET_RCVD data_base web 1.2 thread=11 conn=1 bytes=200\n");
  EXPECT_EQ(Messages().counts().messages, 8u);
  EXPECT_THAT(known_, ElementsAre("10:5", "20:7"));  // at their first bytes, and once
}

TEST_F(WatchedMessagesTest, AConnectionOlderThanTheWatchIsTakenUpAtItsNextRequest) {
  See(20, 7, IoCall::kSend, 1);     // of a request we did not see
  See(10, 5, IoCall::kReceive, 2);  // its return
  See(10, 5, IoCall::kSend, 10);
  See(20, 7, IoCall::kReceive, 11);
  See(20, 7, IoCall::kSend, 12);
  See(10, 5, IoCall::kReceive, 13);
  EXPECT_THAT(Lines(),
              ElementsAre("10 CALL_SENT web data_base 1.1", "11 CALL_RCVD web data_base 1.1",
                          "12 RET_SENT data_base web 1.1", "13 RET_RCVD data_base web 1.1"));
  EXPECT_EQ(Messages().counts().mid_stream, 2u);
}

TEST_F(WatchedMessagesTest, AnEndThatIsElsewhereIsItsAddress) {
  See(10, 5, IoCall::kSend, 10);
  See(10, 5, IoCall::kReceive, 13);
  EXPECT_THAT(Lines(),
              ElementsAre("10 CALL_SENT web 10.0.0.2 1.1", "13 RET_RCVD 10.0.0.2 web 1.1"));
}

TEST_F(WatchedMessagesTest, WhatIsNoSocketOrNotWantedIsNotToldAgain) {
  filter_.programs = {"web", "data*"};
  filter_.ports = {80};
  host_.sockets[{10, 6}] = Tcp("10.0.0.1:4001", "10.0.0.2:81");
  See(10, 3, IoCall::kReceive, 1);  // a file
  See(10, 6, IoCall::kSend, 1);
  See(30, 5, IoCall::kSend, 1);
  See(10, 5, IoCall::kSend, 2);
  EXPECT_THAT(ignored_, ElementsAre("10:3", "10:6", "30"));
  EXPECT_THAT(Lines(), ElementsAre("2 CALL_SENT web 10.0.0.2 1.1"));
}

TEST_F(WatchedMessagesTest, ASocketWithinTheMachineIsToldByTheEndThatConnected) {
  SocketFacts unix_client, unix_server;
  unix_client.kind = unix_server.kind = SocketFacts::Kind::kUnix;
  unix_client.peer_process = 20, unix_server.peer_process = 10;
  unix_server.listens = true;
  host_.sockets[{10, 8}] = unix_client;
  host_.sockets[{20, 9}] = unix_server;
  See(10, 8, IoCall::kSend, 1);
  See(20, 9, IoCall::kReceive, 2);
  See(20, 9, IoCall::kSend, 3);
  See(10, 8, IoCall::kReceive, 4);
  EXPECT_THAT(Lines(), ElementsAre("1 CALL web data_base 1.1", "4 RET data_base web 1.1"));
  EXPECT_THAT(ignored_, Each("20:9"));
}

TEST_F(WatchedMessagesTest, ReturnsAreToldWhenTheyAreOverAndRequestsAtOnce) {
  See(10, 5, IoCall::kSend, 1);
  See(10, 5, IoCall::kReceive, 100);
  EXPECT_THAT(Lines(400 * kMilli), IsEmpty());
  EXPECT_THAT(Lines(kSecond), ElementsAre("1 CALL_SENT web 10.0.0.2 1.1"));
  See(10, 5, IoCall::kReceive, 2000);
  EXPECT_THAT(Lines(4 * kSecond), IsEmpty());
  EXPECT_THAT(Lines(8 * kSecond), ElementsAre("2000 RET_RCVD 10.0.0.2 web 1.1"));
  See(10, 5, IoCall::kSend, 9000);
  See(10, 5, IoCall::kReceive, 9001);
  See(10, 5, IoCall::kClose, 9002);
  EXPECT_THAT(Lines(10 * kSecond),
              ElementsAre("9000 CALL_SENT web 10.0.0.2 1.2", "9001 RET_RCVD 10.0.0.2 web 1.2"));
}

TEST_F(WatchedMessagesTest, PortsThatComeAgainAreAnotherConnection) {
  See(10, 5, IoCall::kConnect, 1);
  See(10, 5, IoCall::kSend, 2);
  See(10, 5, IoCall::kClose, 3);
  See(10, 5, IoCall::kConnect, 4);
  See(10, 5, IoCall::kSend, 5);
  EXPECT_THAT(Lines(), ElementsAre("2 CALL_SENT web 10.0.0.2 1.1", "5 CALL_SENT web 10.0.0.2 2.1"));
}

TEST_F(WatchedMessagesTest, WhatItCannotSeeIsCounted) {
  filter_.nodes = WatchFilter::Nodes::kByProcess;
  See(10, 5, IoCall::kSend, 1, 100, "PRI * HTTP/2.0\r\n");
  host_.sockets[{10, 6}] = Tcp("10.0.0.1:4001", "10.0.0.2:443");
  See(10, 6, IoCall::kSend, 1, 100, "\x16\x03\x01");
  See(20, 1, IoCall::kUring, 1);
  See(20, 11, IoCall::kAccept, 1);
  See(20, 11, IoCall::kReceive, 2);  // gone before it could be looked at
  const WatchCounts& counts = Messages().counts();
  EXPECT_EQ(counts.http2, 1u);
  EXPECT_EQ(counts.tls, 1u);
  EXPECT_EQ(counts.unresolved, 1u);
  EXPECT_THAT(counts.uring, ElementsAre("data_base/20"));
}

}  // namespace
}  // namespace wf::watch
