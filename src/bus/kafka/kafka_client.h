// What every client of this folder shares: librdkafka's objects as values that clean up, settings, errors, the log.
#pragma once

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "bus/kafka/kafka_bus.h"
#include "bus/kafka/kafka_url.h"

namespace wf::bus::kafka {

struct ConfDeleter {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
using ConfPtr = std::unique_ptr<rd_kafka_conf_t, ConfDeleter>;

struct PartitionsDeleter {
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
};
using PartitionsPtr = std::unique_ptr<rd_kafka_topic_partition_list_t, PartitionsDeleter>;

struct QueueDeleter {
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
};
using QueuePtr = std::unique_ptr<rd_kafka_queue_t, QueueDeleter>;

struct EventDeleter {
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
};
using EventPtr = std::unique_ptr<rd_kafka_event_t, EventDeleter>;

struct MessageDeleter {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};
using MessagePtr = std::unique_ptr<rd_kafka_message_t, MessageDeleter>;

struct ClientDeleter {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
};
using ClientPtr = std::unique_ptr<rd_kafka_t, ClientDeleter>;

using KafkaProperties = std::vector<std::pair<std::string, std::string>>;

// Shared by the clients of one bus; counters for BusStatus.
struct KafkaShared {
  KafkaUrl url;
  KafkaBusOptions options;
  KafkaProperties user;    // of the file, then of the URL
  int32_t partitions = 0;  // of the topic, as found when the bus was opened
  std::atomic<int64_t> unsent{0}, poisoned{0}, set_aside{0}, missed{0}, refused{0}, failed{0},
      handovers{0};

  // Why the brokers will not have us, told by the client that asks them; empty: they may only be away.
  std::mutex refused_mutex;
  std::string refused_because;

  const std::string& topic() const { return url.topic; }
  std::string delayed_topic() const { return url.topic + ".delayed"; }
  std::string poisoned_topic() const { return url.topic + ".poisoned"; }
};

// `ours` first, then the user's, then `fixed`, without which we would lose something. A user's property that is for
// another kind of client than this is left to that. kBadInput names the property, and its value unless it is secret.
Result<ConfPtr> MakeConf(const KafkaShared& shared, rd_kafka_type_t type,
                         const KafkaProperties& ours, const KafkaProperties& fixed);
// Takes the conf.
Result<ClientPtr> MakeClient(rd_kafka_type_t type, ConfPtr conf);

// "bus wherefore at host:9092: Broker: …"
std::string KafkaText(const KafkaShared& shared, rd_kafka_resp_err_t error);
Error KafkaError(const KafkaShared& shared, rd_kafka_resp_err_t error);

// Where partitions begin or end. Only these within the patience: a broker that is away is not waited for, as it is by
// rd_kafka_query_watermark_offsets of 2.0.2, whatever its timeout.
enum class PartitionPlace : int64_t {
  kEnd = RD_KAFKA_OFFSET_END,
  kBegin = RD_KAFKA_OFFSET_BEGINNING
};
Result<std::map<int32_t, int64_t>> AskOffsets(rd_kafka_t* client, const KafkaShared& shared,
                                              const std::string& topic,
                                              const std::vector<int32_t>& partitions,
                                              PartitionPlace place, Nanos patience);

// Commits the offsets behind these places. Waits for a broker that is away for five seconds only, where the plain call waits
// for as long as it takes.
rd_kafka_resp_err_t CommitOffsets(rd_kafka_t* client, const std::string& topic,
                                  const std::vector<BusPosition>& done);

// Of the partitions that are held, by number, under their mutex; what was committed is noted there.
template <typename Held>
rd_kafka_resp_err_t CommitHeld(rd_kafka_t* client, const std::string& topic,
                               const std::vector<BusPosition>& done, std::mutex& mutex,
                               std::map<int32_t, Held>& held) {
  std::vector<BusPosition> ours;
  {
    const std::lock_guard lock(mutex);
    for (const BusPosition& at : done)
      if (held.count(at.partition) != 0) ours.push_back(at);
  }
  if (ours.empty()) return RD_KAFKA_RESP_ERR_NO_ERROR;
  const auto error = CommitOffsets(client, topic, ours);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return error;
  const std::lock_guard lock(mutex);
  for (const BusPosition& at : ours)
    if (const auto one = held.find(at.partition); one != held.end())
      one->second.committed = std::max(one->second.committed, at.offset + 1);
  return error;
}

inline int Milliseconds(Nanos time) {
  return static_cast<int>(std::min<Nanos>(std::max<Nanos>(time, 0) / kMilli, INT32_MAX));
}

}  // namespace wf::bus::kafka
