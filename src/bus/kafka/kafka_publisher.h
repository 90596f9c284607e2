// The publisher on Kafka: splits a batch, sends its pieces, and reports when all are confirmed.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "bus/kafka/kafka_sender.h"

namespace wf::bus::kafka {

class KafkaPublisher : public BusPublisher {
 public:
  KafkaPublisher(std::shared_ptr<KafkaShared> shared, std::shared_ptr<KafkaSender> sender)
      : shared_(std::move(shared)), sender_(std::move(sender)) {}
  ~KafkaPublisher()
      override;  // waits for what is under way, which ends within the confirm patience

  void Publish(EventBatch batch, Done done) override;
  Status Drain(Nanos patience) override;

 private:
  struct Parts;  // of a batch
  bool Enter(size_t bytes);
  void Finish(size_t bytes);

  const std::shared_ptr<KafkaShared> shared_;
  const std::shared_ptr<KafkaSender> sender_;
  std::mutex mutex_;
  std::condition_variable idle_;
  size_t batches_ = 0, bytes_ = 0;  // under way
};

}  // namespace wf::bus::kafka
