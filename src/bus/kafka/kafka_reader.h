// One member of a consumer group.
//
// Hand-over is eager: at every change of the group all members give up all partitions, which are then
// assigned anew. Cooperative hand-over would keep a member's partitions, but every stage of a tailer would
// have to separate work of lost partitions from work of kept ones. Giving up all makes a hand-over the same
// as a restart, which must be right anyway, and costs re-reading some seconds when members join or leave.
// `group.instance.id` in the properties avoids even that when a member is back within its session.
//
// Only what the caller commits is committed. When the broker has removed this member, Read reports it, and
// later commits of the member are ignored.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bus/kafka/kafka_sender.h"

namespace wf::bus::kafka {

class KafkaReader : public BusReader {
 public:
  static Result<std::unique_ptr<KafkaReader>> Join(std::shared_ptr<KafkaShared> shared,
                                                   std::shared_ptr<KafkaSender> sender,
                                                   const std::string& group, BusHandover handover);
  ~KafkaReader() override;

  Result<std::vector<BusPiece>> Read(Nanos patience) override;
  Status Commit(const std::vector<BusPosition>& done) override;
  void SetFlow(Flow flow) override;
  Status SetAside(const BusPiece& piece, const std::string& why) override;

  int64_t partitions() const;
  // Published and not committed. Asks the broker, at most every second.
  int64_t Lag();

 private:
  struct Held {
    int64_t published_before = 0;  // the end when the partition was gained
    int64_t next = -1;             // to be read; -1: not yet known
    int64_t committed = 0;         // the next after the last commit
    int64_t end = 0;
  };

  KafkaReader(std::shared_ptr<KafkaShared> shared, std::shared_ptr<KafkaSender> sender,
              BusHandover handover)
      : shared_(std::move(shared)), sender_(std::move(sender)), handover_(std::move(handover)) {}
  static void Rebalanced(rd_kafka_t*, rd_kafka_resp_err_t what,
                         rd_kafka_topic_partition_list_t* list, void* self);
  void Gain(rd_kafka_topic_partition_list_t* list);
  void Lose(const rd_kafka_topic_partition_list_t* list);
  void ApplyFlow();
  // False: it could not be kept aside, and is read again.
  bool Take(const rd_kafka_message_t& message, std::vector<BusPiece>& out, size_t& bytes);
  bool ReadAgain(BusPosition at);
  Status PutAside(std::string_view bytes, BusPosition at, const std::string& why, Nanos patience);

  const std::shared_ptr<KafkaShared> shared_;
  const std::shared_ptr<KafkaSender> sender_;
  const BusHandover handover_;
  ClientPtr client_;
  bool skipped_ = false;                      // a piece was neither kept aside nor read again
  std::vector<BusPiece>* reading_ = nullptr;  // what the running Read has so far

  mutable std::mutex mutex_;  // guards the rest
  std::map<int32_t, Held> held_;
  Flow flow_ = Flow::kOpen;
  bool flow_changed_ = false;
  Nanos asked_ = 0;
};

}  // namespace wf::bus::kafka
