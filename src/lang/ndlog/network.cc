#include "lang/ndlog/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

#include "json/json_reader.h"
#include "lang/common/suggestion.h"

namespace wf::ndlog {
namespace {

// Every line of a JSON lines text, parsed. `use` gets the place ("topology.jsonl:3") too.
Status EachLine(std::string_view text, std::string_view file,
                const std::function<Status(const JsonValue&, const std::string& place)>& use) {
  JsonParser parser;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string place = fmt::format("{}:{}", file, number);
    const auto value = parser.Parse(line);
    if (!value.ok())
      return BadInput(place + ": " + value.error().message, "one JSON object a line");
    if (!value->IsObject()) return BadInput(place + ": no JSON object", "one JSON object a line");
    WF_TRY(use(*value, place));
  }
  return {};
}

Status CheckKeys(const JsonValue& line, const std::string& place,
                 const std::vector<std::string>& known) {
  std::set<std::string_view> seen;
  for (const auto& [key, value] : line.Members()) {
    if (!seen.insert(key).second)
      return BadInput(fmt::format("{}: {} is there twice", place, key), "leave one of them out");
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string hint = lang::DidYouMean(key, known);
    if (hint.empty()) hint = fmt::format("known here: {}", fmt::join(known, ", "));
    return BadInput(fmt::format("{}: {} is not known here", place, key), std::move(hint));
  }
  return {};
}

Result<Nanos> Duration(const JsonValue& line, const char* key, const std::string& place) {
  const JsonValue value = line.Get(key);
  if (value.missing()) return Nanos{0};
  const auto number = value.Int();
  constexpr Nanos kMost = 1000 * kDay;
  if (!number || *number < 0 || *number > kMost)
    return BadInput(fmt::format("{}: {} is not a duration", place, key),
                    "a whole number of nanoseconds from 0");
  return Nanos{*number};
}

struct LinkLine {
  std::string a, b;
  Route route;
  std::string place;
};

class NetworkReader {
 public:
  explicit NetworkReader(const Program& program) : program_(program) {
    out_.rule_cost.resize(program.rules.size());
  }

  Status Line(const JsonValue& line, const std::string& place) {
    const int kinds = (line.Get("node").missing() ? 0 : 1) + (line.Get("link").missing() ? 0 : 1) +
                      (line.Get("rule").missing() ? 0 : 1);
    if (kinds != 1)
      return BadInput(
          place + ": a line of a topology has node, link or rule",
          R"(as in {"node":"a"}, {"link":["a","b"],"delay_ns":5}, {"rule":"r1","cost_ns":9})");
    if (!line.Get("node").missing()) return NodeLine(line, place);
    if (!line.Get("link").missing()) return ReadLink(line, place);
    return RuleLine(line, place);
  }

  Result<Network> Finish() {
    std::sort(out_.nodes.begin(), out_.nodes.end());
    std::set<std::pair<int, int>> told;
    for (const LinkLine& link : links_) {
      for (const std::string& end : {link.a, link.b}) {
        if (out_.Find(end) >= 0) continue;
        std::string hint = lang::DidYouMean(end, out_.nodes);
        if (hint.empty()) hint = fmt::format(R"(a line {{"node":"{}"}} makes it one)", end);
        return BadInput(fmt::format("{}: {} is not a node", link.place, end), std::move(hint));
      }
      const std::pair<int, int> ends{out_.Find(link.a), out_.Find(link.b)};
      if (ends.first == ends.second)
        return BadInput(fmt::format("{}: a link from {} to itself", link.place, link.a),
                        "leave it out");
      if (!told.insert(ends).second)
        return BadInput(
            fmt::format("{}: the link from {} to {} is there twice", link.place, link.a, link.b),
            "leave one of them out");
      out_.links[ends] = link.route;
    }
    // A link works both ways alike, unless the other way has a line of its own.
    for (const auto& ends : told)
      out_.links.emplace(std::pair(ends.second, ends.first), out_.links[ends]);
    return std::move(out_);
  }

 private:
  Status NodeLine(const JsonValue& line, const std::string& place) {
    WF_TRY(CheckKeys(line, place, {"node"}));
    const std::string name(line.Get("node").String());
    if (name.empty()) return BadInput(place + ": a node is a name", R"(as in {"node":"a"})");
    if (!seen_.insert(name).second)
      return BadInput(fmt::format("{}: the node {} is there twice", place, name),
                      "leave one of them out");
    out_.nodes.push_back(name);
    return {};
  }

  Status ReadLink(const JsonValue& line, const std::string& place) {
    WF_TRY(CheckKeys(line, place, {"link", "delay_ns", "bits_per_s", "jitter_ns"}));
    const JsonValue ends = line.Get("link");
    std::vector<std::string> names;
    for (const JsonValue end : ends.Elements())
      if (end.IsString()) names.emplace_back(end.String());
    if (ends.size() != 2 || names.size() != 2)
      return BadInput(place + ": a link has two ends", R"(as in {"link":["a","b"]})");
    LinkLine link{names[0], names[1], {}, place};
    WF_ASSIGN(link.route.delay, Duration(line, "delay_ns", place));
    WF_ASSIGN(link.route.jitter, Duration(line, "jitter_ns", place));
    if (const JsonValue speed = line.Get("bits_per_s"); !speed.missing() && !speed.IsNull()) {
      const auto bits = speed.Int();
      if (!bits || *bits < 0)
        return BadInput(place + ": bits_per_s is a whole number",
                        "bits a second; leave it out for no limit");
      link.route.bits_per_second = *bits;
    }
    links_.push_back(std::move(link));
    return {};
  }

  Status RuleLine(const JsonValue& line, const std::string& place) {
    WF_TRY(CheckKeys(line, place, {"rule", "cost_ns", "jitter_ns"}));
    const std::string name(line.Get("rule").String());
    Cost cost;
    WF_ASSIGN(cost.cost, Duration(line, "cost_ns", place));
    WF_ASSIGN(cost.jitter, Duration(line, "jitter_ns", place));
    if (line.Get("cost_ns").missing())
      return BadInput(place + ": cost_ns is missing", R"(as in {"rule":"r1","cost_ns":9})");
    std::vector<std::string> known = {"INS", "DEL", "SND", "RCV"};
    Cost* const fixed[] = {&out_.insert_cost, &out_.delete_cost, &out_.send_cost,
                           &out_.receive_cost};
    for (size_t i = 0; i < std::size(fixed); ++i) {
      if (name != known[i]) continue;
      *fixed[i] = cost;
      return {};
    }
    for (size_t i = 0; i < program_.rules.size(); ++i) {
      known.push_back(program_.rules[i].label);
      if (name != program_.rules[i].label) continue;
      out_.rule_cost[i] = cost;
      return {};
    }
    std::string hint = lang::DidYouMean(name, known);
    if (hint.empty()) hint = fmt::format("known: {}", fmt::join(known, ", "));
    return BadInput(fmt::format("{}: the program has no rule {}", place, name), std::move(hint));
  }

  const Program& program_;
  std::set<std::string> seen_;
  std::vector<LinkLine> links_;
  Network out_;
};

Result<Input> ReadInput(const JsonValue& line, const std::string& place, const Program& program,
                        const Network& network, std::map<int, size_t>& arities) {
  WF_TRY(CheckKeys(line, place, {"at_ns", "insert", "delete"}));
  Input input;
  const auto at = line.Get("at_ns").Int();
  if (!at)
    return BadInput(place + ": at_ns is missing, or no whole number",
                    R"x(as in {"at_ns":0,"insert":"t(@a,1)"})x");
  constexpr Nanos kFarthest = INT64_MAX / 4;
  if (*at > kFarthest || *at < -kFarthest)
    return BadInput(place + ": at_ns is too far away", "times are nanoseconds");
  input.at = *at;
  const bool insert = !line.Get("insert").missing();
  if (insert == !line.Get("delete").missing())
    return BadInput(place + ": an input inserts or deletes a tuple",
                    R"x(as in {"at_ns":0,"insert":"t(@a,1)"})x");
  input.kind = insert ? Input::Kind::kInsert : Input::Kind::kDelete;
  const JsonValue text = line.Get(insert ? "insert" : "delete");
  if (!text.IsString())
    return BadInput(place + ": the tuple is not a text", R"x(as in "t(@a,1)")x");
  auto tuple = ParseTuple(text.String());
  if (!tuple.ok()) return BadInput(place + ": " + tuple.error().message, tuple.error().hint);
  input.predicate = program.Find(tuple->name);
  if (input.predicate < 0) {
    std::vector<std::string> known;
    for (const Predicate& predicate : program.predicates)
      if (!predicate.hidden) known.push_back(predicate.name);
    std::string hint = lang::DidYouMean(tuple->name, known);
    if (hint.empty()) hint = fmt::format("it knows {}", fmt::join(known, ", "));
    return BadInput(fmt::format("{}: the program does not know {}", place, tuple->name),
                    std::move(hint));
  }
  const Predicate& predicate = program.predicates[static_cast<size_t>(input.predicate)];
  const size_t arity = predicate.arity >= 0
                           ? static_cast<size_t>(predicate.arity)
                           : arities.emplace(input.predicate, tuple->values.size()).first->second;
  if (tuple->values.size() != arity || arity == 0)
    return BadInput(fmt::format("{}: {} has {} attributes, not {}", place, tuple->name, arity,
                                tuple->values.size()),
                    "as the program uses it");
  if (tuple->location >= 0 && tuple->location != predicate.location)
    return BadInput(fmt::format("{}: attribute {} of {} names the node", place,
                                predicate.location + 1, tuple->name),
                    "put the @ there");
  const Value& where = tuple->values[static_cast<size_t>(predicate.location)];
  // A node may have a name that looks like a number.
  input.node = network.Find(where.Text() != nullptr ? *where.Text() : where.Shown());
  if (input.node < 0) {
    std::string hint = lang::DidYouMean(where.Shown(), network.nodes);
    if (hint.empty())
      hint = fmt::format(R"(a line {{"node":"{}"}} of the topology makes it one)", where.Shown());
    return BadInput(fmt::format("{}: {} is not a node", place, where.Shown()), std::move(hint));
  }
  if (input.kind == Input::Kind::kDelete && !predicate.is_table())
    return BadInput(
        fmt::format("{}: {} is an event, which is over once it has come", place, tuple->name),
        "only tuples of materialized tables can be deleted");
  input.values = std::move(tuple->values);
  return input;
}

}  // namespace

int Network::Find(std::string_view name) const {
  const auto found = std::lower_bound(nodes.begin(), nodes.end(), name);
  return found != nodes.end() && *found == name ? static_cast<int>(found - nodes.begin()) : -1;
}

const Route* Network::RouteBetween(int from, int to) const {
  // A link is taken even where a detour has less delay: messages between neighbours go over their link.
  if (const auto direct = links.find({from, to}); direct != links.end()) return &direct->second;
  auto known = routes_.find(from);
  if (known ==
      routes_.end()) {  // Dijkstra; ties by node name, so that runs are the same everywhere
    std::map<int, Route> best;
    using Entry = std::pair<Nanos, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    std::set<int> done;
    best[from] = {};
    open.emplace(0, from);
    while (!open.empty()) {
      const int at = open.top().second;
      open.pop();
      if (!done.insert(at).second) continue;
      for (auto link = links.lower_bound({at, 0}); link != links.end() && link->first.first == at;
           ++link) {
        const int next = link->first.second;
        Route route = best[at];
        route.delay = SaturatingAdd(route.delay, link->second.delay);
        route.jitter = SaturatingAdd(route.jitter, link->second.jitter);
        const int64_t bits = link->second.bits_per_second;
        if (bits > 0 && (route.bits_per_second == 0 || bits < route.bits_per_second))
          route.bits_per_second = bits;
        const auto found = best.find(next);
        if (found != best.end() && found->second.delay <= route.delay) continue;
        best[next] = route;
        open.emplace(route.delay, next);
      }
    }
    known = routes_.emplace(from, std::move(best)).first;
  }
  const auto found = known->second.find(to);
  return found == known->second.end() ? nullptr : &found->second;
}

Result<Network> ReadNetwork(std::string_view text, std::string_view file, const Program& program) {
  NetworkReader reader(program);
  WF_TRY(EachLine(text, file, [&](const JsonValue& line, const std::string& place) {
    return reader.Line(line, place);
  }));
  WF_ASSIGN(Network network, reader.Finish());
  if (network.nodes.empty())
    return BadInput(fmt::format("{}: no node", file), R"(each node has a line {"node":"a"})");
  return network;
}

Result<std::vector<Input>> ReadInputs(std::string_view text, std::string_view file,
                                      const Program& program, const Network& network) {
  std::vector<Input> inputs;
  std::map<int, size_t> arities;
  WF_TRY(EachLine(text, file, [&](const JsonValue& line, const std::string& place) -> Status {
    WF_ASSIGN(Input input, ReadInput(line, place, program, network, arities));
    inputs.push_back(std::move(input));
    return {};
  }));
  return inputs;
}

}  // namespace wf::ndlog
