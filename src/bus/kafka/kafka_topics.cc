#include "bus/kafka/kafka_topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

namespace wf::bus::kafka {
namespace {

constexpr Nanos kTopicsPatience = kSecond;

struct TopicDeleter {
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
};
struct NewTopicDeleter {
  void operator()(rd_kafka_NewTopic_t* topic) const { rd_kafka_NewTopic_destroy(topic); }
};
struct AdminOptionsDeleter {
  void operator()(rd_kafka_AdminOptions_t* options) const {
    rd_kafka_AdminOptions_destroy(options);
  }
};
struct MetadataDeleter {
  void operator()(const rd_kafka_metadata_t* metadata) const {
    rd_kafka_metadata_destroy(metadata);
  }
};

Status Create(rd_kafka_t* client, const KafkaShared& shared, const std::string& topic,
              int32_t partitions, Nanos patience) {
  std::array<char, 256> text{};
  const std::unique_ptr<rd_kafka_NewTopic_t, NewTopicDeleter> wanted(rd_kafka_NewTopic_new(
      topic.c_str(), partitions, shared.url.replicas, text.data(), text.size()));
  if (wanted == nullptr)
    return BadInput(fmt::format("topic {}: {}", topic, text.data()), "check the bus URL");
  // Room for the largest piece and what Kafka puts around it.
  const std::string most = std::to_string(shared.options.limits.most + 65536);
  rd_kafka_NewTopic_set_config(wanted.get(), "max.message.bytes", most.c_str());

  const std::unique_ptr<rd_kafka_AdminOptions_t, AdminOptionsDeleter> options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), Milliseconds(patience), text.data(),
                                            text.size());
  const QueuePtr queue(rd_kafka_queue_new(client));
  rd_kafka_NewTopic_t* list[] = {wanted.get()};
  rd_kafka_CreateTopics(client, list, 1, options.get(), queue.get());
  const EventPtr event(rd_kafka_queue_poll(queue.get(), Milliseconds(patience) + 500));
  if (event == nullptr) return KafkaError(shared, RD_KAFKA_RESP_ERR__TIMED_OUT);
  if (const auto error = rd_kafka_event_error(event.get()); error != RD_KAFKA_RESP_ERR_NO_ERROR)
    return KafkaError(shared, error);
  size_t count = 0;
  const auto* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  for (size_t i = 0; i < count; ++i) {
    const auto error = rd_kafka_topic_result_error(results[i]);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR || error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
      continue;  // another process was quicker
    return EnvironmentError(
        fmt::format("topic {} cannot be created: {}", topic, rd_kafka_err2str(error)),
        fmt::format("create it by hand, with {} partitions and max.message.bytes={}", partitions,
                    most));
  }
  return {};
}

Result<int32_t> Ensure(rd_kafka_t* client, KafkaShared& shared, const std::string& topic,
                       int32_t partitions, Nanos deadline) {
  bool made = false;
  for (;;) {
    const Nanos left = std::max<Nanos>(deadline - MonotonicNow(), kMilli);
    const auto found = CountPartitions(client, shared, topic, std::min(left, kTopicsPatience));
    if (found.ok()) return found;
    rd_kafka_poll(client, 0);  // lets it say why
    {
      const std::lock_guard lock(shared.refused_mutex);
      if (!shared.refused_because.empty())
        return Denied(fmt::format("bus {} at {}: {}", shared.topic(), shared.url.brokers,
                                  shared.refused_because),
                      "check the properties of --bus-config");
    }
    if (found.error().code == ErrorCode::kNotFound && !made) {
      WF_TRY(Create(client, shared, topic, partitions, left));
      made = true;
    }
    if (MonotonicNow() >= deadline) return found.error();
    // A topic just made is not known to every broker at once.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

Result<int32_t> CountPartitions(rd_kafka_t* client, const KafkaShared& shared,
                                const std::string& topic, Nanos patience) {
  const std::unique_ptr<rd_kafka_topic_t, TopicDeleter> handle(
      rd_kafka_topic_new(client, topic.c_str(), nullptr));
  if (handle == nullptr) return KafkaError(shared, rd_kafka_last_error());
  const rd_kafka_metadata_t* answer = nullptr;
  const auto error = rd_kafka_metadata(client, 0, handle.get(), &answer, Milliseconds(patience));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaError(shared, error);
  const std::unique_ptr<const rd_kafka_metadata_t, MetadataDeleter> metadata(answer);
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const rd_kafka_metadata_topic_t& one = metadata->topics[i];
    if (topic != one.topic) continue;
    if (one.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
      return NotFound(fmt::format("topic {}: no such topic", topic), "make it");
    if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaError(shared, one.err);
    if (one.partition_cnt > 0) return one.partition_cnt;
  }
  return NotFound(fmt::format("topic {}: no such topic", topic), "make it");
}

Result<int32_t> EnsureTopics(rd_kafka_t* client, KafkaShared& shared) {
  const Nanos deadline = MonotonicNow() + shared.options.open_patience;
  WF_ASSIGN(const int32_t partitions,
            Ensure(client, shared, shared.topic(), shared.url.partitions, deadline));
  WF_ASSIGN(const int32_t delayed,
            Ensure(client, shared, shared.delayed_topic(), partitions, deadline));
  if (delayed < partitions) {
    return EnvironmentError(
        fmt::format("topic {} has {} partitions, {} has {}", shared.delayed_topic(), delayed,
                    shared.topic(), partitions),
        "give it as many, with Kafka's kafka-topics --alter");
  }
  WF_TRY(Ensure(client, shared, shared.poisoned_topic(), 1, deadline));
  return partitions;
}

}  // namespace wf::bus::kafka
