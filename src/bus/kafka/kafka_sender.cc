#include "bus/kafka/kafka_sender.h"

#include <array>
#include <condition_variable>

#include "log/log.h"

namespace wf::bus::kafka {
namespace {

constexpr int kPollMs = 100;

// Lives until the broker has answered: librdkafka borrows the bytes.
struct UnderWay {
  std::string bytes;
  KafkaSender::Sent sent;
  KafkaShared* shared;
};

void Delivered(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
  const std::unique_ptr<UnderWay> done(static_cast<UnderWay*>(message->_private));
  --done->shared->unsent;
  done->sent(message->err);
}

// What is under way is told to have failed before the producer goes.
void EndProducer(rd_kafka_t* producer) {
  rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  rd_kafka_flush(producer, 5'000);
  rd_kafka_destroy(producer);
}

}  // namespace

Result<std::unique_ptr<KafkaSender>> KafkaSender::Make(KafkaShared& shared) {
  std::unique_ptr<KafkaSender> sender(new KafkaSender(shared));
  WF_ASSIGN(sender->producer_, sender->NewProducer());
  sender->thread_ = std::thread([raw = sender.get()] { raw->Poll(); });
  return sender;
}

KafkaSender::~KafkaSender() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

Result<std::shared_ptr<rd_kafka_t>> KafkaSender::NewProducer() {
  const KafkaBusOptions& options = shared_.options;
  const std::string most = std::to_string(options.limits.most + 65536);
  // Our own limits are narrower, and are told as such; these only keep librdkafka's out of the way.
  const std::string kilobytes = std::to_string(options.queue_bytes / 1024 * 2 + 65536);
  const KafkaProperties ours = {
      {"linger.ms", "5"},
      {"compression.type", "lz4"},
      {"message.timeout.ms", std::to_string(Milliseconds(options.confirm_patience))},
      {"queue.buffering.max.messages", "1000000"},
      {"queue.buffering.max.kbytes", kilobytes},
      {"message.max.bytes", most}};
  const KafkaProperties fixed = {{"enable.idempotence", "true"}, {"acks", "all"}};
  WF_ASSIGN(ConfPtr conf, MakeConf(shared_, RD_KAFKA_PRODUCER, ours, fixed));
  rd_kafka_conf_set_dr_msg_cb(conf.get(), Delivered);
  WF_ASSIGN(ClientPtr client, MakeClient(RD_KAFKA_PRODUCER, std::move(conf)));
  return std::shared_ptr<rd_kafka_t>(client.release(), EndProducer);
}

std::shared_ptr<rd_kafka_t> KafkaSender::producer() {
  const std::lock_guard lock(mutex_);
  return producer_;
}

void KafkaSender::Poll() {
  while (!stopping_) {
    const std::shared_ptr<rd_kafka_t> now = producer();
    rd_kafka_poll(now.get(), kPollMs);
    std::array<char, 256> text{};
    if (rd_kafka_fatal_error(now.get(), text.data(), text.size()) == RD_KAFKA_RESP_ERR_NO_ERROR)
      continue;
    log::Warn("kafka: {}; a new producer takes over, and senders resend its batches", text.data());
    if (auto fresh = NewProducer(); fresh.ok()) {
      const std::lock_guard lock(mutex_);
      producer_ = std::move(*fresh);
    }
  }
}

void KafkaSender::Send(Message message, Sent sent) {
  const std::shared_ptr<rd_kafka_t> to = producer();
  auto under_way = std::make_unique<UnderWay>();
  under_way->bytes = std::move(message.bytes);
  under_way->sent = std::move(sent);
  under_way->shared = &shared_;
  rd_kafka_headers_t* headers = rd_kafka_headers_new(message.headers.size());
  for (const auto& [name, value] : message.headers)
    rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
  ++shared_.unsent;
  const rd_kafka_resp_err_t error = rd_kafka_producev(
      to.get(), RD_KAFKA_V_TOPIC(message.topic.c_str()), RD_KAFKA_V_PARTITION(message.partition),
      RD_KAFKA_V_VALUE(under_way->bytes.data(), under_way->bytes.size()),
      RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(under_way.get()), RD_KAFKA_V_END);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    (void)under_way.release();  // Delivered's
    return;
  }
  rd_kafka_headers_destroy(headers);
  --shared_.unsent;
  under_way->sent(error);
}

Status KafkaSender::SendAndWait(std::vector<Message> messages, Nanos patience) {
  // Shared: an answer may come when nobody waits for it any more.
  struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    size_t left = 0;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  const auto waiting = std::make_shared<Waiting>();
  waiting->left = messages.size();
  for (Message& message : messages) {
    Send(std::move(message), [waiting](rd_kafka_resp_err_t error) {
      const std::lock_guard lock(waiting->mutex);
      if (error != RD_KAFKA_RESP_ERR_NO_ERROR) waiting->error = error;
      if (--waiting->left == 0) waiting->changed.notify_all();
    });
  }
  std::unique_lock lock(waiting->mutex);
  if (!waiting->changed.wait_for(lock, std::chrono::nanoseconds(patience),
                                 [&] { return waiting->left == 0; }))
    return KafkaError(shared_, RD_KAFKA_RESP_ERR__TIMED_OUT);
  if (waiting->error != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaError(shared_, waiting->error);
  return {};
}

}  // namespace wf::bus::kafka
