// bench_paths_oracle: the two rows that inference is measured between (bench/paths-accuracy).
//
//   oracle  knows what no inference is told: the config that generated the messages, so the order of a node's calls, how
//           often each kind of visit is, and the density of every delay. It then looks for the most probable joint
//           assignment: no call has two causes, every call has one.
//   fcfs    first come, first served: a call goes to the longest open request that has had none like it.
//
// The oracle's method. At one node, a visit (a call that came in, until its return) is explained by a sequence of calls
// that fits one of the config's kinds of visit; its score is the log of kind's frequency × the densities of the delays
// before each call and before the return. Explanations are enumerated for each visit. A beam then goes over the visits in
// order of arrival, and picks for each an explanation whose calls are not yet taken; hypotheses that have taken the same of
// the calls that are still wanted are one, the better. A call that nobody took, and a visit that is not explained, cost what
// an outlier costs. With the beam wide enough this is the joint maximum.
//
//   bench_paths_oracle oracle|fcfs CONFIG.yaml MESSAGES.txt ASSIGNMENTS.jsonl
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <unordered_map>

#include "scenario/message_generator_config.h"

namespace wf {
namespace {

// Six times as many changed accuracy by less than a point in the hardest cell.
constexpr size_t kBeam = 256;
constexpr size_t kMostExplanations = 64;     // of a visit, the best
constexpr double kDeviations = 6;            // delays beyond are outliers
constexpr double kOutlier = -30;             // log of what one costs: beyond six deviations
constexpr double kLeastDeviationMs = 0.001;  // for constant delays: times are rounded

struct SeenCall {
  uint64_t line = 0;
  int from = 0, to = 0;
  double sent = 0, returned = -1;  // ms
  int64_t parent = -1;             // inferred: index of a call
};

struct Messages {
  std::map<std::string, int> names;
  std::vector<SeenCall> calls;
};

Result<Messages> ReadMessages(const std::string& path) {
  std::ifstream file(path);
  if (!file) return EnvironmentError(path + ": cannot be read", "generate it first");
  Messages all;
  std::unordered_map<std::string, size_t> open;
  uint64_t number = 0;
  double origin = 0;
  const auto node = [&](const std::string& name) {
    return all.names.emplace(name, static_cast<int>(all.names.size())).first->second;
  };
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line);
    std::string seconds, op, from, to, id;
    if (!(words >> seconds >> op >> from >> to >> id) || (op != "CALL" && op != "RET"))
      return BadInput(fmt::format("{}: line {}: neither CALL nor RET", path, number),
                      "the oracle reads text of one clock");
    const size_t point = seconds.find('.');
    if (number == 1) origin = std::stod(seconds.substr(0, point));
    const double time = (std::stod(seconds.substr(0, point)) - origin) * 1e3 +
                        std::stod("0" + seconds.substr(point)) * 1e3;
    if (op == "CALL") {
      open[id] = all.calls.size();
      all.calls.push_back({number, node(from), node(to), time, -1, -1});
    } else if (const auto found = open.find(id); found != open.end()) {
      all.calls[found->second].returned = time;
      open.erase(found);
    }
  }
  return all;
}

// An event at a node during a visit: 0 the arrival, 2k+1 the departure of its call k, 2k+2 that call's return.
struct Step {
  int callee = -1;
  std::vector<size_t> after;
  double mean = 0, sd = 0;
};
struct VisitKind {
  double weight = 0;
  std::vector<Step> calls;
  Step reply;
};
using KindsByNode = std::map<int, std::vector<VisitKind>>;

Result<Step> StepOf(const scenario::Tracelet& tracelet, uint32_t message, uint32_t visit,
                    const std::vector<uint32_t>& children) {
  const scenario::TraceletMessage& shape = tracelet.messages[message];
  Step step{
      -1, {}, shape.delay_mean_ns / 1e6, std::max(shape.delay_sd_ns / 1e6, kLeastDeviationMs)};
  for (const uint32_t before : shape.after) {
    const scenario::TraceletMessage& other = tracelet.messages[before];
    const uint32_t call = other.kind == MessageKind::kReturn ? other.call : before;
    const auto child = std::find(children.begin(), children.end(), call);
    if (before == visit) {
      step.after.push_back(0);
    } else if (child != children.end()) {
      step.after.push_back(2 * static_cast<size_t>(child - children.begin()) +
                           (other.kind == MessageKind::kReturn ? 2 : 1));
    } else {
      return BadInput("a message waits for one that its node does not see",
                      "the oracle looks at one node at a time");
    }
  }
  return step;
}

Result<KindsByNode> KindsOf(const scenario::GeneratorConfig& config, const Messages& messages) {
  std::map<int, std::map<std::string, VisitKind>> kinds;  // by what they look like
  for (const scenario::TraceletGroup& group : config.groups) {
    for (const scenario::Tracelet& tracelet : group.tracelets) {
      const auto count = static_cast<uint32_t>(tracelet.messages.size());
      for (uint32_t visit = 0; visit < count; ++visit) {
        if (tracelet.messages[visit].kind != MessageKind::kCall) continue;
        std::vector<uint32_t> children;
        uint32_t reply = scenario::kNoMessage;
        for (uint32_t i = 0; i < count; ++i) {
          const scenario::TraceletMessage& other = tracelet.messages[i];
          if (other.kind == MessageKind::kCall && other.parent == visit) children.push_back(i);
          if (other.kind == MessageKind::kReturn && other.call == visit) reply = i;
        }
        if (reply == scenario::kNoMessage)
          return BadInput("a call never returns", "the oracle needs all");
        VisitKind kind;
        std::string looks;
        const auto describe = [&](const Step& step) {
          looks += fmt::format("{} {} {}:", step.callee, step.mean, step.sd);
          for (const size_t event : step.after) looks += fmt::format(" {}", event);
          looks += ';';
        };
        for (const uint32_t child : children) {
          WF_ASSIGN(Step step, StepOf(tracelet, child, visit, children));
          const auto named = messages.names.find(config.nodes[tracelet.messages[child].to]);
          step.callee = named == messages.names.end() ? -2 : named->second;
          describe(step);
          kind.calls.push_back(std::move(step));
        }
        WF_ASSIGN(kind.reply, StepOf(tracelet, reply, visit, children));
        describe(kind.reply);
        const auto named = messages.names.find(config.nodes[tracelet.messages[visit].to]);
        if (named == messages.names.end()) continue;
        const double before = kinds[named->second][looks].weight;
        kind.weight = before + tracelet.weight * group.parallel;
        kinds[named->second][looks] = std::move(kind);
      }
    }
  }
  KindsByNode by_node;
  for (auto& [node, all] : kinds) {
    double total = 0;
    for (const auto& [looks, kind] : all) total += kind.weight;
    for (auto& [looks, kind] : all) {
      kind.weight = std::log(kind.weight / total);
      by_node[node].push_back(std::move(kind));
    }
  }
  return by_node;
}

struct Explanation {
  double score = 0;
  std::vector<uint32_t> calls;  // sorted
};

// One node: the visits to it and the calls that it made.
class NodeProblem {
 public:
  NodeProblem(std::vector<SeenCall>& calls, int node, const std::vector<VisitKind>& kinds)
      : calls_(calls), kinds_(kinds) {
    for (uint32_t i = 0; i < calls.size(); ++i) {
      if (calls[i].returned < 0) continue;
      if (calls[i].to == node) visits_.push_back(i);
      if (calls[i].from == node) made_[calls[i].to].push_back(i);
    }
    const auto by_time = [&](uint32_t a, uint32_t b) { return calls[a].sent < calls[b].sent; };
    std::sort(visits_.begin(), visits_.end(), by_time);
    for (auto& [callee, list] : made_) std::sort(list.begin(), list.end(), by_time);
  }

  void Solve() {
    explanations_.resize(visits_.size());
    for (size_t i = 0; i < visits_.size(); ++i) {
      for (const VisitKind& kind : kinds_) {
        events_.assign(1, calls_[visits_[i]].sent);
        chosen_.clear();
        Explain(i, kind, 0, kind.weight);
      }
      std::vector<Explanation>& all = explanations_[i];
      std::sort(all.begin(), all.end(),
                [](const Explanation& a, const Explanation& b) { return a.score > b.score; });
      if (all.size() > kMostExplanations) all.resize(kMostExplanations);
      for (const Explanation& one : all)
        for (const uint32_t call : one.calls) last_wanted_[call] = i;
    }
    wanted_until_.resize(visits_.size());
    for (const auto& [call, visit] : last_wanted_) wanted_until_[visit].push_back(call);
    Beam();
  }

 private:
  double Base(const Step& step) const {
    double base = step.after.empty() ? events_[0] : 0;
    for (const size_t event : step.after) base = std::max(base, events_[event]);
    return base;
  }
  static double LogDensity(const Step& step, double delay) {
    const double z = (delay - step.mean) / step.sd;
    return -z * z / 2 - std::log(step.sd);
  }

  void Explain(size_t visit, const VisitKind& kind, size_t k, double score) {
    const double end = calls_[visits_[visit]].returned;
    if (k == kind.calls.size()) {
      const double delay = end - Base(kind.reply);
      if (delay < 0 || std::abs(delay - kind.reply.mean) > kDeviations * kind.reply.sd) return;
      Explanation found{score + LogDensity(kind.reply, delay), chosen_};
      std::sort(found.calls.begin(), found.calls.end());
      // Calls made at the same time may stand for one another.
      for (Explanation& known : explanations_[visit]) {
        if (known.calls != found.calls) continue;
        known.score = std::max(known.score, found.score);
        return;
      }
      explanations_[visit].push_back(std::move(found));
      return;
    }
    const Step& step = kind.calls[k];
    const auto list = made_.find(step.callee);
    if (list == made_.end()) return;
    const double base = Base(step);
    const double from = std::max(base, base + step.mean - kDeviations * step.sd);
    const double until = base + step.mean + kDeviations * step.sd;
    auto at =
        std::lower_bound(list->second.begin(), list->second.end(), from,
                         [&](uint32_t call, double time) { return calls_[call].sent < time; });
    for (; at != list->second.end() && calls_[*at].sent <= until; ++at) {
      const SeenCall& call = calls_[*at];
      if (call.returned > end || std::find(chosen_.begin(), chosen_.end(), *at) != chosen_.end())
        continue;
      chosen_.push_back(*at);
      events_.push_back(call.sent);
      events_.push_back(call.returned);
      Explain(visit, kind, k + 1, score + LogDensity(step, call.sent - base));
      chosen_.pop_back();
      events_.resize(events_.size() - 2);
    }
  }

  struct Hypothesis {
    double score = 0;
    std::vector<uint32_t> taken;  // of the calls still wanted, sorted
    uint32_t before = 0;          // hypothesis of the visit before
    int choice = -1;              // explanation; -1: none
  };

  // Takes leave of the calls that no later visit wants.
  void Expire(size_t visit, Hypothesis& hypothesis) const {
    for (const uint32_t call : wanted_until_[visit]) {
      const auto at = std::lower_bound(hypothesis.taken.begin(), hypothesis.taken.end(), call);
      if (at != hypothesis.taken.end() && *at == call) {
        hypothesis.taken.erase(at);
      } else {
        hypothesis.score += kOutlier;
      }
    }
  }

  void Beam() {
    struct Link {
      uint32_t before;
      int choice;
    };
    std::vector<std::vector<Link>> links(visits_.size());
    std::vector<Hypothesis> now(1), next;
    for (size_t i = 0; i < visits_.size(); ++i) {
      next.clear();
      for (uint32_t h = 0; h < now.size(); ++h) {
        for (int choice = -1; choice < static_cast<int>(explanations_[i].size()); ++choice) {
          Hypothesis grown{now[h].score, now[h].taken, h, choice};
          if (choice < 0) {
            grown.score += kOutlier;
          } else {
            const Explanation& one = explanations_[i][static_cast<size_t>(choice)];
            grown.score += one.score;
            grown.taken.clear();
            std::merge(now[h].taken.begin(), now[h].taken.end(), one.calls.begin(), one.calls.end(),
                       std::back_inserter(grown.taken));
            if (std::adjacent_find(grown.taken.begin(), grown.taken.end()) != grown.taken.end())
              continue;
          }
          Expire(i, grown);
          next.push_back(std::move(grown));
        }
      }
      std::sort(next.begin(), next.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.taken != b.taken ? a.taken < b.taken : a.score > b.score;
      });
      next.erase(
          std::unique(next.begin(), next.end(),
                      [](const Hypothesis& a, const Hypothesis& b) { return a.taken == b.taken; }),
          next.end());
      std::sort(next.begin(), next.end(),
                [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
      if (next.size() > kBeam) next.resize(kBeam);
      for (const Hypothesis& one : next) links[i].push_back({one.before, one.choice});
      std::swap(now, next);
    }
    uint32_t at = 0;
    for (size_t i = visits_.size(); i-- > 0;) {
      const Link link = links[i][at];
      if (link.choice >= 0) {
        for (const uint32_t call : explanations_[i][static_cast<size_t>(link.choice)].calls)
          calls_[call].parent = visits_[i];
      }
      at = link.before;
    }
  }

  std::vector<SeenCall>& calls_;
  const std::vector<VisitKind>& kinds_;
  std::vector<uint32_t> visits_;               // calls into the node, by arrival
  std::map<int, std::vector<uint32_t>> made_;  // calls from it, by callee and departure
  std::vector<std::vector<Explanation>> explanations_;
  std::map<uint32_t, size_t> last_wanted_;
  std::vector<std::vector<uint32_t>> wanted_until_;  // by visit: calls that it is the last to want
  std::vector<double> events_;
  std::vector<uint32_t> chosen_;
};

void FirstComeFirstServed(std::vector<SeenCall>& calls) {
  std::map<int, std::vector<uint32_t>> visits;  // by node, in order of arrival
  std::vector<std::map<int, int>> given(calls.size());
  for (uint32_t i = 0; i < calls.size(); ++i)
    if (calls[i].returned >= 0) visits[calls[i].to].push_back(i);
  for (uint32_t i = 0; i < calls.size(); ++i) {
    std::vector<uint32_t>& open = visits[calls[i].from];
    open.erase(
        std::remove_if(open.begin(), open.end(),
                       [&](uint32_t visit) { return calls[visit].returned < calls[i].sent; }),
        open.end());
    int least = INT32_MAX;
    for (const uint32_t visit : open) {
      if (calls[visit].sent > calls[i].sent) break;
      if (visit == i || calls[visit].returned < calls[i].returned) continue;
      const int had = given[visit][calls[i].to];
      if (had >= least) continue;
      least = had;
      calls[i].parent = visit;
    }
    if (calls[i].parent >= 0) ++given[static_cast<size_t>(calls[i].parent)][calls[i].to];
  }
}

Status Run(const std::string& method, const std::string& config_path,
           const std::string& messages_path, const std::string& out_path) {
  WF_ASSIGN(Messages messages, ReadMessages(messages_path));
  if (method == "fcfs") {
    FirstComeFirstServed(messages.calls);
  } else {
    std::ifstream file(config_path);
    std::ostringstream text;
    text << file.rdbuf();
    WF_ASSIGN(const scenario::GeneratorConfig config,
              scenario::ReadGeneratorConfig(text.str(), config_path));
    WF_ASSIGN(const KindsByNode kinds, KindsOf(config, messages));
    for (const auto& [node, of_node] : kinds) NodeProblem(messages.calls, node, of_node).Solve();
  }
  std::ofstream out(out_path);
  for (const SeenCall& call : messages.calls) {
    out << "{\"call\":" << call.line << ",\"parent\":";
    if (call.parent < 0) {
      out << "null}\n";
    } else {
      out << messages.calls[static_cast<size_t>(call.parent)].line << "}\n";
    }
  }
  out.close();
  return out ? Status() : EnvironmentError(out_path + ": cannot be written", "is there room?");
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) {
  const std::string method = argc > 1 ? argv[1] : "";
  if (argc != 5 || (method != "oracle" && method != "fcfs")) {
    fmt::print(stderr, "usage: bench_paths_oracle oracle|fcfs CONFIG MESSAGES ASSIGNMENTS\n");
    return 2;
  }
  const wf::Status status = wf::Run(method, argv[2], argv[3], argv[4]);
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_paths_oracle: {}\n  {}\n", status.error().message, status.error().hint);
  return 3;
}
