#include "bus/kafka/kafka_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "log/log.h"

namespace wf::bus::kafka {
namespace {

constexpr Nanos kCommitPatience = 5 * kSecond;

// librdkafka's lines. A broker that is away is no error of ours, and it says so itself when it matters.
void LogLine(const rd_kafka_t*, int level, const char* facility, const char* text) {
  if (level <= 4 && log::LogOnce(fmt::format("kafka {}", facility))) {
    log::Warn("kafka {}: {}", facility, text);
  } else {
    log::Debug("kafka {}: {}", facility, text);
  }
}

Status Set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  std::array<char, 512> text{};
  const auto result =
      rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text.data(), text.size());
  if (result == RD_KAFKA_CONF_OK) return {};
  if (result == RD_KAFKA_CONF_UNKNOWN)
    return BadInput(
        fmt::format("bus: no property `{}` in librdkafka {}", name, rd_kafka_version_str()),
        "see librdkafka's CONFIGURATION.md");
  return BadInput(IsSecretProperty(name) ? fmt::format("bus: the value of {} is not valid", name)
                                         : fmt::format("bus: {}: {}", name, text.data()),
                  "see librdkafka's CONFIGURATION.md");
}

// The user's properties hold for every client; a consumer's would make a producer warn, and the other way round.
bool ForType(std::string_view name, rd_kafka_type_t type) {
  constexpr std::array<std::string_view, 14> kConsumer = {"group.",
                                                          "session.timeout.ms",
                                                          "heartbeat.interval.ms",
                                                          "max.poll.",
                                                          "fetch.",
                                                          "queued.",
                                                          "auto.",
                                                          "enable.auto.",
                                                          "isolation.level",
                                                          "check.crcs",
                                                          "partition.assignment.",
                                                          "coordinator.query.",
                                                          "consume.callback",
                                                          "enable.partition.eof"};
  constexpr std::array<std::string_view, 14> kProducer = {
      "enable.idempotence", "queue.buffering.",
      "linger.ms",          "batch.",
      "compression.",       "message.timeout.",
      "delivery.",          "acks",
      "request.required.",  "retries",
      "retry.backoff.",     "message.send.max.",
      "transactional.id",   "sticky.partitioning."};
  const auto& others = type == RD_KAFKA_PRODUCER ? kConsumer : kProducer;
  return std::none_of(others.begin(), others.end(), [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

}  // namespace

Result<ConfPtr> MakeConf(const KafkaShared& shared, rd_kafka_type_t type,
                         const KafkaProperties& ours, const KafkaProperties& fixed) {
  ConfPtr conf(rd_kafka_conf_new());
  WF_TRY(Set(conf.get(), "bootstrap.servers", shared.url.brokers));
  WF_TRY(Set(conf.get(), "client.id", shared.options.client_id));
  // Back soon after a broker is back.
  WF_TRY(Set(conf.get(), "reconnect.backoff.max.ms", "1000"));
  WF_TRY(Set(conf.get(), "log.connection.close", "false"));
  for (const auto& [name, value] : ours) WF_TRY(Set(conf.get(), name, value));
  for (const auto& [name, value] : shared.user) {
    if (ForType(name, type)) WF_TRY(Set(conf.get(), name, value));
  }
  for (const auto& [name, value] : fixed) WF_TRY(Set(conf.get(), name, value));
  rd_kafka_conf_set_log_cb(conf.get(), LogLine);
  return conf;
}

Result<ClientPtr> MakeClient(rd_kafka_type_t type, ConfPtr conf) {
  std::array<char, 512> text{};
  rd_kafka_t* client = rd_kafka_new(type, conf.get(), text.data(), text.size());
  if (client == nullptr)
    return BadInput(fmt::format("bus: {}", text.data()), "see librdkafka's CONFIGURATION.md");
  (void)conf.release();  // the client's now
  return ClientPtr(client);
}

Result<std::map<int32_t, int64_t>> AskOffsets(rd_kafka_t* client, const KafkaShared& shared,
                                              const std::string& topic,
                                              const std::vector<int32_t>& partitions,
                                              PartitionPlace place, Nanos patience) {
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  // The request takes a time, and these two stand for none.
  for (const int32_t partition : partitions)
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset =
        static_cast<int64_t>(place);
  const auto error = rd_kafka_offsets_for_times(client, list.get(), Milliseconds(patience));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaError(shared, error);
  std::map<int32_t, int64_t> out;
  for (int i = 0; i < list->cnt; ++i) {
    const rd_kafka_topic_partition_t& one = list->elems[i];
    if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaError(shared, one.err);
    if (one.offset < 0) return KafkaError(shared, RD_KAFKA_RESP_ERR__TIMED_OUT);
    out[one.partition] = one.offset;
  }
  return out;
}

rd_kafka_resp_err_t CommitOffsets(rd_kafka_t* client, const std::string& topic,
                                  const std::vector<BusPosition>& done) {
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(done.size())));
  for (const BusPosition& at : done)
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), at.partition)->offset =
        at.offset + 1;
  const QueuePtr queue(rd_kafka_queue_new(client));
  const auto sent = rd_kafka_commit_queue(client, list.get(), queue.get(), nullptr, nullptr);
  if (sent != RD_KAFKA_RESP_ERR_NO_ERROR) return sent;
  const EventPtr event(rd_kafka_queue_poll(queue.get(), Milliseconds(kCommitPatience)));
  return event == nullptr ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event.get());
}

std::string KafkaText(const KafkaShared& shared, rd_kafka_resp_err_t error) {
  return fmt::format("bus {} at {}: {}", shared.topic(), shared.url.brokers,
                     rd_kafka_err2str(error));
}

Error KafkaError(const KafkaShared& shared, rd_kafka_resp_err_t error) {
  return EnvironmentError(KafkaText(shared, error),
                          "is the broker running, and is access allowed?");
}

}  // namespace wf::bus::kafka
