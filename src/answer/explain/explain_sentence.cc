// Each instant's walk ends at one vertex, so the vertices' own times (self_ns) add up to the delay and may be grouped
// freely. Off-path ones are grouped by whom they belong to and by where the request had to wait for them: a culprit's
// receive, work and send, and the disk it waited for, are one reason, not four. The way from a vertex back to the
// request is found along the links that carry most time.
#include "answer/explain/explain_sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "answer/frame/text_table.h"

namespace wf::answer {
namespace {

// Clauses after the first are for what is comparable with it: at least half as much.
constexpr size_t kMostClauses = 3;
constexpr size_t kMaxName = 48;  // a name without end must not be the whole sentence

std::string Short(std::string_view name) { return CutToWidth(Printable(name), kMaxName); }

class Partition {
 public:
  explicit Partition(const ExplainGraph& graph) : g_(graph), times_(LinkTimes(graph)) {
    strongest_.assign(g_.nodes.size(), kNoNode);
    for (uint32_t l = 0; l < g_.links.size(); ++l) {
      uint32_t& best = strongest_[g_.links[l].from];
      if (best == kNoNode || times_[l] > times_[best]) best = l;
    }
  }

  std::vector<ExplainPart> Parts() {
    for (uint32_t v = 0; v < g_.nodes.size(); ++v) {
      const ExplainNode& node = g_.nodes[v];
      if (node.self_ns <= 0) continue;
      if (!node.functional) {
        AddBehind(v);
        continue;
      }
      const bool message = node.type == ProvenanceType::kReceive;
      Add({message ? ExplainPartKind::kTransit : ExplainPartKind::kGap, "", "", ""}, v,
          node.waited_ns);
      Add({ExplainPartKind::kOwnWork, "", "", ""}, v, node.self_ns - node.waited_ns);
    }
    std::vector<ExplainPart> out;
    for (auto& [key, part] : parts_) out.push_back(std::move(part.first));
    std::stable_sort(out.begin(), out.end(), [](const ExplainPart& a, const ExplainPart& b) {
      return a.time_ns > b.time_ns;
    });
    return out;
  }

 private:
  // kind, whose work, where the request waited, where whoever it waited for did
  using Key = std::tuple<ExplainPartKind, std::string, std::string, std::string>;

  ExplainPart* Add(const Key& key, uint32_t v, Nanos time) {
    if (time <= 0) return nullptr;
    auto& [part, most] = parts_[key];
    part.kind = std::get<0>(key);
    part.time_ns += time;
    part.blamed.push_back(v);
    if (time > most) most = time, part.most = v;
    return &part;
  }

  void AddBehind(uint32_t v) {
    const auto [entry, last] = WayBack(v);
    const ExplainNode& node = g_.nodes[v];
    // Without an origin, what is alike is what has the same name at the same node.
    const std::string who =
        node.origin.empty() ? node.node + "\n" + std::string(TupleName(node.tuple)) : node.origin;
    ExplainPart* part =
        Add({ExplainPartKind::kBehind, who, Place(entry), Place(last)}, v, node.self_ns);
    if (part && part->most == v) part->entry = entry, part->last = last;
  }

  std::string Place(uint32_t link) const {
    return link == kNoNode ? "" : WaitedOn(g_, g_.links[link]);
  }

  // The links by which the walk leaves the request's path and reaches the origin of v.
  std::pair<uint32_t, uint32_t> WayBack(uint32_t v) const {
    uint32_t entry = kNoNode, last = kNoNode;
    std::set<uint32_t> seen;
    for (uint32_t at = v; !g_.nodes[at].functional && seen.insert(at).second;) {
      const uint32_t link = strongest_[at];
      if (link == kNoNode) break;
      const uint32_t next = g_.links[link].to;
      if (g_.links[link].kind == provenance::ExplanationEdgeKind::kSequencing) {
        entry = link;
        const bool same = !g_.nodes[next].functional && g_.nodes[next].origin == g_.nodes[v].origin;
        if (last == kNoNode && !same) last = link;
      }
      at = next;
    }
    return {entry, last == kNoNode ? entry : last};
  }

  const ExplainGraph& g_;
  std::vector<Nanos> times_;
  std::vector<uint32_t> strongest_;  // of each node, the link to an effect or waiter with most time
  std::map<Key, std::pair<ExplainPart, Nanos>> parts_;
};

class SentenceWriter {
 public:
  explicit SentenceWriter(const ExplainGraph& graph) : g_(graph), parts_(ExplainParts(graph)) {}

  std::string Write() const {
    if (g_.delay_ns <= 0 || parts_.empty()) return "no time passed between start and end";
    const bool nothing_behind =
        std::none_of(parts_.begin(), parts_.end(),
                     [](const ExplainPart& p) { return p.kind == ExplainPartKind::kBehind; });
    std::string out = FormatDuration(parts_[0].time_ns) + " of " + FormatDuration(g_.delay_ns) +
                      ": " + Phrase(parts_[0]);
    size_t clauses = 1;
    bool behind_told = parts_[0].kind == ExplainPartKind::kBehind;
    for (size_t i = 1; i < parts_.size() && clauses < kMostClauses; ++i) {
      const ExplainPart& part = parts_[i];
      const bool comparable = part.time_ns >= parts_[0].time_ns / 2;
      // Who else had a part is told even when it is small: it is what one cannot see in the trace.
      const bool first_behind = part.kind == ExplainPartKind::kBehind && !behind_told;
      if (!comparable && !first_behind) continue;
      out += "; " + FormatDuration(part.time_ns) + ": " + Phrase(part);
      behind_told = behind_told || first_behind;
      ++clauses;
    }
    if (nothing_behind) out += "; no other work held it up";
    return out;
  }

 private:
  std::string Phrase(const ExplainPart& part) const {
    const ExplainNode& most = g_.nodes[part.most];
    const std::string name = Short(TupleName(most.tuple)), node = Short(most.node);
    std::string out;
    switch (part.kind) {
      case ExplainPartKind::kBehind:
        out = Behind(part);
        break;
      case ExplainPartKind::kOwnWork:
        out = fmt::format("the request's own work, {}in {} on {}", Mostly(part), name, node);
        break;
      case ExplainPartKind::kTransit:
        out = part.blamed.size() > 1
                  ? fmt::format("its messages were in transit, most of it {} to {}", name, node)
                  : fmt::format("its message {} was in transit to {}", name, node);
        break;
      case ExplainPartKind::kGap:
        out = fmt::format("waited for something not recorded, {}before {} on {}", Mostly(part),
                          name, node);
        break;
    }
    if (most.expired) out += " (earlier events are no longer kept)";
    return out;
  }

  static std::string_view Mostly(const ExplainPart& part) {
    return part.blamed.size() > 1 ? "most of it " : "";
  }

  std::string Behind(const ExplainPart& part) const {
    std::string out = "waited" + Place(part.entry);
    if (part.entry != part.last && part.last != kNoNode) {
      const uint32_t between = g_.links[part.entry].from;
      out += " behind " + Who({between}, between) + ", which waited" + Place(part.last);
    }
    return out + " behind " + Who(part.blamed, part.most);
  }

  std::string Place(uint32_t link) const {
    return link == kNoNode ? "" : " on " + Short(WaitedOn(g_, g_.links[link]));
  }

  // "58 requests from maintenance (rewrite)". Work of the same sort at the same place counts together: a culprit's
  // receives and sends, and what it asked of others, are not further requests.
  std::string Who(const std::vector<uint32_t>& nodes, uint32_t most_index) const {
    const ExplainNode& most = g_.nodes[most_index];
    const std::string name = Short(TupleName(most.tuple));
    if (most.origin.empty()) return fmt::format("{} × {}", most.count, name);
    int64_t n = 0;
    bool other_names = false;
    for (const uint32_t v : nodes) {
      const ExplainNode& node = g_.nodes[v];
      if (node.type != most.type || node.node != most.node) continue;
      if (TupleName(node.tuple) != TupleName(most.tuple)) other_names = true;
      n += node.requests;
    }
    const bool own_kind = g_.root != kNoNode && g_.nodes[g_.root].origin == most.origin;
    const bool packets = name == "packet";
    std::string out =
        fmt::format("{} {}{}{} from {}", n, own_kind ? "other " : "",
                    packets ? "packet" : "request", n == 1 ? "" : "s", Short(most.origin));
    if (!packets) out += fmt::format(" ({}{})", other_names ? "mostly " : "", name);
    return out;
  }

  const ExplainGraph& g_;
  std::vector<ExplainPart> parts_;
};

}  // namespace

std::vector<ExplainPart> ExplainParts(const ExplainGraph& graph) {
  return Partition(graph).Parts();
}

std::string ExplainSentence(const ExplainGraph& graph) { return SentenceWriter(graph).Write(); }

std::string ExplainWhatIfSentence(const ExplainGraph& graph) {
  if (!graph.what_if) return "";
  const auto& [matched, delay] = *graph.what_if;
  if (matched == 0) return "what if: no match, so no change";
  const Nanos less = SaturatingSub(graph.delay_ns, delay);
  const auto percent = [&](Nanos part) {
    return graph.delay_ns <= 0 ? "0%"
                               : fmt::format("{:.0f}%", 100.0 * static_cast<double>(part) /
                                                            static_cast<double>(graph.delay_ns));
  };
  std::string change = "no change";
  if (less > 0) change = percent(less) + " less";
  if (less < 0) change = percent(-less) + " more";
  return fmt::format("what if: {} instead of {}, {} ({} event{} matched)", FormatDuration(delay),
                     FormatDuration(graph.delay_ns), change, matched, matched == 1 ? "" : "s");
}

}  // namespace wf::answer
