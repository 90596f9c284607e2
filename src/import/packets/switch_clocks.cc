#include "import/packets/switch_clocks.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wf::packets {
namespace {

// Switches by number, and of each queue its switch.
struct Switches {
  explicit Switches(const PacketPassages& passages) {
    std::unordered_map<std::string, uint32_t> number;
    for (const QueueName& queue : passages.queues) {
      const auto [at, added] = number.emplace(queue.node, static_cast<uint32_t>(names.size()));
      if (added) names.push_back(queue.node);
      of_queue.push_back(at->second);
    }
  }
  std::vector<std::string> names;
  std::vector<uint32_t> of_queue;
};

// Least transit seen from one switch to the next.
struct Transit {
  uint32_t from = 0, to = 0;
  Nanos least = 0;
};

// For each pair of neighbours that some packet shows; in order of `from`.
std::vector<Transit> LeastTransits(const PacketPassages& passages, const Switches& switches) {
  std::vector<Transit> transits;
  const auto& all = passages.passages;
  for (size_t i = 1; i < all.size(); ++i) {
    const QueuePassage &a = all[i - 1], &b = all[i];
    if (!(a.packet == b.packet) || a.position == 0 || b.position != a.position + 1) continue;
    const uint32_t from = switches.of_queue[a.queue], to = switches.of_queue[b.queue];
    if (from != to) transits.push_back({from, to, SaturatingSub(b.ingress_ns, a.egress_ns)});
  }
  const auto pair = [](const Transit& t) { return std::make_pair(t.from, t.to); };
  std::sort(transits.begin(), transits.end(), [&](const Transit& a, const Transit& b) {
    return std::make_pair(pair(a), a.least) < std::make_pair(pair(b), b.least);
  });
  transits.erase(
      std::unique(transits.begin(), transits.end(),
                  [&](const Transit& a, const Transit& b) { return pair(a) == pair(b); }),
      transits.end());
  return transits;
}

enum class Settled : uint8_t { kYes, kContradict, kTooManySteps };

// Longest paths from zero, round by round: whose shift grew in one round pushes its neighbours in the next. Without a
// contradiction no path is longer than there are switches.
Settled FindShifts(const std::vector<Transit>& transits, int64_t most_steps,
                   std::vector<Nanos>& shift) {
  std::vector<size_t> first(shift.size() + 1, 0);  // of each switch's transits
  for (const Transit& transit : transits) ++first[transit.from + 1];
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<uint32_t> grown(shift.size()), next;
  for (uint32_t i = 0; i < grown.size(); ++i) grown[i] = i;
  std::vector<bool> listed(shift.size(), false);
  int64_t steps = 0;
  for (size_t round = 0; !grown.empty(); ++round) {
    if (round > shift.size()) return Settled::kContradict;
    for (const uint32_t from : grown) {
      steps += static_cast<int64_t>(first[from + 1] - first[from]);
      if (steps > most_steps) return Settled::kTooManySteps;
      for (size_t i = first[from]; i < first[from + 1]; ++i) {
        const Nanos needed = SaturatingSub(shift[from], transits[i].least);
        const uint32_t to = transits[i].to;
        if (needed <= shift[to]) continue;
        shift[to] = needed;
        if (!listed[to]) next.push_back(to);
        listed[to] = true;
      }
    }
    for (const uint32_t to : next) listed[to] = false;
    grown.swap(next);
    next.clear();
  }
  return Settled::kYes;
}

}  // namespace

std::map<std::string, Nanos> AlignSwitchClocks(PacketPassages& passages, int64_t most_steps) {
  const Switches switches(passages);
  const std::vector<Transit> transits = LeastTransits(passages, switches);
  const bool agree = std::all_of(transits.begin(), transits.end(),
                                 [](const Transit& transit) { return transit.least >= 0; });
  if (agree) return {};
  std::vector<Nanos> shift(switches.names.size(), 0);
  switch (FindShifts(transits, most_steps, shift)) {
    case Settled::kContradict:
      passages.Count("clocks_contradict");
      return {};
    case Settled::kTooManySteps:
      passages.Count("clocks_unsettled");
      return {};
    case Settled::kYes:
      break;
  }
  std::map<std::string, Nanos> moved;
  for (size_t i = 0; i < shift.size(); ++i)
    if (shift[i] != 0) moved.emplace(switches.names[i], shift[i]);
  for (QueuePassage& passage : passages.passages) {
    const Nanos by = shift[switches.of_queue[passage.queue]];
    passage.ingress_ns = SaturatingAdd(passage.ingress_ns, by);
    passage.egress_ns = SaturatingAdd(passage.egress_ns, by);
  }
  return moved;
}

}  // namespace wf::packets
