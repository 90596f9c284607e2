#include "bus/kafka/kafka_notes.h"

#include <algorithm>
#include <map>

#include "log/log.h"

namespace wf::bus::kafka {
namespace {

constexpr Nanos kAskPatience = 5 * kSecond;
// The first note of a Read may still be on its way from the broker; the others then are here.
constexpr int kFirstMs = 20;

}  // namespace

Result<std::unique_ptr<KafkaNotes>> KafkaNotes::Open(std::shared_ptr<KafkaShared> shared,
                                                     std::shared_ptr<KafkaSender> sender,
                                                     const std::string& group) {
  std::unique_ptr<KafkaNotes> notes(new KafkaNotes(std::move(shared), std::move(sender)));
  const KafkaProperties ours = {{"queued.max.messages.kbytes", "2048"},
                                {"fetch.message.max.bytes", "262144"},
                                {"fetch.wait.max.ms", "100"}};
  const KafkaProperties fixed = {{"group.id", group + ".delayed"},
                                 {"enable.auto.commit", "false"},
                                 {"enable.auto.offset.store", "false"},
                                 {"auto.offset.reset", "earliest"}};
  WF_ASSIGN(ConfPtr conf, MakeConf(*notes->shared_, RD_KAFKA_CONSUMER, ours, fixed));
  WF_ASSIGN(notes->client_, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  rd_kafka_poll_set_consumer(notes->client_.get());
  return notes;
}

KafkaNotes::~KafkaNotes() {
  if (client_ != nullptr) rd_kafka_consumer_close(client_.get());
}

Status KafkaNotes::Put(const std::vector<BusNote>& notes, Nanos patience) {
  std::vector<KafkaSender::Message> messages;
  messages.reserve(notes.size());
  for (const BusNote& note : notes)
    messages.push_back({shared_->delayed_topic(), note.at.partition, note.text, {}});
  // Counted from the end as it was before: while we wait, a Read may have seen some of them already.
  std::map<int32_t, int64_t> ends;
  {
    const std::lock_guard lock(mutex_);
    for (const BusNote& note : notes)
      if (const auto at = held_.find(note.at.partition); at != held_.end())
        ++ends.try_emplace(note.at.partition, at->second.end).first->second;
  }
  WF_TRY(sender_->SendAndWait(std::move(messages), patience));
  const std::lock_guard lock(mutex_);
  for (const auto& [partition, end] : ends)
    if (const auto at = held_.find(partition); at != held_.end())
      at->second.end = std::max(at->second.end, end);
  return {};
}

Status KafkaNotes::Hold(const std::vector<int32_t>& partitions) {
  const std::lock_guard one_at_a_time(reading_);
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const int32_t partition : partitions)
    rd_kafka_topic_partition_list_add(list.get(), shared_->delayed_topic().c_str(), partition)
        ->offset = RD_KAFKA_OFFSET_STORED;
  if (const auto error = rd_kafka_assign(client_.get(), partitions.empty() ? nullptr : list.get());
      error != RD_KAFKA_RESP_ERR_NO_ERROR)
    return KafkaError(*shared_, error);
  std::map<int32_t, Held> held;
  const PartitionsPtr committed(rd_kafka_topic_partition_list_copy(list.get()));
  const bool known = !partitions.empty() &&
                     rd_kafka_committed(client_.get(), committed.get(),
                                        Milliseconds(kAskPatience)) == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (known) {
    const std::string topic = shared_->delayed_topic();
    const auto begins = AskOffsets(client_.get(), *shared_, topic, partitions,
                                   PartitionPlace::kBegin, kAskPatience);
    const auto ends =
        AskOffsets(client_.get(), *shared_, topic, partitions, PartitionPlace::kEnd, kAskPatience);
    for (int i = 0; begins.ok() && ends.ok() && i < committed->cnt; ++i) {
      const int32_t partition = committed->elems[i].partition;
      held[partition] = {std::max(begins->at(partition), committed->elems[i].offset),
                         ends->at(partition)};
    }
  }
  for (const int32_t partition : partitions) held.try_emplace(partition);
  const std::lock_guard lock(mutex_);
  held_ = std::move(held);
  return {};
}

Result<std::vector<BusNote>> KafkaNotes::Read(size_t limit) {
  const std::lock_guard one_at_a_time(reading_);
  std::vector<BusNote> out;
  while (out.size() < limit) {
    const MessagePtr message(rd_kafka_consumer_poll(client_.get(), out.empty() ? kFirstMs : 0));
    if (message == nullptr) break;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      log::Debug("kafka: {}", rd_kafka_message_errstr(message.get()));
      continue;
    }
    const std::lock_guard lock(mutex_);
    const auto at = held_.find(message->partition);
    if (at == held_.end()) continue;
    at->second.end = std::max(at->second.end, message->offset + 1);
    out.push_back({{message->partition, message->offset},
                   std::string(static_cast<const char*>(message->payload), message->len)});
  }
  return out;
}

Status KafkaNotes::Commit(const std::vector<BusPosition>& done) {
  const auto error = CommitHeld(client_.get(), shared_->delayed_topic(), done, mutex_, held_);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaError(*shared_, error);
  return {};
}

int64_t KafkaNotes::waiting() const {
  const std::lock_guard lock(mutex_);
  int64_t waiting = 0;
  for (const auto& [partition, held] : held_)
    waiting += std::max<int64_t>(held.end - held.committed, 0);
  return waiting;
}

}  // namespace wf::bus::kafka
