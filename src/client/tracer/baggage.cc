#include "wherefore/baggage.h"

#include <mutex>

#include "client/baggage/baggage_counts.h"
#include "client/queries/thread_baggage.h"
#include "client/tracer/baggage_header.h"

namespace wherefore {

using client::BaggageSnapshot;

void set_baggage_exchange(BaggageExchange exchange) {
  client::SetExchangesBaggage(exchange == BaggageExchange::kOpen);
}

void append_baggage(std::string& message) {
  client::BaggageLine* const line = client::CurrentBaggageIfAny();
  if (line == nullptr || !client::ExchangesBaggage()) return;
  const size_t before = message.size();
  try {
    line->AppendTo(message);
  } catch (...) {  // out of memory: the request goes without
    message.resize(before);
  }
}

std::string serialize_baggage() {
  std::string bytes;
  append_baggage(bytes);
  return bytes;
}

void join_baggage(std::string_view bytes) {
  if (bytes.empty()) return;
  if (!client::ExchangesBaggage()) return client::CountRefused();
  try {
    client::JoinCurrentBytes(bytes);
  } catch (...) {
  }
}

BaggageScope::BaggageScope(std::string_view received) {
  if (!received.empty() && !client::ExchangesBaggage()) {
    client::CountRefused();
    received = {};
  }
  const client::SavedLine saved = client::EnterLine(received);
  previous_line_ = saved.line;
  previous_baggage_ = saved.baggage;
}

BaggageScope::~BaggageScope() { client::RestoreLine({previous_line_, previous_baggage_}); }

void join_baggage_header(std::string_view header) {
  if (header.empty()) return;
  try {
    std::string members(client::Trim(header));
    if (client::ValidBaggage(members)) client::JoinCurrent(client::TakeOwnMembers(members));
  } catch (...) {
  }
}

BaggageStats baggage_stats() {
  const client::BaggageCounts& counts = client::Counts();
  BaggageStats stats;
  stats.rejected = counts.rejected.load(std::memory_order_relaxed);
  stats.cut = counts.cut.load(std::memory_order_relaxed);
  stats.overflowed = counts.overflowed.load(std::memory_order_relaxed);
  stats.unfitting = counts.unfitting.load(std::memory_order_relaxed);
  stats.refused = client::RefusedCount();
  return stats;
}

// The context is given up with Done, so that what it holds is nobody's but the branch's.
struct Branch::Shared {
  RequestContext context;
  std::mutex mutex;
  bool done = false, joined = false;
  std::shared_ptr<const BaggageSnapshot> result;
};

Branch::Branch() : shared_(std::make_shared<Shared>()) {
  shared_->context = RequestContext::Fork();
}

const RequestContext& Branch::context() const { return shared_->context; }

void Branch::Done() {
  auto result = client::FinishCurrent();
  const std::lock_guard lock(shared_->mutex);
  if (shared_->done) return;
  shared_->done = true;
  shared_->result = std::move(result);
}

void Branch::Join() {
  std::shared_ptr<const BaggageSnapshot> result;
  {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->done || shared_->joined) return;
    shared_->joined = true;
    result = std::move(shared_->result);
    shared_->context.DropBaggage();
    // Requests never mix, whatever thread this is called on.
    if (shared_->context.trace() != RequestContext::Peek().trace()) return;
  }
  client::JoinCurrent(std::move(result));
}

}  // namespace wherefore
