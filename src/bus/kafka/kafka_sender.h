// KafkaSender: messages to topics, each confirmed by all replicas in sync before its sender hears of it. The producer is
// idempotent: a message that is sent again by librdkafka after a lost answer stands once in its partition, and in its
// order. Whatever is not confirmed within the patience fails; the broker may have it nevertheless.
//
// A producer that has met an error it cannot go on after (the broker forgot its numbers) is replaced by a new one.
//
// Thread safety: all calls, from any thread; `sent` is called by the sender's own thread, or by Send itself.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bus/kafka/kafka_client.h"

namespace wf::bus::kafka {

class KafkaSender {
 public:
  static Result<std::unique_ptr<KafkaSender>> Make(KafkaShared& shared);
  ~KafkaSender();  // what is under way fails

  struct Message {
    std::string topic;
    int32_t partition = 0;
    std::string bytes;
    std::vector<std::pair<std::string, std::string>> headers;
  };
  using Sent = std::function<void(rd_kafka_resp_err_t)>;
  void Send(Message message, Sent sent);
  // Sends all and waits for the last; the first error there was.
  Status SendAndWait(std::vector<Message> messages, Nanos patience);

 private:
  explicit KafkaSender(KafkaShared& shared) : shared_(shared) {}
  Result<std::shared_ptr<rd_kafka_t>> NewProducer();
  std::shared_ptr<rd_kafka_t> producer();
  void Poll();

  KafkaShared& shared_;
  std::mutex mutex_;
  std::shared_ptr<rd_kafka_t> producer_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace wf::bus::kafka
