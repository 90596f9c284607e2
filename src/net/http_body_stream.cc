#include "net/http_body_stream.h"

#include <utility>

namespace wf::net {

HttpBodyStream::Written HttpBodyStream::Write(std::string piece) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    if (gone_ || ended_) return Written::kGone;
    if (queued_.size() + piece.size() > options_.most_queued_bytes) return Written::kFull;
    if (queued_.empty()) {
      queued_ = std::move(piece);
    } else {
      queued_ += piece;
    }
    wake = wake_;
  }
  if (wake) wake();
  return Written::kTaken;
}

void HttpBodyStream::End() {
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    wake = wake_;
  }
  if (wake) wake();
}

bool HttpBodyStream::gone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

void HttpBodyStream::OnGone(std::function<void()> told) {
  {
    const std::lock_guard lock(mutex_);
    if (!gone_) {
      told_ = std::move(told);
      return;
    }
  }
  told();
}

void HttpBodyStream::Attach(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

HttpBodyStream::Took HttpBodyStream::Take(std::string* out) {
  const std::lock_guard lock(mutex_);
  if (queued_.empty()) return ended_ ? Took::kEnd : Took::kNothing;
  *out = std::exchange(queued_, {});
  return Took::kPiece;
}

void HttpBodyStream::Close() {
  std::function<void()> told;
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    gone_ = true;
    queued_ = {};
    wake_ = nullptr;
    told = std::exchange(told_, nullptr);
  }
  if (told) told();
}

}  // namespace wf::net
