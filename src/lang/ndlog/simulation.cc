#include "lang/ndlog/simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "lang/ndlog/simulation_core.h"

namespace wf::ndlog {
namespace {

std::string IdOf(VertexId vertex) { return "e" + std::to_string(vertex); }

bool IsLoss(const Item& item) {
  if (item.work == Work::kUnderive) return true;
  return item.polarity == Polarity::kMinus &&
         (item.work == Work::kSend || item.work == Work::kReceive);
}

}  // namespace

Core::Core(const Program& program, const Network& network, const RunOptions& options)
    : program_(program), network_(network), options_(options), nodes_(network.nodes.size()) {
  for (Node& node : nodes_) {
    for (const Predicate& predicate : program.predicates) {
      node.tables.push_back(std::make_unique<Table>(&predicate));
      node.exports.push_back(std::make_unique<Table>(&predicate));
    }
  }
}

Result<RunResult> Core::Run(const std::vector<Input>& inputs) {
  ScheduleInputs(inputs);
  while (!wakes_.empty() && !failure_) {
    const auto [time, index] = wakes_.top();
    wakes_.pop();
    Node& node = nodes_[static_cast<size_t>(index)];
    if (time != node.wake_at) continue;
    node.wake_at = INT64_MAX;
    if (node.queue.empty()) continue;
    const Nanos arrival = node.queue.begin()->first.first;
    const Nanos start = std::max(node.free_at, arrival);
    if (start > time) {  // it has become busier since this was noted
      Announce(index);
      continue;
    }
    if (ShouldStop(start)) break;
    Item item = std::move(node.queue.begin()->second);
    node.queue.erase(node.queue.begin());
    if (!item.idle) --busy_items_;
    if (IsLoss(item)) --pending_deletions_;
    bytes_ -= kBytesOfRow + kBytesOfPart * static_cast<int64_t>(PartsOf(item));
    Process(index, start, arrival, std::move(item));
    if (!node.queue.empty()) Announce(index);
    if (static_cast<int64_t>(vertices_) > options_.most_events)
      return BadInput(fmt::format("the program still runs after {} events", options_.most_events),
                      "does some rule derive ever new tuples? --until stops it at a time");
  }
  if (!failure_ && options_.replay != nullptr && options_.replay->size() != vertices_)
    failure_ = BadInput(fmt::format("the replay differs: {} events were recorded, {} happen now",
                                    options_.replay->size(), vertices_),
                        "is it the recording of this version of wherefore?");
  if (failure_) return *failure_;
  return Answer();
}

uint64_t Core::PartsOf(const Item& item) {
  return item.causes.size() + (item.transient == nullptr ? 0 : WeightOf(item.transient->values));
}

void Core::Keep(uint64_t parts) {
  bytes_ = SaturatingAdd(bytes_, kBytesOfRow + kBytesOfPart * static_cast<int64_t>(parts));
  if (bytes_ <= options_.most_bytes || failure_) return;
  failure_ = BadInput(fmt::format("the program's tuples and derivations take more than {} MiB, "
                                  "after {} events",
                                  options_.most_bytes >> 20, vertices_),
                      "does some rule derive ever more, or ever larger tuples? --until stops it at "
                      "a time");
}

bool Core::ShouldStop(Nanos next) const {
  return options_.until ? next > *options_.until : busy_items_ == 0;
}

void Core::ScheduleInputs(const std::vector<Input>& inputs) {
  Nanos begin = inputs.empty() ? 0 : inputs.front().at;
  for (const Input& input : inputs) begin = std::min(begin, input.at);
  const auto add = [&](Work work, Nanos at, int node, int predicate, const List& values) {
    Item item;
    item.work = work;
    item.predicate = predicate;
    item.origin = node;
    item.transient = std::make_shared<Row>();
    item.transient->predicate = predicate;
    item.transient->node = node;
    item.transient->values = values;
    item.transient->hash = HashOf(values);
    Schedule(node, at, std::move(item));
  };
  for (const auto& [predicate, values] : program_.facts) {
    const Predicate& of = program_.predicates[static_cast<size_t>(predicate)];
    const Value& where = values[static_cast<size_t>(of.location)];
    const int node = NodeOf(where);
    if (node < 0) {
      failure_ = BadInput(fmt::format("the fact {}: {} is not a node of the topology",
                                      TupleText(of.name, values, of.location), where.Shown()),
                          fmt::format(R"(a line {{"node":"{}"}} makes it one)", where.Shown()));
      return;
    }
    add(Work::kInsert, begin, node, predicate, values);
  }
  for (const Input& input : inputs)
    add(input.kind == Input::Kind::kInsert ? Work::kInsert : Work::kDelete, input.at, input.node,
        input.predicate, input.values);
  ScheduleClocks(begin);
}

void Core::ScheduleClocks(Nanos begin) {
  for (size_t p = 0; p < program_.predicates.size(); ++p) {
    const Predicate& clock = program_.predicates[p];
    if (clock.kind != PredicateKind::kPeriodic) continue;
    for (size_t node = 0; node < nodes_.size(); ++node) {
      Item item;
      item.work = Work::kPeriodic;
      item.predicate = static_cast<int>(p);
      item.origin = static_cast<int>(node);
      item.idle = !clock.times;
      Strike(std::move(item), SaturatingAdd(begin, clock.period));
    }
  }
}

// Sets a clock's next strike.
void Core::Strike(Item item, Nanos at) {
  const Predicate& clock = program_.predicates[static_cast<size_t>(item.predicate)];
  const auto node = static_cast<size_t>(item.origin);
  const auto seconds = [&] {
    return clock.period % kSecond == 0 ? Value(int64_t{clock.period / kSecond})
                                       : Value(static_cast<double>(clock.period) / 1e9);
  };
  item.transient = std::make_shared<Row>();
  Row& row = *item.transient;
  row.predicate = item.predicate;
  row.node = item.origin;
  // Told apart from every other strike of any node.
  const int64_t strike = item.count * static_cast<int64_t>(nodes_.size()) + item.origin;
  row.values = {Value(network_.nodes[node]), Value(strike), seconds()};
  if (clock.times) row.values.emplace_back(int64_t{*clock.times});
  row.hash = HashOf(row.values);
  Schedule(static_cast<int>(node), at, std::move(item));
}

void Core::Schedule(int node, Nanos arrival, Item item) {
  if (!item.idle) ++busy_items_;
  if (IsLoss(item)) ++pending_deletions_;
  Keep(PartsOf(item));
  Node& at = nodes_[static_cast<size_t>(node)];
  at.queue.emplace(std::pair(arrival, ++arrivals_), std::move(item));
  Announce(node);
}

void Core::Announce(int node) {
  Node& at = nodes_[static_cast<size_t>(node)];
  const Nanos time = std::max(at.free_at, at.queue.begin()->first.first);
  if (time >= at.wake_at) return;
  at.wake_at = time;
  wakes_.emplace(time, node);
}

ProvenanceType Core::TypeOf(const Item& item) const {
  switch (item.work) {
    case Work::kInsert:
    case Work::kPeriodic:
      return ProvenanceType::kInsert;
    case Work::kDelete:
      return ProvenanceType::kDelete;
    case Work::kDerive:
      return ProvenanceType::kDerive;
    case Work::kUnderive:
      return ProvenanceType::kUnderive;
    case Work::kSend:
      return ProvenanceType::kSend;
    case Work::kReceive:
      return ProvenanceType::kReceive;
    case Work::kExpire:
      break;
  }
  return item.row->base ? ProvenanceType::kDelete : ProvenanceType::kUnderive;
}

const Row& Core::TupleOf(const Item& item) const {
  return item.transient != nullptr ? *item.transient : *item.row;
}

void Core::Process(int index, Nanos start, Nanos arrival, Item item) {
  Node& node = nodes_[static_cast<size_t>(index)];
  if (item.work == Work::kExpire) {
    if (!item.row->alive || item.row->expires > arrival) return;  // it went, or was renewed
    item.told_ready = true;
    if (!item.row->base) item.causes = {item.row->vertex};
  }
  // Its head was replaced, expired or evicted while this waited: there is nothing left to do.
  if (item.support != nullptr && item.support->head == nullptr) return;
  const ProvenanceType type = TypeOf(item);
  const Row& tuple = TupleOf(item);
  const Happened happened = Time(type, index, item, tuple, start);
  if (failure_) return;
  if (options_.provenance) {
    const bool from_outside = type == ProvenanceType::kInsert || type == ProvenanceType::kDelete ||
                              type == ProvenanceType::kReceive;
    std::optional<Nanos> ready;
    if (from_outside || item.told_ready) ready = arrival;
    Tell(happened, item, tuple, ready);
  }
  node.free_at = happened.end;
  Moment moment{index, item.origin, vertices_, happened.end};
  if (item.work == Work::kPeriodic) {
    Item next = item;
    ++next.count;
    const Predicate& clock = program_.predicates[static_cast<size_t>(item.predicate)];
    if (!clock.times || next.count < *clock.times)
      Strike(std::move(next), SaturatingAdd(arrival, clock.period));
  }
  Perform(std::move(item), happened, moment);
  if (!suspended_.empty()) ReviveSuspended(moment);
  node.free_at = moment.end;
  last_end_ = std::max(last_end_, moment.end);
}

void Core::Perform(Item item, const Happened& happened, Moment& moment) {
  switch (item.work) {
    case Work::kInsert:
    case Work::kPeriodic:
      if (program_.predicates[static_cast<size_t>(item.predicate)].is_table())
        return Insert(RowFor(moment.node, item.predicate, item.transient->values, -1), moment);
      return Transient(item.transient, moment);
    case Work::kDelete:
      item.row = RowFor(moment.node, item.predicate, item.transient->values, -1);
      return Delete(item, moment);
    case Work::kDerive:
      return Derive(item, moment);
    case Work::kUnderive:
      return Underive(item, moment);
    case Work::kSend:
      return Deliver(std::move(item), happened, moment);
    case Work::kReceive:
      return Receive(item, moment);
    case Work::kExpire:
      return Expire(item, moment);
  }
}

void Core::Deliver(Item item, const Happened& happened, const Moment& moment) {
  const int receiver = item.peer;
  const Nanos arrival = SaturatingAdd(happened.end, happened.transit);
  item.work = Work::kReceive;
  item.peer = moment.node;
  item.rule = -1;
  item.causes = {moment.vertex};
  Schedule(receiver, arrival, std::move(item));
}

// Uniform in [0, jitter], the same for the same seed.
Nanos Core::Drawn(Nanos jitter) {
  ++draws_;
  if (jitter == 0) return 0;
  const uint64_t bits = MixBits(MixBits(options_.seed) + draws_ * 0x9E3779B97F4A7C15ull);
  return static_cast<Nanos>(bits % (static_cast<uint64_t>(jitter) + 1));
}

Cost Core::CostOf(ProvenanceType type, int rule) const {
  switch (type) {
    case ProvenanceType::kInsert:
      return network_.insert_cost;
    case ProvenanceType::kDelete:
      return network_.delete_cost;
    case ProvenanceType::kSend:
      return network_.send_cost;
    case ProvenanceType::kReceive:
      return network_.receive_cost;
    default:
      return rule < 0 ? Cost{} : network_.rule_cost[static_cast<size_t>(rule)];
  }
}

Core::Happened Core::Time(ProvenanceType type, int node, const Item& item, const Row& tuple,
                          Nanos start) {
  Happened happened;
  happened.type = type;
  happened.node = node;
  happened.start = start;
  const Predicate& predicate = program_.predicates[static_cast<size_t>(tuple.predicate)];
  const auto hash = static_cast<uint32_t>(MixBits(tuple.hash ^ HashBytes(predicate.name)));
  if (options_.replay != nullptr) {
    FromRecording(hash, happened);
  } else {
    const Cost cost = CostOf(type, item.rule);
    happened.end = SaturatingAdd(start, SaturatingAdd(cost.cost, Drawn(cost.jitter)));
    if (type == ProvenanceType::kSend) TimeOfSending(item, tuple, happened);
  }
  ++vertices_;
  if (options_.record != nullptr)
    options_.record->push_back({static_cast<uint32_t>(node), type, hash, start,
                                SaturatingSub(happened.end, start), happened.transit});
  return happened;
}

// A node is busy while it puts a message on the wire. Links keep the order of messages.
void Core::TimeOfSending(const Item& item, const Row& tuple, Happened& happened) {
  const Predicate& predicate = program_.predicates[static_cast<size_t>(tuple.predicate)];
  const Route* route = network_.RouteBetween(happened.node, item.peer);
  if (route == nullptr) {
    failure_ = BadInput(fmt::format("{} has {} for {}, and no link leads there",
                                    network_.nodes[static_cast<size_t>(happened.node)],
                                    TupleText(predicate.name, tuple.values, predicate.location),
                                    network_.nodes[static_cast<size_t>(item.peer)]),
                        R"(a line {"link":["a","b"],"delay_ns":5} of the topology makes one)");
    return;
  }
  if (route->bits_per_second > 0) {
    const size_t bytes = 1 + TupleText(predicate.name, tuple.values, predicate.location).size();
    const auto bits = static_cast<__int128>(bytes) * 8 * kSecond;
    const auto wire = (bits + route->bits_per_second - 1) / route->bits_per_second;
    happened.end =
        SaturatingAdd(happened.end, static_cast<Nanos>(std::min<__int128>(wire, INT64_MAX)));
  }
  Nanos& last = last_arrival_.emplace(std::pair(happened.node, item.peer), INT64_MIN).first->second;
  const Nanos arrival =
      SaturatingAdd(happened.end, SaturatingAdd(route->delay, Drawn(route->jitter)));
  last = std::max(last, arrival);
  happened.transit = last - happened.end;
}

void Core::FromRecording(uint32_t tuple, Happened& happened) {
  const auto& events = *options_.replay;
  const auto describe = [&](uint32_t node, ProvenanceType type, Nanos start) {
    const std::string name =
        node < network_.nodes.size() ? network_.nodes[node] : "an unknown node";
    return fmt::format("{} on {} at {} ns", ProvenanceTypeName(type), name, start);
  };
  const auto differs = [&](std::string recorded) {
    failure_ = BadInput(
        fmt::format("the replay differs at event {}: recorded was {}, now comes {}", vertices_ + 1,
                    recorded,
                    describe(static_cast<uint32_t>(happened.node), happened.type, happened.start)),
        "the recording was changed, or is of another version of wherefore");
  };
  if (vertices_ >= events.size()) return differs("nothing more");
  const RecordedEvent& event = events[vertices_];
  const bool same = event.node == static_cast<uint32_t>(happened.node) &&
                    event.type == happened.type && event.start == happened.start;
  if (!same) return differs(describe(event.node, event.type, event.start));
  if (event.tuple != tuple)
    return differs(describe(event.node, event.type, event.start) + " of another tuple");
  happened.end = SaturatingAdd(event.start, event.duration);
  happened.transit = event.transit;
}

void Core::Tell(const Happened& happened, const Item& item, const Row& tuple,
                std::optional<Nanos> ready) {
  const Predicate& predicate = program_.predicates[static_cast<size_t>(tuple.predicate)];
  ProvenanceEvent event;
  event.id = IdOf(vertices_);
  event.type = happened.type;
  event.node = network_.nodes[static_cast<size_t>(happened.node)];
  const bool message =
      happened.type == ProvenanceType::kSend || happened.type == ProvenanceType::kReceive;
  if (message) event.tuple = item.polarity == Polarity::kPlus ? "+" : "-";
  event.tuple += TupleText(predicate.name, tuple.values, predicate.location);
  event.start_ns = happened.start;
  event.end_ns = happened.end;
  if (happened.type != ProvenanceType::kInsert && happened.type != ProvenanceType::kDelete)
    for (const VertexId cause : item.causes) event.causes.push_back(IdOf(cause));
  if (item.rule >= 0 && !message) event.rule = program_.rules[static_cast<size_t>(item.rule)].label;
  if (message) event.peer = network_.nodes[static_cast<size_t>(item.peer)];
  event.origin = network_.nodes[static_cast<size_t>(item.origin)];
  event.ready_ns = ready;
  if (Status status = options_.provenance(event); !status.ok()) failure_ = status.error();
}

VertexId Core::Inline(ProvenanceType type, const Row& row, Moment& moment) {
  Item item;
  item.origin = moment.origin;
  item.causes = {moment.vertex};
  const Happened happened = Time(type, moment.node, item, row, moment.end);
  if (!failure_ && options_.provenance) {
    std::optional<Nanos> ready;
    if (type == ProvenanceType::kDelete) ready = moment.end;
    Tell(happened, item, row, ready);
  }
  moment.end = happened.end;
  return vertices_;
}

RunResult Core::Answer() {
  for (size_t p = 0; p < program_.predicates.size(); ++p) {
    const Predicate& predicate = program_.predicates[p];
    if (predicate.hidden || !predicate.is_table()) continue;
    std::vector<std::string>& tuples = result_.tables[predicate.name];
    for (const Node& node : nodes_)
      for (const auto& [order, row] : node.tables[p]->by_order())
        tuples.push_back(TupleText(predicate.name, row->values, predicate.location));
    std::sort(tuples.begin(), tuples.end());
  }
  result_.events = vertices_;
  result_.end = vertices_ == 0 ? 0 : last_end_;
  return std::move(result_);
}

Result<RunResult> Run(const Program& program, const Network& network,
                      const std::vector<Input>& inputs, const RunOptions& options) {
  return Core(program, network, options).Run(inputs);
}

Result<RunResult> RunFromTexts(const RunTexts& texts, const RunOptions& options) {
  const Compiled compiled = Compile(texts.program);
  if (!compiled.program)
    return ProgramError(texts.program, texts.program_name, compiled.diagnostics);
  WF_ASSIGN(const Network network,
            ReadNetwork(texts.topology, texts.topology_name, *compiled.program));
  WF_ASSIGN(const std::vector<Input> inputs,
            ReadInputs(texts.inputs, texts.inputs_name, *compiled.program, network));
  return Run(*compiled.program, network, inputs, options);
}

Result<RunResult> Replay(const Recording& recording,
                         std::function<Status(const ProvenanceEvent&)> provenance) {
  RunOptions options;
  options.seed = recording.seed;
  options.until = recording.until;
  options.provenance = std::move(provenance);
  options.replay = &recording.events;
  return RunFromTexts(
      {recording.program, recording.topology, recording.inputs, "the recording's program",
       "the recording's topology", "the recording's inputs"},
      options);
}

}  // namespace wf::ndlog
