#include "bus/kafka/kafka_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "log/log.h"

namespace wf::bus::kafka {
namespace {

constexpr Nanos kReaderPatience = 2 * kSecond;
constexpr Nanos kLagPatience = kSecond;

PartitionsPtr EmptyList(size_t size) {
  return PartitionsPtr(rd_kafka_topic_partition_list_new(static_cast<int>(size)));
}

std::vector<int32_t> Numbers(const rd_kafka_topic_partition_list_t& list) {
  std::vector<int32_t> out;
  for (int i = 0; i < list.cnt; ++i) out.push_back(list.elems[i].partition);
  std::sort(out.begin(), out.end());
  return out;
}

// Whoever has the partitions now begins where the last commit stands: that is no failure of ours.
bool NotOurs(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
         error == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
         error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID || error == RD_KAFKA_RESP_ERR__NO_OFFSET;
}

}  // namespace

Result<std::unique_ptr<KafkaReader>> KafkaReader::Join(std::shared_ptr<KafkaShared> shared,
                                                       std::shared_ptr<KafkaSender> sender,
                                                       const std::string& group,
                                                       BusHandover handover) {
  std::unique_ptr<KafkaReader> reader(
      new KafkaReader(std::move(shared), std::move(sender), std::move(handover)));
  const KafkaBusOptions& options = reader->shared_->options;
  const std::string session = std::to_string(Milliseconds(options.session));
  const std::string heartbeat = std::to_string(std::max(Milliseconds(options.session) / 4, 100));
  const KafkaProperties ours = {
      {"session.timeout.ms", session},
      {"heartbeat.interval.ms", heartbeat},
      {"queued.max.messages.kbytes", std::to_string(options.prefetch_bytes / 1024)},
      // Of a partition, compressed. What was fetched is unpacked whole before anybody counts it, and a text that repeats itself
      // becomes two hundred times as much.
      {"fetch.message.max.bytes", "131072"},
      {"fetch.wait.max.ms", "100"},
      {"fetch.error.backoff.ms", "200"},
      {"partition.assignment.strategy", "range"}};
  const KafkaProperties fixed = {{"group.id", group},
                                 {"enable.auto.commit", "false"},
                                 {"enable.auto.offset.store", "false"},
                                 {"auto.offset.reset", "earliest"},
                                 {"enable.partition.eof", "false"}};
  WF_ASSIGN(ConfPtr conf, MakeConf(*reader->shared_, RD_KAFKA_CONSUMER, ours, fixed));
  rd_kafka_conf_set_opaque(conf.get(), reader.get());
  rd_kafka_conf_set_rebalance_cb(conf.get(), Rebalanced);
  WF_ASSIGN(reader->client_, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  rd_kafka_poll_set_consumer(reader->client_.get());
  const PartitionsPtr topics = EmptyList(1);
  rd_kafka_topic_partition_list_add(topics.get(), reader->shared_->topic().c_str(),
                                    RD_KAFKA_PARTITION_UA);
  if (const auto error = rd_kafka_subscribe(reader->client_.get(), topics.get());
      error != RD_KAFKA_RESP_ERR_NO_ERROR)
    return KafkaError(*reader->shared_, error);
  return reader;
}

KafkaReader::~KafkaReader() {
  if (client_ != nullptr) rd_kafka_consumer_close(client_.get());  // tells what is lost
}

// --- Hand-over, on the reading thread, within Read or the destructor.

void KafkaReader::Rebalanced(rd_kafka_t* client, rd_kafka_resp_err_t what,
                             rd_kafka_topic_partition_list_t* list, void* self) {
  auto& reader = *static_cast<KafkaReader*>(self);
  if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    reader.Gain(list);
    return;
  }
  reader.Lose(list);
  rd_kafka_assign(client, nullptr);
}

void KafkaReader::Gain(rd_kafka_topic_partition_list_t* list) {
  const std::vector<int32_t> gained = Numbers(*list);
  // Where a partition ends is asked before its first piece is read: what comes behind, nobody has read before.
  std::map<int32_t, Held> held;
  const PartitionsPtr committed(rd_kafka_topic_partition_list_copy(list));
  const bool known =
      rd_kafka_committed(client_.get(), committed.get(), Milliseconds(kReaderPatience)) ==
      RD_KAFKA_RESP_ERR_NO_ERROR;
  const auto begins = AskOffsets(client_.get(), *shared_, shared_->topic(), gained,
                                 PartitionPlace::kBegin, kReaderPatience);
  const auto ends = AskOffsets(client_.get(), *shared_, shared_->topic(), gained,
                               PartitionPlace::kEnd, kReaderPatience);
  for (const int32_t partition : gained) {
    Held one;
    one.published_before = ends.ok() ? ends->at(partition) : INT64_MAX;
    one.end = ends.ok() ? ends->at(partition) : 0;
    one.committed = begins.ok() ? begins->at(partition) : 0;
    if (known) {
      const auto* at =
          rd_kafka_topic_partition_list_find(committed.get(), shared_->topic().c_str(), partition);
      if (at != nullptr && at->offset >= 0) one.next = one.committed = at->offset;
    }
    held[partition] = one;
  }
  {
    const std::lock_guard lock(mutex_);
    held_ = std::move(held);
    flow_changed_ = flow_ == Flow::kPaused;
  }
  ++shared_->handovers;
  rd_kafka_assign(client_.get(), list);
  if (handover_.gained) handover_.gained(gained);
  ApplyFlow();
}

void KafkaReader::Lose(const rd_kafka_topic_partition_list_t* list) {
  const std::vector<int32_t> lost = Numbers(*list);
  if (!lost.empty()) {
    ++shared_->handovers;
    if (reading_ != nullptr) reading_->clear();  // eager: all of it
    if (handover_.lost) handover_.lost(lost);
  }
  const std::lock_guard lock(mutex_);
  held_.clear();
}

void KafkaReader::SetFlow(Flow flow) {
  const std::lock_guard lock(mutex_);
  flow_changed_ = flow_changed_ || flow_ != flow;
  flow_ = flow;
}

void KafkaReader::ApplyFlow() {
  PartitionsPtr list;
  Flow flow;
  {
    const std::lock_guard lock(mutex_);
    if (!flow_changed_) return;
    flow_changed_ = false;
    flow = flow_;
    list = EmptyList(held_.size());
    for (const auto& [partition, held] : held_)
      rd_kafka_topic_partition_list_add(list.get(), shared_->topic().c_str(), partition);
  }
  if (list->cnt == 0) return;
  if (flow == Flow::kPaused) {
    rd_kafka_pause_partitions(client_.get(), list.get());
  } else {
    rd_kafka_resume_partitions(client_.get(), list.get());
  }
}

// --- Reading

Result<std::vector<BusPiece>> KafkaReader::Read(Nanos patience) {
  std::vector<BusPiece> out;
  reading_ = &out;
  ApplyFlow();
  const Nanos deadline = MonotonicNow() + patience;
  size_t bytes = 0;
  if (skipped_) {
    reading_ = nullptr;
    return EnvironmentError(
        fmt::format("bus {}: a piece that cannot be decoded can be neither kept "
                    "aside nor read again",
                    shared_->topic()),
        "join again");
  }
  while (out.size() < shared_->options.read_pieces && bytes < shared_->options.read_bytes) {
    const Nanos wait = out.empty() ? deadline - MonotonicNow() : 0;
    MessagePtr message(rd_kafka_consumer_poll(client_.get(), Milliseconds(wait)));
    if (message == nullptr) {
      if (!out.empty() || MonotonicNow() >= deadline) break;
      continue;
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      std::array<char, 256> text{};
      if (rd_kafka_fatal_error(client_.get(), text.data(), text.size()) !=
          RD_KAFKA_RESP_ERR_NO_ERROR) {
        reading_ = nullptr;
        return EnvironmentError(fmt::format("bus {}: {}", shared_->topic(), text.data()),
                                "join again");
      }
      // A broker that is away: librdkafka goes on trying, and so do we.
      log::Debug("kafka: {}", rd_kafka_message_errstr(message.get()));
      continue;
    }
    if (!Take(*message, out, bytes)) break;
  }
  reading_ = nullptr;
  return out;
}

bool KafkaReader::Take(const rd_kafka_message_t& message, std::vector<BusPiece>& out,
                       size_t& bytes) {
  const std::string_view payload(static_cast<const char*>(message.payload), message.len);
  BusPiece piece;
  piece.at = {message.partition, message.offset};
  auto decoded = DecodePiece(payload);
  if (!decoded.ok()) {
    const Status kept = PutAside(payload, piece.at, decoded.error().message, kReaderPatience);
    if (!kept.ok()) {
      log::Warn("{}; a piece that cannot be decoded is kept aside later", kept.error().message);
      skipped_ = !ReadAgain(piece.at);
      return false;
    }
    ++shared_->poisoned;
    log::Error("bus {}: partition {}, offset {}: {}; kept in {}", shared_->topic(),
               piece.at.partition, piece.at.offset, decoded.error().message,
               shared_->poisoned_topic());
  }
  {
    const std::lock_guard lock(mutex_);
    const auto at = held_.find(message.partition);
    if (at == held_.end()) return true;  // not ours any more
    Held& held = at->second;
    if (held.next >= 0 && message.offset > held.next) {
      shared_->missed += message.offset - held.next;
      log::Error("bus {}: partition {}: the broker deleted {} pieces before they were read",
                 shared_->topic(), message.partition, message.offset - held.next);
    }
    held.next = message.offset + 1;
    held.end = std::max(held.end, held.next);
    piece.before = message.offset < held.published_before ? BusPiece::Before::kMaybeRead
                                                          : BusPiece::Before::kNotRead;
  }
  bytes += message.len;
  piece.events =
      std::make_shared<const EventBatch>(decoded.ok() ? std::move(*decoded) : EventBatch());
  out.push_back(std::move(piece));
  return true;
}

bool KafkaReader::ReadAgain(BusPosition at) {
  const PartitionsPtr list = EmptyList(1);
  rd_kafka_topic_partition_list_add(list.get(), shared_->topic().c_str(), at.partition)->offset =
      at.offset;
  rd_kafka_error_t* error =
      rd_kafka_seek_partitions(client_.get(), list.get(), Milliseconds(kReaderPatience));
  const bool sought = error == nullptr && list->elems[0].err == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (error != nullptr) rd_kafka_error_destroy(error);
  return sought;
}

Status KafkaReader::PutAside(std::string_view bytes, BusPosition at, const std::string& why,
                             Nanos patience) {
  return sender_->SendAndWait({{shared_->poisoned_topic(),
                                0,
                                std::string(bytes),
                                {{"partition", std::to_string(at.partition)},
                                 {"offset", std::to_string(at.offset)},
                                 {"reason", why}}}},
                              patience);
}

Status KafkaReader::SetAside(const BusPiece& piece, const std::string& why) {
  WF_TRY(PutAside(EncodePiece(*piece.events), piece.at, why, shared_->options.confirm_patience));
  ++shared_->set_aside;
  return {};
}

// --- Committing

Status KafkaReader::Commit(const std::vector<BusPosition>& done) {
  const auto error = CommitHeld(client_.get(), shared_->topic(), done, mutex_, held_);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR && !NotOurs(error)) return KafkaError(*shared_, error);
  return {};
}

int64_t KafkaReader::partitions() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(held_.size());
}

int64_t KafkaReader::Lag() {
  std::vector<int32_t> ask;
  {
    const std::lock_guard lock(mutex_);
    if (const Nanos now = MonotonicNow(); now - asked_ >= kSecond) {
      asked_ = now;
      for (const auto& [partition, held] : held_) ask.push_back(partition);
    }
  }
  // A broker that is away has no news.
  if (!ask.empty()) {
    const auto ends = AskOffsets(client_.get(), *shared_, shared_->topic(), ask,
                                 PartitionPlace::kEnd, kLagPatience);
    const std::lock_guard lock(mutex_);
    for (auto& [partition, held] : held_)
      if (ends.ok() && ends->count(partition) != 0)
        held.end = std::max(held.end, ends->at(partition));
  }
  const std::lock_guard lock(mutex_);
  int64_t lag = 0;
  for (const auto& [partition, held] : held_)
    lag += std::max<int64_t>(held.end - held.committed, 0);
  return lag;
}

}  // namespace wf::bus::kafka
