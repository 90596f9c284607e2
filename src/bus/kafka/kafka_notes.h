// Notes on Kafka: the topic TOPIC.delayed, partition by partition beside the pieces. Its reader is no member of a group:
// who reads a partition's pieces reads its notes, so Hold says which. Commits go under the name GROUP.delayed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bus/kafka/kafka_sender.h"

namespace wf::bus::kafka {

class KafkaNotes : public BusNotes {
 public:
  static Result<std::unique_ptr<KafkaNotes>> Open(std::shared_ptr<KafkaShared> shared,
                                                  std::shared_ptr<KafkaSender> sender,
                                                  const std::string& group);
  ~KafkaNotes() override;

  int32_t partitions() const override { return shared_->partitions; }
  Status Put(const std::vector<BusNote>& notes, Nanos patience) override;
  Status Hold(const std::vector<int32_t>& partitions) override;
  Result<std::vector<BusNote>> Read(size_t limit) override;
  Status Commit(const std::vector<BusPosition>& done) override;
  int64_t waiting() const override;

 private:
  struct Held {
    int64_t committed = 0, end = 0;
  };

  KafkaNotes(std::shared_ptr<KafkaShared> shared, std::shared_ptr<KafkaSender> sender)
      : shared_(std::move(shared)), sender_(std::move(sender)) {}

  const std::shared_ptr<KafkaShared> shared_;
  const std::shared_ptr<KafkaSender> sender_;
  ClientPtr client_;
  std::mutex reading_;
  mutable std::mutex mutex_;
  std::map<int32_t, Held> held_;
};

}  // namespace wf::bus::kafka
