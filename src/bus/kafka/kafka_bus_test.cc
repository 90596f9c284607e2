// The bus on a real broker: the suite of every bus, and what only a broker can do: go away, fall silent, come back.
#include "bus/kafka/kafka_bus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "bus/conformance.h"
#include "bus/kafka/broker_test.h"
#include "bus/kafka/kafka_sender.h"
#include "bus/kafka/kafka_url.h"

namespace wf::bus::kafka {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string NewTopic() {
  static std::atomic<int> number{0};
  return "t" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

KafkaBusOptions QuickOptions() {
  KafkaBusOptions options;
  options.open_patience = 60 * kSecond;
  options.confirm_patience = 30 * kSecond;
  options.session = 6 * kSecond;
  return options;
}

std::string Url(const std::string& topic, int32_t partitions) {
  return "kafka://" + TestBroker::Get().address() + "/" + topic +
         "?partitions=" + std::to_string(partitions);
}

class KafkaFactory : public BusFactory {
 public:
  Result<std::unique_ptr<Bus>> Open(int32_t partitions) override {
    topic_ = NewTopic();
    WF_ASSIGN(auto bus, OpenKafkaBus(Url(topic_, partitions), QuickOptions()));
    shared_.url = *ParseKafkaUrl(Url(topic_, partitions));
    shared_.options = QuickOptions();
    WF_ASSIGN(sender_, KafkaSender::Make(shared_));
    return bus;
  }
  void PutRaw(int32_t partition, const std::string& bytes) override {
    const Status sent = sender_->SendAndWait({{topic_, partition, bytes, {}}}, 60 * kSecond);
    ASSERT_TRUE(sent.ok()) << sent.error().message;
  }
  // The poisoned topic from its beginning, as any consumer sees it.
  std::vector<std::string> Poisoned() override {
    std::vector<std::string> out;
    auto conf = MakeConf(shared_, RD_KAFKA_CONSUMER, {},
                         {{"group.id", "looks-on"}, {"enable.partition.eof", "true"}});
    auto client = MakeClient(RD_KAFKA_CONSUMER, std::move(*conf));
    const PartitionsPtr list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), shared_.poisoned_topic().c_str(), 0)->offset = 0;
    rd_kafka_assign(client->get(), list.get());
    for (const Nanos deadline = MonotonicNow() + 60 * kSecond; MonotonicNow() < deadline;) {
      const MessagePtr message(rd_kafka_consumer_poll(client->get(), 100));
      if (message == nullptr) continue;
      if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) break;
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      out.emplace_back(static_cast<const char*>(message->payload), message->len);
      rd_kafka_headers_t* headers = nullptr;
      EXPECT_EQ(rd_kafka_message_headers(message.get(), &headers), RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    rd_kafka_consumer_close(client->get());
    return out;
  }

 private:
  std::string topic_;
  KafkaShared shared_;
  std::unique_ptr<KafkaSender> sender_;
};

std::unique_ptr<BusFactory> MakeKafkaFactory() { return std::make_unique<KafkaFactory>(); }
INSTANTIATE_TEST_SUITE_P(Kafka, BusConformance, ::testing::Values(&MakeKafkaFactory));

// --- A broker in trouble

class KafkaTrouble : public ::testing::Test {
 protected:
  void Open(KafkaBusOptions options) {
    auto bus = OpenKafkaBus(Url(NewTopic(), 2), std::move(options));
    ASSERT_TRUE(bus.ok()) << bus.error().message;
    bus_ = std::move(*bus);
    publisher_ = Must(bus_->Publisher());
  }
  std::future<Status> Send(uint64_t trace, uint64_t span) {
    auto done = std::make_shared<std::promise<Status>>();
    auto answer = done->get_future();
    publisher_->Publish(BusBatch({{trace, span}}),
                        [done](Status status) { done->set_value(std::move(status)); });
    return answer;
  }
  // Reads until every trace has come; how often each did.
  std::map<uint64_t, int> ReadTraces(BusReader& reader, size_t traces) {
    std::map<uint64_t, int> seen;
    for (const Nanos deadline = MonotonicNow() + 90 * kSecond;
         seen.size() < traces && MonotonicNow() < deadline;) {
      auto pieces = reader.Read(100 * kMilli);
      EXPECT_TRUE(pieces.ok());
      for (const BusPiece& piece : *pieces)
        for (size_t row = 0; row < piece.events->size(); ++row) ++seen[piece.events->trace_lo[row]];
    }
    return seen;
  }
  std::unique_ptr<Bus> bus_;
  std::unique_ptr<BusPublisher> publisher_;
};

// Between processes, and in less time: tests/system/cluster/kafka_test.py.
TEST_F(KafkaTrouble, ABrokerThatIsKilledAndComesBackLosesNothingConfirmed_slow) {
  KafkaBusOptions options = QuickOptions();
  options.confirm_patience = 60 * kSecond;
  Open(options);
  auto reader = Must(bus_->Join("tail", {}));
  std::set<uint64_t> confirmed;
  for (uint64_t trace = 1; trace <= 50; ++trace)
    if (Send(trace, 1).get().ok()) confirmed.insert(trace);
  EXPECT_EQ(confirmed.size(), 50u);
  TestBroker::Get().Tell("kill");
  EXPECT_FALSE(bus_->Check().ok());
  // Held within the patience, and confirmed when the broker is back; reading meanwhile gives what is here, or nothing.
  std::vector<std::future<Status>> held;
  for (uint64_t trace = 51; trace <= 60; ++trace) held.push_back(Send(trace, 1));
  EXPECT_TRUE(reader->Read(100 * kMilli).ok());
  EXPECT_FALSE(publisher_->Drain(10 * kMilli).ok());
  EXPECT_GT(bus_->ReadStatus().unsent, 0);
  TestBroker::Get().Tell("start");
  for (uint64_t trace = 51; trace <= 60; ++trace)
    if (held[trace - 51].get().ok()) confirmed.insert(trace);
  EXPECT_EQ(confirmed.size(), 60u);
  const auto seen = ReadTraces(*reader, 60);
  for (const uint64_t trace : confirmed) EXPECT_EQ(seen.count(trace), 1u) << trace;
  EXPECT_TRUE(publisher_->Drain(30 * kSecond).ok());
  EXPECT_EQ(bus_->ReadStatus().unsent, 0);
}

TEST_F(KafkaTrouble, ASilentBrokerMakesSendersComeAgainWithinTheBound) {
  KafkaBusOptions options = QuickOptions();
  options.confirm_patience = 1500 * kMilli;
  options.queue_bytes = 4096;
  Open(options);
  auto reader = Must(bus_->Join("tail", {}));
  ASSERT_TRUE(Send(1, 1).get().ok());
  TestBroker::Get().Tell("freeze");
  std::vector<std::future<Status>> answers;
  for (uint64_t trace = 2; trace <= 40; ++trace) answers.push_back(Send(trace, 1));
  EXPECT_GT(bus_->ReadStatus().refused, 0);  // the queue is full, and says so at once
  for (auto& answer : answers) {
    const Status status = answer.get();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kOverloaded);
  }
  EXPECT_GT(bus_->ReadStatus().failed, 0);
  TestBroker::Get().Tell("thaw");
  // What senders send again is taken, and everything confirmed is read.
  std::set<uint64_t> confirmed = {1};
  for (uint64_t trace = 2; trace <= 40; ++trace) {
    for (const Nanos deadline = MonotonicNow() + 60 * kSecond; MonotonicNow() < deadline;) {
      if (!Send(trace, 1).get().ok()) continue;
      confirmed.insert(trace);
      break;
    }
  }
  EXPECT_EQ(confirmed.size(), 40u);
  const auto seen = ReadTraces(*reader, 40);
  EXPECT_EQ(seen.size(), 40u);
}

TEST_F(KafkaTrouble, MembersOfTwoThreadsHandOverWhileTracesArrive) {
  Open(QuickOptions());
  // Each reader commits what it reads; together they read everything, whoever is there.
  std::mutex mutex;
  std::set<std::pair<uint64_t, uint64_t>> seen;
  const auto read = [&](const std::atomic<bool>& stop) {
    auto reader = Must(bus_->Join("tail", {}));
    while (!stop) {
      const auto pieces = reader->Read(50 * kMilli);
      if (!pieces.ok()) break;
      std::map<int32_t, int64_t> done;
      for (const BusPiece& piece : *pieces) {
        done[piece.at.partition] = piece.at.offset;
        const std::lock_guard lock(mutex);
        for (size_t row = 0; row < piece.events->size(); ++row)
          seen.insert({piece.events->trace_lo[row], piece.events->id1[row]});
      }
      std::vector<BusPosition> positions;
      for (const auto& [p, offset] : done) positions.push_back({p, offset});
      (void)reader->Commit(positions);
    }
  };
  std::atomic<bool> stop_first{false}, stop_second{false};
  std::thread first([&] { read(stop_first); });
  std::thread second;
  constexpr uint64_t kSpans = 60;
  for (uint64_t span = 1; span <= kSpans; ++span) {
    for (uint64_t trace = 1; trace <= 5; ++trace) ASSERT_TRUE(Send(trace, span).get().ok());
    if (span == 15) second = std::thread([&] { read(stop_second); });
    if (span == 40) {
      stop_first = true;
      first.join();
    }
  }
  for (const Nanos deadline = MonotonicNow() + 90 * kSecond; MonotonicNow() < deadline;) {
    const std::lock_guard lock(mutex);
    if (seen.size() == 5 * kSpans) break;
  }
  stop_second = true;
  second.join();
  EXPECT_EQ(seen.size(), 5 * kSpans);
}

// --- What the URL and the file say

TEST(KafkaUrl, SaysBrokersTopicAndProperties) {
  const auto plain = ParseKafkaUrl("kafka://a:9092");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->brokers, "a:9092");
  EXPECT_EQ(plain->topic, "wherefore");
  const auto full = ParseKafkaUrl(
      "kafka://a:9092,b:9093/"
      "my.topic?partitions=6&replicas=3&sasl.password=p%26%3d%25&linger.ms=1");
  ASSERT_TRUE(full.ok()) << full.error().message;
  EXPECT_EQ(full->brokers, "a:9092,b:9093");
  EXPECT_EQ(full->topic, "my.topic");
  EXPECT_EQ(full->partitions, 6);
  EXPECT_EQ(full->replicas, 3);
  ASSERT_EQ(full->properties.size(), 2u);
  EXPECT_EQ(full->properties[0].second, "p&=%");
  EXPECT_EQ(ShownKafkaUrl("kafka://a:1/t?sasl.password=x"), "kafka://a:1/t");
}

TEST(KafkaUrl, RefusesWhatItCannotUse) {
  for (const char* url : {"",
                          "http://a:1",
                          "kafka://",
                          "kafka:///t",
                          "kafka://a/t",
                          "kafka://a:/t",
                          "kafka://a:0/t",
                          "kafka://a:70000/t",
                          "kafka://a:1,/t",
                          "kafka://a:1,b/t",
                          "kafka://u:p@a:1/t",
                          "kafka://a:1/t opic",
                          "kafka://a:1/t/u",
                          "kafka://a:1/..",
                          "kafka://a:1/t?partitions=0",
                          "kafka://a:1/t?partitions=x",
                          "kafka://a:1/t?replicas=-1",
                          "kafka://a:1/t?x",
                          "kafka://a:1/t?=x",
                          "kafka://a:1/t?x=%4",
                          "kafka://a:1/t?x=%zz"}) {
    const auto parsed = ParseKafkaUrl(url);
    ASSERT_FALSE(parsed.ok()) << url;
    EXPECT_EQ(parsed.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(parsed.error().message, Not(HasSubstr("u:p")));
  }
}

TEST(KafkaUrl, PropertiesOfAFile) {
  const auto parsed =
      ParseKafkaProperties("# ours\n\nsasl.username = me\r\n  sasl.password=a=b \n", "f");
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0], std::make_pair(std::string("sasl.username"), std::string("me")));
  EXPECT_EQ((*parsed)[1].second, "a=b");
  const auto bad = ParseKafkaProperties("ok=1\nhunter2\n", "f");
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().message, HasSubstr("f: line 2"));
  EXPECT_THAT(bad.error().message, Not(HasSubstr("hunter2")));
}

TEST(KafkaOpen, NamesThePropertyAndNeverASecret) {
  KafkaBusOptions options;
  options.open_patience = 200 * kMilli;
  const auto message = [&](const std::string& query) {
    const auto bus = OpenKafkaBus("kafka://127.0.0.1:1/t?" + query, options);
    EXPECT_FALSE(bus.ok());
    return bus.ok() ? "" : bus.error().message + bus.error().hint;
  };
  EXPECT_THAT(message("no.such.property=1"), HasSubstr("no.such.property"));
  EXPECT_THAT(message("socket.timeout.ms=soon"), HasSubstr("socket.timeout.ms"));
  const std::string secret =
      message("security.protocol=ssl&ssl.key.pem=hunter2&ssl.certificate.pem=hunter2");
  EXPECT_THAT(secret, Not(HasSubstr("hunter2")));
  // A password in the file passes through, and is not told when nobody answers.
  char path[] = "/tmp/wherefore-bus-XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  std::ofstream(path) << "security.protocol=SASL_PLAINTEXT\nsasl.mechanisms=PLAIN\n"
                         "sasl.username=me\nsasl.password=hunter2\n";
  options.config_file = path;
  const auto bus = OpenKafkaBus("kafka://127.0.0.1:1/t", options);
  ASSERT_FALSE(bus.ok());
  EXPECT_EQ(bus.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(bus.error().message, HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(bus.error().message + bus.error().hint, Not(HasSubstr("hunter2")));
  ::close(fd);
  ::unlink(path);
  options.config_file = "/nowhere/at/all";
  EXPECT_FALSE(OpenKafkaBus("kafka://127.0.0.1:1/t", options).ok());
}

TEST(KafkaOpen, TopicsAreMadeOnceWithAsManyPartitionsAsAsked) {
  const std::string topic = NewTopic();
  KafkaBusOptions options = QuickOptions();
  auto bus = OpenKafkaBus(Url(topic, 3), options);
  ASSERT_TRUE(bus.ok()) << bus.error().message;
  EXPECT_EQ(Must((*bus)->Notes("g"))->partitions(), 3);
  auto again = OpenKafkaBus(Url(topic, 7), options);  // there already: as it is
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(Must((*again)->Notes("g"))->partitions(), 3);
}

}  // namespace
}  // namespace wf::bus::kafka
