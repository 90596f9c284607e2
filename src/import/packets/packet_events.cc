#include "import/packets/packet_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "import/packets/switch_clocks.h"

namespace wf::packets {
namespace {

// Of one packet together, in the order of its way.
void OrderPassages(std::vector<QueuePassage>& passages) {
  std::sort(passages.begin(), passages.end(), [](const QueuePassage& a, const QueuePassage& b) {
    return std::tie(a.packet.hi, a.packet.lo, a.ingress_ns, a.egress_ns, a.queue, a.position) <
           std::tie(b.packet.hi, b.packet.lo, b.ingress_ns, b.egress_ns, b.queue, b.position);
  });
}

// A hop reported twice: in the stack and by its own node, or in a duplicated datagram.
void RemoveDuplicates(PacketPassages& all) {
  auto& passages = all.passages;
  std::vector<QueuePassage> kept;
  for (const QueuePassage& passage : passages) {
    if (!kept.empty()) {
      QueuePassage& last = kept.back();
      if (last.packet == passage.packet && last.queue == passage.queue &&
          last.ingress_ns == passage.ingress_ns && last.egress_ns == passage.egress_ns) {
        last.position = std::max(last.position, passage.position);
        all.Count("duplicates");
        continue;
      }
    }
    kept.push_back(passage);
  }
  passages = std::move(kept);
}

template <typename Visit>
void EachPacket(std::vector<QueuePassage>& passages, const Visit& visit) {
  for (size_t begin = 0; begin < passages.size();) {
    size_t end = begin + 1;
    while (end < passages.size() && passages[end].packet == passages[begin].packet) ++end;
    visit(begin, end);
    begin = end;
  }
}

// If the position of each hop is reported, it counts more than times of different clocks.
void OrderByPosition(std::vector<QueuePassage>& passages) {
  EachPacket(passages, [&](size_t begin, size_t end) {
    const auto first = passages.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = passages.begin() + static_cast<ptrdiff_t>(end);
    if (std::any_of(first, last, [](const QueuePassage& p) { return p.position == 0; })) return;
    std::stable_sort(first, last, [](const QueuePassage& a, const QueuePassage& b) {
      return a.position < b.position;
    });
  });
}

// When each packet began to be sent: the later of its ingress and the egress of the one before it in its queue.
std::vector<Nanos> FindStarts(PacketPassages& all) {
  const auto& passages = all.passages;
  std::vector<uint32_t> order(passages.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const QueuePassage &p = passages[a], &q = passages[b];
    return std::tie(p.queue, p.egress_ns, p.ingress_ns, a) <
           std::tie(q.queue, q.egress_ns, q.ingress_ns, b);
  });
  std::vector<Nanos> starts(passages.size());
  int64_t overtaken = 0;
  Nanos last_entered = 0;  // of those that left already
  for (size_t i = 0; i < order.size(); ++i) {
    const QueuePassage& passage = passages[order[i]];
    Nanos& start = starts[order[i]];
    start = passage.ingress_ns;
    const bool first = i == 0 || passages[order[i - 1]].queue != passage.queue;
    if (!first) {
      start = std::max(start, passages[order[i - 1]].egress_ns);
      if (passage.ingress_ns < last_entered) ++overtaken;
    }
    last_entered = first ? passage.ingress_ns : std::max(last_entered, passage.ingress_ns);
  }
  all.Count("not_fifo", overtaken);
  return starts;
}

std::string IdOf(const Hash128& packet) { return fmt::format("{:016x}", packet.hi); }

}  // namespace

PacketEvents MakePacketEvents(PacketPassages& all) {
  PacketEvents out;
  OrderPassages(all.passages);
  RemoveDuplicates(all);
  OrderByPosition(all.passages);
  all.Count("clocks_moved", static_cast<int64_t>(AlignSwitchClocks(all).size()));
  const std::vector<Nanos> starts = FindStarts(all);
  // Of each queue the last packet that went through it. A look at all earlier hops of the packet would do, but forged
  // reports may give one packet as many hops as they like.
  std::vector<uint32_t> last_through(all.queues.size(), UINT32_MAX);

  EachPacket(all.passages, [&](size_t begin, size_t end) {
    PacketTrail trail;
    trail.packet = all.passages[begin].packet;
    trail.flow = all.passages[begin].flow;
    const std::string packet = IdOf(trail.packet);
    const PassageFlow& flow = all.flows[trail.flow];
    const std::string tuple = fmt::format("{}({})", flow.name, packet);
    std::string cause;
    Nanos left = 0;
    for (size_t i = begin; i < end; ++i) {
      const QueuePassage& passage = all.passages[i];
      const QueueName& queue = all.queues[passage.queue];
      if (!cause.empty() && left > passage.ingress_ns) {
        all.Count("chain_breaks");
        cause.clear();
      }
      if (cause.empty()) {
        ProvenanceEvent entry;
        entry.id = i == begin ? packet : fmt::format("{}.{}", packet, i - begin);
        entry.type = ProvenanceType::kInsert;
        entry.node = flow.source;
        entry.tuple = tuple;
        entry.origin = flow.name;
        entry.start_ns = entry.end_ns = passage.ingress_ns;
        entry.holds.emplace();  // nothing: hosts are not what packets wait for here
        cause = entry.id;
        if (i == begin) trail.entry = entry.id;
        out.events.push_back(std::move(entry));
      }
      ProvenanceEvent hop;
      // A packet that passes one queue twice (a loop) is distinguished by its number.
      hop.id = fmt::format("{}@{}", packet, queue.text());
      const auto number = static_cast<uint32_t>(out.trails.size());
      if (std::exchange(last_through[passage.queue], number) == number)
        hop.id += fmt::format(".{}", i - begin);
      hop.type = ProvenanceType::kDerive;
      hop.node = queue.node;
      hop.tuple = tuple;
      hop.origin = flow.name;
      hop.ready_ns = passage.ingress_ns;
      hop.start_ns = starts[i];
      hop.end_ns = passage.egress_ns;
      hop.causes = {cause};
      hop.holds = {{queue.text(), std::nullopt}};
      cause = hop.id;
      left = passage.egress_ns;
      trail.exit = hop.id;
      out.events.push_back(std::move(hop));
    }
    out.trails.push_back(std::move(trail));
  });

  // An entry stands before its hop even at the same instant: a cause precedes its effect in the order.
  std::stable_sort(out.events.begin(), out.events.end(),
                   [](const ProvenanceEvent& a, const ProvenanceEvent& b) {
                     return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
                   });
  std::map<std::string_view, Nanos> entered;
  for (const ProvenanceEvent& event : out.events)
    if (event.type == ProvenanceType::kInsert) entered.emplace(event.id, event.start_ns);
  std::stable_sort(out.trails.begin(), out.trails.end(),
                   [&](const PacketTrail& a, const PacketTrail& b) {
                     return entered.at(a.entry) < entered.at(b.entry);
                   });
  all.Count("queues", static_cast<int64_t>(all.queues.size()));
  all.Count("flows", static_cast<int64_t>(all.flows.size()));
  all.Count("events", static_cast<int64_t>(out.events.size()));
  return out;
}

}  // namespace wf::packets
