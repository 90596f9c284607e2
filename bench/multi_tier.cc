#include "multi_tier.h"

#include <algorithm>

namespace wf {

MultiTier::MultiTier(double paths_per_second, uint64_t seed, StringTable& names)
    : random_(seed), gap_(paths_per_second) {
  client_ = names.Intern("client");
  ws_[0] = names.Intern("WS1"), ws_[1] = names.Intern("WS2");
  auth_ = names.Intern("AUTH");
  ap_[0] = names.Intern("AP1"), ap_[1] = names.Intern("AP2");
  db_[0] = names.Intern("DB1"), db_[1] = names.Intern("DB2");
}

Nanos MultiTier::Delay(double mean_ms) {
  return static_cast<Nanos>(std::max(0.0, mean_ms * (1 + 0.1 * normal_(random_))) * 1e6);
}

template <typename Inside>
Nanos MultiTier::Call(NodeId from, NodeId to, Nanos at, Inside inside) {
  Sighting call;
  call.kind = MessageKind::kCall;
  call.time_ns = at;
  call.sender = from, call.receiver = to;
  call.id = ++calls_;
  pending_.push(call);
  Sighting reply = call;
  reply.kind = MessageKind::kReturn;
  reply.sender = to, reply.receiver = from;
  reply.time_ns = inside(at) + Delay(10);
  pending_.push(reply);
  return reply.time_ns;
}

void MultiTier::StartPath() {
  const Nanos start = next_path_;
  next_path_ += static_cast<Nanos>(gap_(random_) * 1e9);
  const NodeId ws = ws_[Chance(0.4)];
  const auto leaf = [](Nanos at) { return at; };
  Call(client_, ws, start, [&](Nanos at) {
    at = Call(ws, auth_, at + Delay(50), [&](Nanos in) {
      return Chance(0.7) ? Call(auth_, db_[0], in + Delay(50), leaf) : in;
    });
    const NodeId ap = ap_[Chance(0.45)];
    return Call(ws, ap, at + Delay(50), [&](Nanos in) {
      const int calls = Chance(0.75) ? 1 : 2;
      for (int i = 0; i < calls; ++i) in = Call(ap, db_[Chance(0.35)], in + Delay(50), leaf);
      return in;
    });
  });
}

Sighting MultiTier::Next() {
  while (pending_.empty() || next_path_ <= pending_.top().time_ns) StartPath();
  Sighting next = pending_.top();
  pending_.pop();
  next.place = {1, ++line_};
  return next;
}

}  // namespace wf
