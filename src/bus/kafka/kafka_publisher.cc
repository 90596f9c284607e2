#include "bus/kafka/kafka_publisher.h"

#include <fmt/format.h>

#include <chrono>

namespace wf::bus::kafka {

// A batch whose pieces are under way. The first error is the batch's.
struct KafkaPublisher::Parts {
  std::atomic<size_t> left;
  std::atomic<rd_kafka_resp_err_t> error{RD_KAFKA_RESP_ERR_NO_ERROR};
  size_t bytes;
  Done done;
};

KafkaPublisher::~KafkaPublisher() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return batches_ == 0; });
}

bool KafkaPublisher::Enter(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (batches_ > 0 && bytes_ + bytes > shared_->options.queue_bytes) return false;
  ++batches_;
  bytes_ += bytes;
  return true;
}

void KafkaPublisher::Finish(size_t bytes) {
  const std::lock_guard lock(mutex_);
  --batches_;
  bytes_ -= bytes;
  if (batches_ == 0) idle_.notify_all();
}

void KafkaPublisher::Publish(EventBatch batch, Done done) {
  if (batch.empty()) return done({});
  // Receipt counts from here, and is the same however often the piece is read.
  if (batch.received_ns == 0) batch.received_ns = Now();
  const size_t bytes = batch.MemoryBytes();
  if (!Enter(bytes)) {
    ++shared_->refused;
    return done(Overloaded("the bus: data arrives faster than it confirms", "send again later"));
  }
  auto pieces = CutBatch(std::move(batch), shared_->partitions, shared_->options.limits);
  if (!pieces.ok()) {
    Finish(bytes);
    return done(pieces.error());
  }
  const auto parts = std::make_shared<Parts>();
  parts->left = pieces->size();
  parts->bytes = bytes;
  parts->done = std::move(done);
  for (CutPiece& piece : *pieces) {
    sender_->Send({shared_->topic(), piece.partition, std::move(piece.bytes), {}},
                  [this, parts](rd_kafka_resp_err_t error) {
                    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) parts->error = error;
                    if (--parts->left != 0) return;
                    const rd_kafka_resp_err_t first = parts->error;
                    Status status;
                    if (first == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
                      status = BadInput(
                          KafkaText(*shared_, first),
                          "raise the topic's max.message.bytes, or send shorter attributes");
                    } else if (first != RD_KAFKA_RESP_ERR_NO_ERROR) {
                      // The sender's to try again, whatever it was: not confirmed is not kept.
                      status = Overloaded(KafkaText(*shared_, first), "send again later");
                    }
                    shared_->failed += !status.ok();
                    parts->done(status);
                    Finish(parts->bytes);  // last: the publisher may go when it was the last
                  });
  }
}

Status KafkaPublisher::Drain(Nanos patience) {
  std::unique_lock lock(mutex_);
  if (idle_.wait_for(lock, std::chrono::nanoseconds(patience), [&] { return batches_ == 0; }))
    return {};
  return EnvironmentError(
      fmt::format("bus {}: {} batches are not confirmed", shared_->topic(), batches_),
      "is the broker running? These batches were not acknowledged to their senders");
}

}  // namespace wf::bus::kafka
