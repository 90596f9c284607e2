// Which server of its resource each hold takes.
//
// A hold takes its server at since_ns, so holds are processed by since_ns, then in the order of their events.
// It takes the free server that was freed last, which is the one it waited for, if it waited; of those freed
// at once the first in the order, and if one event held them all, as it lists them. The numbers of servers
// decide nothing, so neither do events of the distant past. If one event ends and another begins at the same
// instant, the order of time decides which was first, so an occupant has left only for events after it in the
// order. So the occupants of a server are in the order of time, which keeps every graph acyclic: an event
// waits only for earlier ones.
#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "analysis/provenance/execution_rows.h"

namespace wf::provenance {
namespace {

struct Departure {
  Nanos end;
  uint32_t event, hold, server;  // holds are in the order of events, then as listed
};
struct EarlierFirst {  // as a queue's order: its top is the one that leaves first
  bool operator()(const Departure& a, const Departure& b) const {
    if (a.end != b.end) return a.end > b.end;
    return a.hold > b.hold;
  }
};
struct LatestFreed {  // its top was freed last, by the first in the order of those
  bool operator()(const Departure& a, const Departure& b) const {
    if (a.end != b.end) return a.end < b.end;
    return a.hold > b.hold;
  }
};

class ResourceTurns {
 public:
  ResourceTurns(Execution& execution, uint32_t resource)
      : x_(execution), resource_(resource), servers_(execution.servers[resource]) {}

  // Holds by since_ns. Returns how many servers were taken.
  Result<uint32_t> Assign(const uint32_t* begin, const uint32_t* end) {
    for (const uint32_t* h = begin; h != end; ++h) {
      WF_TRY(servers_ == 1 ? TakeTheOne(*h) : TakeAny(*h));
    }
    return used_;
  }

 private:
  bool Gone(const Departure& last, uint32_t hold) const {
    const Nanos since = x_.holds[hold].since_ns;
    return last.end < since || (last.end == since && last.event < x_.holder[hold]);
  }

  Status TakeTheOne(uint32_t hold) {
    if (used_ == 1 && !Gone(last_, hold)) return TooMany(hold, {last_});
    used_ = 1;
    last_ = {x_.end_ns[x_.holder[hold]], x_.holder[hold], hold, 0};
    return {};
  }

  Status TakeAny(uint32_t hold) {
    while (!busy_.empty() && Gone(busy_.top(), hold)) {
      free_.push(busy_.top());
      busy_.pop();
    }
    uint32_t server = used_;
    if (!free_.empty()) {
      server = free_.top().server;
      free_.pop();
    } else if (used_ == servers_) {
      std::vector<Departure> occupants;
      for (; !busy_.empty() && occupants.size() < 5; busy_.pop()) occupants.push_back(busy_.top());
      return TooMany(hold, occupants);
    } else {
      ++used_;
    }
    x_.holds[hold].server = server;
    busy_.push({x_.end_ns[x_.holder[hold]], x_.holder[hold], hold, server});
    return {};
  }

  Error TooMany(uint32_t hold, const std::vector<Departure>& occupants) const {
    std::string who;
    for (const Departure& o : occupants) {
      who += fmt::format("{}{} until {}", who.empty() ? "" : ", ", x_.str(x_.id[o.event]), o.end);
    }
    const std::string_view name = x_.str(x_.resource_name[resource_]);
    return BadInput(
        fmt::format("event {}: more occupants than servers: takes {} at {}, held by {}",
                    x_.str(x_.id[x_.holder[hold]]), name, x_.holds[hold].since_ns, who),
        fmt::format("a line {{\"resource\":\"{}\",\"servers\":{}}} gives it more servers", name,
                    static_cast<uint64_t>(servers_) + 1));
  }

  Execution& x_;
  const uint32_t resource_, servers_;
  uint32_t used_ = 0;
  Departure last_ = {};
  std::priority_queue<Departure, std::vector<Departure>, EarlierFirst> busy_;
  std::priority_queue<Departure, std::vector<Departure>, LatestFreed> free_;
};

// The items of `order`, grouped by `group`, otherwise in the same order; and where groups begin.
template <typename Group>
std::vector<uint32_t> GroupBy(std::vector<uint32_t>& order, size_t groups, const Group& group) {
  std::vector<uint32_t> begin(groups + 1, 0);
  for (const uint32_t item : order) ++begin[group(item) + 1];
  for (size_t g = 0; g < groups; ++g) begin[g + 1] += begin[g];
  std::vector<uint32_t> at(begin.begin(), begin.end() - 1), grouped(order.size());
  for (const uint32_t item : order) grouped[at[group(item)]++] = item;
  order = std::move(grouped);
  return begin;
}

}  // namespace

Status AssignServers(Execution& x) {
  std::vector<uint32_t> order(x.holds.size());
  for (uint32_t h = 0; h < order.size(); ++h) order[h] = h;
  const std::vector<uint32_t> begin =
      GroupBy(order, x.resource_name.size(), [&](uint32_t h) { return x.holds[h].resource; });
  x.lanes_begin.assign(1, 0);
  for (uint32_t r = 0; r < x.resource_name.size(); ++r) {
    const auto first = order.begin() + begin[r], last = order.begin() + begin[r + 1];
    const auto earlier = [&](uint32_t a, uint32_t b) {
      return x.holds[a].since_ns < x.holds[b].since_ns;
    };
    if (!std::is_sorted(first, last, earlier)) std::stable_sort(first, last, earlier);
    WF_ASSIGN(const uint32_t used,
              ResourceTurns(x, r).Assign(order.data() + begin[r], order.data() + begin[r + 1]));
    x.lanes_begin.push_back(x.lanes_begin.back() + used);
  }
  x.occupants_begin =
      GroupBy(order, x.lanes_begin.back(), [&](uint32_t h) { return x.lane(x.holds[h]); });
  x.occupants = std::move(order);
  x.turn.resize(x.holds.size());
  for (uint32_t i = 0; i < x.occupants.size(); ++i) x.turn[x.occupants[i]] = i;
  return {};
}

}  // namespace wf::provenance
