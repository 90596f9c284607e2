#include "model/clock_exchange.h"

#include <algorithm>
#include <tuple>

#include "model/event_home.h"
#include "model/id_map.h"

namespace wf {

void ExchangeTable::Add(uint32_t from_host, Nanos sent, uint32_t to_host, Nanos received,
                        Nanos asked) {
  const Nanos delay = SaturatingSub(received, sent);
  int64_t window = asked / kClockWindow;
  if (asked % kClockWindow < 0) --window;  // times before 1970 round down too
  const auto [at, fresh] = least_.try_emplace({from_host, to_host, window}, Least{delay, 1});
  if (fresh) return;
  at->second.delay = std::min(at->second.delay, delay);
  ++at->second.count;
}

std::vector<ClockExchange> ExchangeTable::Exchanges() const {
  std::vector<ClockExchange> out;
  for (const auto& [key, least] : least_) {
    out.push_back({std::string(hosts_.At(key.from)), std::string(hosts_.At(key.to)),
                   key.window * kClockWindow, least.delay, least.count});
  }
  std::sort(out.begin(), out.end(), [](const ClockExchange& a, const ClockExchange& b) {
    return std::tie(a.window_ns, a.from_host, a.to_host) <
           std::tie(b.window_ns, b.from_host, b.to_host);
  });
  return out;
}

// Begins: the parent's cannot be after the child's. Ends: the other way round, but only where the parent waited.
ExchangeEvidence EvidenceOf(const SpanFacts& parent, const SpanFacts& child) {
  ExchangeEvidence evidence;
  evidence.request = (parent.marks & kHasStart) && (child.marks & kHasStart);
  const bool call = parent.kind == SpanKind::kClient && child.kind == SpanKind::kServer;
  const bool untold = parent.kind == SpanKind::kUnspecified && child.kind == SpanKind::kUnspecified;
  const bool ends = (parent.marks & kHasEnd) && (child.marks & kHasEnd);
  if (!evidence.request || !ends || !(call || untold) ||
      child.parent_ref == ParentRef::kFollowsFrom || child.async) {
    return evidence;
  }
  // A caller that gave up did not wait: it failed, or the callee ran longer than the whole call (durations do not
  // depend on skew). Taken as a response, one such call would pretend that clocks differ by its whole delay. Spans
  // that do not say they are a call may be asynchronous: their ends may bound an offset, but not prove one.
  const Nanos waited = SaturatingSub(parent.end_ns, parent.start_ns);
  const Nanos ran = SaturatingSub(child.end_ns, child.start_ns);
  evidence.response = ran >= 0 && ran <= waited && parent.status != SpanStatus::kError &&
                      !(untold && child.end_ns > parent.end_ns);
  return evidence;
}

namespace {

class TraceExchanges {
 public:
  TraceExchanges(const EventBatch& batch, ExchangeTable& table) : batch_(batch), table_(table) {
    for (const Process& process : batch.processes)
      host_.push_back(table.Host(batch.str(process.host)));
    async_key_ = batch.strings.Find("wherefore.async");
  }

  // All rows of one trace.
  void Collect(const uint32_t* rows, size_t count) {
    const EventHome home(batch_, rows, count);
    home_ = &home;
    uint32_t first_host = 0;
    bool several = false;
    for (size_t i = 0; i < count && !several; ++i) {
      const uint32_t host = HostOf(rows[i]);
      if (host == 0) continue;
      several = first_host != 0 && host != first_host;
      first_host = host;
    }
    if (!several) return;
    IdMap by_id;
    by_id.Reserve(count);
    sends_.clear();
    for (size_t i = 0; i < count; ++i) {
      const uint32_t row = rows[i];
      if (batch_.type[row] != EventType::kSpan) {
        sends_.push_back(row);
        continue;
      }
      const uint32_t known = by_id.Insert(batch_.id1[row], row);
      // One id for client and server: they are caller and callee.
      if (known != row)
        Relate(batch_.kind[known] == SpanKind::kClient ? known : row,
               batch_.kind[known] == SpanKind::kClient ? row : known);
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t row = rows[i];
      if (batch_.type[row] != EventType::kSpan || batch_.id2[row] == 0) continue;
      const uint32_t parent = by_id.Find(batch_.id2[row]);
      if (parent != kNone && parent != row) Relate(parent, row);
    }
    if (sends_.empty()) return;
    CollectEvents();
    CollectMixed(rows, count, by_id);
  }

 private:
  uint32_t HostOf(uint32_t row) const { return host_[home_->ProcessOf(row)]; }

  void Message(uint32_t from_row, Nanos sent, uint32_t to_row, Nanos received, Nanos asked) {
    const uint32_t from = HostOf(from_row), to = HostOf(to_row);
    if (from != 0 && to != 0 && from != to) table_.Add(from, sent, to, received, asked);
  }

  bool IsAsync(uint32_t row) const {
    if (async_key_ == UINT32_MAX) return false;
    AttributeReader reader(batch_.attrs(row));
    uint32_t key;
    for (Value value; reader.Next(key, value);) {
      if (key == async_key_ && value.type == ValueType::kBool) return value.boolean;
    }
    return false;
  }

  SpanFacts FactsOf(uint32_t row) const {
    return {batch_.kind[row], batch_.status[row],   batch_.parent_ref[row], batch_.marks[row],
            IsAsync(row),     batch_.start_ns[row], batch_.end_ns[row]};
  }

  void Relate(uint32_t parent, uint32_t child) {
    if (HostOf(parent) == HostOf(child) || HostOf(parent) == 0 || HostOf(child) == 0) return;
    const ExchangeEvidence evidence = EvidenceOf(FactsOf(parent), FactsOf(child));
    const Nanos asked = batch_.start_ns[parent];
    if (evidence.request) Message(parent, asked, child, batch_.start_ns[child], asked);
    if (evidence.response)
      Message(child, batch_.end_ns[child], parent, batch_.end_ns[parent], asked);
  }

  // Events whose sender and receiver tell the same id. The earliest send is before every receive.
  void CollectEvents() {
    struct Relation {
      EventType send, receive;
    };
    static constexpr Relation kRelations[] = {
        {EventType::kRpcClientSend, EventType::kRpcServerReceive},
        {EventType::kRpcServerSend, EventType::kRpcClientReceive},
        {EventType::kRpcServerSend, EventType::kRpcClientQueue},
        {EventType::kEdgeBegin, EventType::kEdgeEnd},
        {EventType::kQueuePut, EventType::kQueueTake},
        {EventType::kTaskCreate, EventType::kTaskRun}};
    std::sort(sends_.begin(), sends_.end(), [&](uint32_t a, uint32_t b) {
      return std::tie(batch_.id1[a], batch_.type[a], batch_.start_ns[a], a) <
             std::tie(batch_.id1[b], batch_.type[b], batch_.start_ns[b], b);
    });
    for (size_t begin = 0, end; begin < sends_.size(); begin = end) {
      for (end = begin;
           end < sends_.size() && batch_.id1[sends_[end]] == batch_.id1[sends_[begin]];)
        ++end;
      const auto first_of = [&](EventType type) {
        for (size_t i = begin; i < end; ++i) {
          if (batch_.type[sends_[i]] == type) return sends_[i];
        }
        return kNone;
      };
      const uint32_t request = first_of(EventType::kRpcClientSend);
      for (const Relation& relation : kRelations) {
        const uint32_t send = first_of(relation.send);
        if (send == kNone) continue;
        const bool response = relation.send == EventType::kRpcServerSend && request != kNone;
        const Nanos asked = batch_.start_ns[response ? request : send];
        for (size_t i = begin; i < end; ++i) {
          const uint32_t receive = sends_[i];
          if (batch_.type[receive] != relation.receive) continue;
          Message(send, batch_.start_ns[send], receive, batch_.start_ns[receive], asked);
        }
      }
    }
  }

  // A caller that tells events and a callee that tells spans: a browser, and the server that answers it. The callee's
  // span is a child of the block of the request, or the one that the call's events name.
  void CollectMixed(const uint32_t* rows, size_t count, const IdMap& span_by_id) {
    struct Caller {
      uint32_t send = kNone, receive = kNone;  // rows
    };
    std::vector<Caller> callers;
    IdMap by_block, by_callee;
    const auto caller = [&](IdMap& map, uint64_t id) -> Caller& {
      const uint32_t at = map.Insert(id, static_cast<uint32_t>(callers.size()));
      if (at == callers.size()) callers.emplace_back();
      return callers[at];
    };
    for (const uint32_t row : sends_) {
      const uint64_t id = batch_.id1[row];
      const EventType type = batch_.type[row];
      if (type == EventType::kBlockBegin) caller(by_block, id).send = row;
      if (type == EventType::kBlockEnd) caller(by_block, id).receive = row;
      if (span_by_id.Find(id) == kNone) continue;
      if (type == EventType::kRpcClientSend) caller(by_callee, id).send = row;
      if (type == EventType::kRpcClientReceive) caller(by_callee, id).receive = row;
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t span = rows[i];
      if (batch_.type[span] != EventType::kSpan) continue;
      uint32_t at = by_callee.Find(batch_.id1[span]);
      if (at == kNone && batch_.id2[span] != 0 && span_by_id.Find(batch_.id2[span]) == kNone)
        at = by_block.Find(batch_.id2[span]);
      if (at != kNone && callers[at].send != kNone)
        RelateCaller(callers[at].send, callers[at].receive, span);
    }
  }

  void RelateCaller(uint32_t send, uint32_t receive, uint32_t span) {
    const SpanFacts child = FactsOf(span);
    SpanFacts parent = FactsOf(send);
    // Who tells of a call is a caller, whatever it calls itself.
    const bool call = batch_.type[send] == EventType::kRpcClientSend;
    if (call && child.kind == SpanKind::kServer) parent.kind = SpanKind::kClient;
    if (receive != kNone && (batch_.marks[receive] & kHasStart)) {
      parent.end_ns = batch_.start_ns[receive];
      parent.marks |= kHasEnd;
    }
    const ExchangeEvidence evidence = EvidenceOf(parent, child);
    const Nanos asked = parent.start_ns;
    if (evidence.request) Message(send, asked, span, child.start_ns, asked);
    if (evidence.response) Message(span, child.end_ns, receive, parent.end_ns, asked);
  }

  const EventBatch& batch_;
  ExchangeTable& table_;
  const EventHome* home_ = nullptr;  // of the trace at hand
  std::vector<uint32_t> host_;       // per batch process
  std::vector<uint32_t> sends_;
  uint32_t async_key_;
};

}  // namespace

void CollectExchanges(const EventBatch& batch, const std::vector<uint32_t>& rows,
                      ExchangeTable& table) {
  TraceExchanges traces(batch, table);
  for (size_t begin = 0, end; begin < rows.size(); begin = end) {
    const TraceId id = batch.trace_id(rows[begin]);
    for (end = begin + 1; end < rows.size() && batch.trace_id(rows[end]) == id;) ++end;
    traces.Collect(rows.data() + begin, end - begin);
  }
}

}  // namespace wf
