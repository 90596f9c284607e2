#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "client/block_id.h"
#include "client/otlp_encoder.h"
#include "client/otlp_exporter.h"
#include "wherefore/tracer.h"

namespace wherefore {
namespace {

constexpr size_t kMaxBlockBytes = 16 << 10;

int64_t NowNs() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

int64_t ThreadId() {
  static thread_local const int64_t id = syscall(SYS_gettid);
  return id;
}

// Runs `encode`; takes it back and counts it when the block gets too big or memory runs out.
// Nothing may be thrown into the host.
template <typename Encode>
void Append(std::string& body, uint32_t& left_out, Encode encode) noexcept {
  const size_t before = body.size();
  try {
    encode(body);
    if (body.size() <= kMaxBlockBytes) return;
  } catch (...) {
  }
  body.resize(before);
  ++left_out;
}

}  // namespace

Block::Block(Tracer& tracer, std::string_view name, BlockKind kind)
    : Block(tracer, name, [kind] {
        BlockOptions options;
        options.kind = kind;
        return options;
      }()) {}

Block::Block(Tracer& tracer, std::string_view name, BlockOptions options)
    : tracer_(tracer), kind_(options.kind) {
  const RequestContext parent =
      options.parent ? std::move(*options.parent) : RequestContext::Current();
  recording_ = tracer.enabled() && (!parent.valid() || parent.sampled());
  if (!recording_) {
    context_ = parent;
  } else {
    start_ns_ = options.start_ns ? *options.start_ns : NowNs();
    name_ = name;
    if (parent.valid()) {
      parent_ = parent.block();
      parent_remote_ = parent.remote();
      context_ =
          RequestContext(parent.trace(), client::NewBlockId(), parent.flags(), parent.tracestate());
    } else {
      context_ =
          RequestContext(client::NewTraceId(), client::NewBlockId(), RequestContext::kSampledFlag);
    }
    if (tracer.thread_ids_ == TracerOptions::ThreadIds::kRecord) Label("thread.id", ThreadId());
  }
  if (options.activation == BlockOptions::Activation::kCurrent) scope_.emplace(context_);
}

void Block::Label(std::string_view key, LabelValue value) {
  if (!recording_) return;
  Append(body_, left_out_labels_, [&](std::string& body) {
    client::EncodeLabel(client::LabelsOf::kBlock, key, value, body);
  });
}

void Block::Point(std::string_view name, std::initializer_list<wherefore::Label> labels) {
  if (!recording_) return;
  Append(body_, left_out_points_,
         [&](std::string& body) { client::EncodePoint(NowNs(), name, labels, body); });
}

void Block::Link(const RequestContext& to, std::initializer_list<wherefore::Label> labels) {
  if (!recording_ || !to.valid()) return;
  Append(body_, left_out_links_, [&](std::string& body) { client::EncodeLink(to, labels, body); });
}

void Block::Succeed() { outcome_ = Outcome::kOk; }

void Block::Fail(std::string_view message) {
  outcome_ = Outcome::kError;
  if (recording_) error_ = message.substr(0, 1024);
}

void Block::End() {
  if (recording_) {
    EndAt(NowNs());
  } else {
    scope_.reset();
  }
}

void Block::EndAt(int64_t unix_ns) {
  scope_.reset();
  if (!recording_) return;
  recording_ = false;
  try {
    client::EncodeBlockEnd(
        {context_, parent_, parent_remote_, name_, static_cast<uint32_t>(kind_), start_ns_,
         std::max(start_ns_, unix_ns), static_cast<uint32_t>(outcome_), error_, left_out_labels_,
         left_out_points_, left_out_links_},
        body_);
    tracer_.exporter_->Push(std::move(body_));
  } catch (...) {
    tracer_.exporter_->CountDropped();
  }
}

}  // namespace wherefore
