// The effects of a tuple that appears or disappears: pipelined semi-naïve evaluation. A new tuple is joined
// with what its node has; each way in which a body holds becomes a support, whose DRV waits in the queue like
// everything else. A tuple that disappears removes its supports, one UDRV each. A head on another node is
// kept here as a separate row, an export; when that becomes alive or dies, the other node is notified (SND,
// RCV), and its copy has the export as its only premise.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "lang/ndlog/simulation_core.h"

namespace wf::ndlog {

Table& Core::TableOf(int node, int predicate) {
  return *nodes_[static_cast<size_t>(node)].tables[static_cast<size_t>(predicate)];
}

Row* Core::RowFor(int node, int predicate, const List& values, int destination) {
  Node& owner = nodes_[static_cast<size_t>(node)];
  Table& table = destination < 0 ? *owner.tables[static_cast<size_t>(predicate)]
                                 : *owner.exports[static_cast<size_t>(predicate)];
  const uint64_t hash = HashOf(values);
  if (Row* row = table.Find(values, hash)) return row;
  Row& row = rows_.emplace_back();
  row.predicate = predicate;
  row.node = node;
  row.destination = destination;
  row.values = values;
  row.hash = hash;
  Keep(WeightOf(values));
  table.Remember(&row);
  return &row;
}

int Core::NodeOf(const Value& value) const {
  return network_.Find(value.Text() != nullptr ? *value.Text() : value.Shown());
}

void Core::Fail(const CompiledRule& rule, std::string what) {
  if (failure_) return;
  const bool placed = evaluation_.fault_place.line > 1 || evaluation_.fault_place.column > 1;
  const Place& place = placed ? evaluation_.fault_place : rule.place;
  failure_ = BadInput(
      fmt::format("rule {} (line {}, column {}): {}", rule.label, place.line, place.column, what),
      "the run stopped there");
}

std::vector<VertexId> Core::CausesOf(const std::vector<Row*>& premises, VertexId also) const {
  std::vector<VertexId> causes;
  if (!options_.provenance) return causes;
  for (const Row* premise : premises) causes.push_back(premise->vertex);
  if (also != 0) causes.push_back(also);
  std::sort(causes.begin(), causes.end());
  causes.erase(std::unique(causes.begin(), causes.end()), causes.end());
  return causes;
}

void Core::Trigger(Row* row, const Moment& moment) {
  for (const StrandRef& ref : program_.strands_of[static_cast<size_t>(row->predicate)]) {
    const CompiledRule& rule = program_.rules[static_cast<size_t>(ref.rule)];
    evaluation_.now = moment.end;
    evaluation_.joins_left = options_.most_joins;
    evaluation_.matches_left = options_.most_matches;
    evaluation_.weight_left = options_.most_weight;
    Joiner joiner(
        rule, rule.strands[static_cast<size_t>(ref.strand)],
        [&](int predicate) -> Table& { return TableOf(moment.node, predicate); }, evaluation_);
    std::vector<Match> matches = joiner.Run(row);
    if (!evaluation_.fault.empty()) return Fail(rule, evaluation_.fault);
    if (rule.aggregate && rule.event >= 0) {
      AggregateOfEvent(ref.rule, std::move(matches), moment);
      continue;
    }
    for (Match& match : matches) {
      if (failure_) return;
      // A row that stands twice in a body is found by both strands: the first one has it.
      const auto trigger =
          match.premises.begin() + rule.strands[static_cast<size_t>(ref.strand)].trigger;
      if (std::find(match.premises.begin(), trigger, row) != trigger) continue;
      if (rule.aggregate) {
        Contribute(ref.rule, std::move(match), moment);
      } else {
        Derived(rule, ref.rule, std::move(match), moment);
      }
    }
  }
}

// The rule's body holds in one more way.
void Core::Derived(const CompiledRule& rule, int rule_index, Match match, const Moment& moment) {
  const Predicate& head = program_.predicates[static_cast<size_t>(rule.head)];
  const Value& where = match.head[static_cast<size_t>(head.location)];
  const int node = NodeOf(where);
  if (node < 0)
    return Fail(rule, fmt::format("derives {} for {}, which is not a node",
                                  TupleText(head.name, match.head, head.location), where.Shown()));
  std::vector<VertexId> causes = CausesOf(match.premises, moment.vertex);
  if (rule.event >= 0 || !head.is_table()) {
    Item item;
    item.work = Work::kDerive;
    item.rule = rule_index;
    item.predicate = rule.head;
    item.origin = moment.origin;
    item.causes = std::move(causes);
    item.transient = std::make_shared<Row>();
    item.transient->predicate = rule.head;
    item.transient->node = moment.node;
    item.transient->destination = node == moment.node ? -1 : node;
    item.transient->hash = HashOf(match.head);
    item.transient->values = std::move(match.head);
    return Schedule(moment.node, moment.end, std::move(item));
  }
  Support& support = supports_.emplace_back();
  support.rule = rule_index;
  support.premises = std::move(match.premises);
  support.head = RowFor(moment.node, rule.head, match.head, node == moment.node ? -1 : node);
  support.home = support.head;
  Keep(support.premises.size());
  for (Row* premise : std::set<Row*>(support.premises.begin(), support.premises.end()))
    premise->uses.push_back(&support);
  ScheduleDerive(&support, moment, std::move(causes));
}

void Core::ScheduleDerive(Support* support, const Moment& moment, std::vector<VertexId> causes) {
  Item item;
  item.work = Work::kDerive;
  item.rule = support->rule;
  item.predicate = support->head->predicate;
  item.origin = moment.origin;
  item.support = support;
  item.row = support->head;
  item.causes = std::move(causes);
  Schedule(moment.node, moment.end, std::move(item));
}

void Core::ScheduleUnderive(Support* support, const Moment& moment) {
  support->dying = true;
  if (support->head == nullptr) return;
  Item item;
  item.work = Work::kUnderive;
  item.rule = support->rule;
  item.predicate = support->head->predicate;
  item.origin = moment.origin;
  item.support = support;
  item.row = support->head;
  item.causes = {moment.vertex};
  Schedule(moment.node, moment.end, std::move(item));
}

void Core::Insert(Row* row, Moment& moment) {
  row->base = true;
  if (row->alive) return Renew(row, moment);
  Activate(row, moment);
}

void Core::Delete(const Item& item, Moment& moment) {
  Row* row = item.row;
  if (!row->base && !row->sticky) {
    ++result_.deletes_of_nothing;
    return;
  }
  row->base = row->sticky = false;
  Reconsider(row, moment);
}

// An event, or what one leaves behind, is where it belongs.
void Core::Transient(const std::shared_ptr<Row>& tuple, Moment& moment) {
  if (!program_.predicates[static_cast<size_t>(tuple->predicate)].is_table()) {
    Row seen = *tuple;
    seen.vertex = moment.vertex;
    seen.alive = true;
    return Trigger(&seen, moment);
  }
  Row* row = RowFor(moment.node, tuple->predicate, tuple->values, -1);
  row->sticky = true;
  if (row->alive) return Renew(row, moment);
  Activate(row, moment);
}

void Core::Derive(const Item& item, Moment& moment) {
  if (item.support != nullptr) return Attach(item.support, moment);
  if (item.transient->destination < 0) return Transient(item.transient, moment);
  Item send;
  send.work = Work::kSend;
  send.rule = item.rule;
  send.predicate = item.predicate;
  send.peer = item.transient->destination;
  send.origin = moment.origin;
  send.transient = item.transient;
  send.causes = {moment.vertex};
  Schedule(moment.node, moment.end, std::move(send));
}

void Core::Underive(const Item& item, Moment& moment) { Detach(item.support, moment); }

void Core::Attach(Support* support, Moment& moment) {
  Row* row = support->head;
  if (row == nullptr) return;
  if (!support->attached) {
    support->attached = true;
    row->supports.push_back(support);
    gained_ = true;
  }
  if (row->alive) return Renew(row, moment);
  // When no loss is on its way, whatever is alive is grounded, and so is what rests on it.
  const bool grounded = pending_deletions_ == 0 || grounding_.IsGrounded(row);
  if (grounded) return Activate(row, moment);
  Suspend(row);
}

void Core::Detach(Support* support, Moment& moment) {
  Row* row = support->head;
  if (row == nullptr || !support->attached) return;
  support->attached = false;
  row->supports.erase(std::remove(row->supports.begin(), row->supports.end(), support),
                      row->supports.end());
  Reconsider(row, moment);
}

void Core::Receive(const Item& item, Moment& moment) {
  if (item.transient != nullptr) return Transient(item.transient, moment);
  Row* sent = item.row;
  Row* row = RowFor(moment.node, sent->predicate, sent->values, -1);
  const auto found = std::find_if(
      row->supports.begin(), row->supports.end(),
      [&](const Support* known) { return known->rule < 0 && known->premises[0] == sent; });
  if (item.polarity == Polarity::kMinus) {
    if (found != row->supports.end()) Detach(*found, moment);
    return;
  }
  if (found != row->supports.end()) return Renew(row, moment);
  Support& support = supports_.emplace_back();
  support.premises = {sent};
  support.head = row;
  support.received = moment.vertex;
  Attach(&support, moment);
}

void Core::Expire(const Item& item, Moment& moment) {
  ++result_.expired;
  Drop(item.row, moment);
}

void Core::Activate(Row* row, Moment& moment) {
  row->alive = true;
  row->suspended = false;
  row->vertex = moment.vertex;
  row->origin = moment.origin;
  row->order = ++row_orders_;
  gained_ = true;
  if (row->destination >= 0) return SendChange(row, Polarity::kPlus, moment);
  const Moment came = moment;
  MakeRoom(row, moment);
  TableOf(row->node, row->predicate).AddAlive(row);
  StartLifetime(row, came);
  Trigger(row, came);
}

// It is there already. Soft state is renewed, and so is soft state that was derived from it.
void Core::Renew(Row* row, Moment& moment) {
  const Predicate& predicate = program_.predicates[static_cast<size_t>(row->predicate)];
  if (!predicate.lifetime) return;
  if (row->destination >= 0) return SendChange(row, Polarity::kPlus, moment);
  Table& table = TableOf(row->node, row->predicate);
  table.RemoveAlive(row);
  row->order = ++row_orders_;
  table.AddAlive(row);
  StartLifetime(row, moment);
  for (Support* support : std::vector<Support*>(row->uses)) {
    if (support->dying || support->home == nullptr) continue;
    if (!program_.predicates[static_cast<size_t>(support->home->predicate)].lifetime) continue;
    support->head = support->home;
    ScheduleDerive(support, moment, CausesOf(support->premises, moment.vertex));
  }
}

void Core::StartLifetime(Row* row, const Moment& moment) {
  const Predicate& predicate = program_.predicates[static_cast<size_t>(row->predicate)];
  if (!predicate.lifetime) return;
  row->expires = SaturatingAdd(moment.end, *predicate.lifetime);
  Item item;
  item.work = Work::kExpire;
  item.predicate = row->predicate;
  item.origin = moment.node;
  item.row = row;
  item.idle = true;
  Schedule(moment.node, row->expires, std::move(item));
}

// The row with the same primary key is replaced; when the table is full, the oldest row is evicted.
void Core::MakeRoom(Row* row, Moment& moment) {
  Table& table = TableOf(row->node, row->predicate);
  const Predicate& predicate = program_.predicates[static_cast<size_t>(row->predicate)];
  std::vector<Row*> leaving;
  if (Row* holder = table.HolderOfKey(row->values); holder != nullptr && holder != row) {
    leaving.push_back(holder);
    ++result_.replaced;
  } else if (predicate.size && static_cast<int64_t>(table.alive()) >= *predicate.size) {
    leaving.push_back(table.Oldest());
    ++result_.evicted;
  }
  for (Row* old : leaving) {
    Moment gone = moment;
    gone.vertex =
        Inline(old->base ? ProvenanceType::kDelete : ProvenanceType::kUnderive, *old, moment);
    gone.end = moment.end;
    Drop(old, gone);
  }
}

void Core::Reconsider(Row* row, const Moment& moment) {
  if (row->base || row->sticky) return;
  if (!row->alive) return;
  if (row->supports.empty()) return Kill(row, moment);
  if (grounding_.IsGrounded(row)) return;
  Kill(row, moment);
  Suspend(row);
}

void Core::Kill(Row* row, const Moment& moment) {
  row->alive = false;
  row->expires = INT64_MAX;
  if (row->destination >= 0) return SendChange(row, Polarity::kMinus, moment);
  TableOf(row->node, row->predicate).RemoveAlive(row);
  const std::vector<Support*> uses = std::move(row->uses);
  row->uses.clear();
  for (Support* support : uses) {
    if (support->dying) continue;
    if (support->group != nullptr) {
      Withdraw(support, moment);
    } else {
      ScheduleUnderive(support, moment);
    }
  }
}

// It goes whatever it rests on: replaced, evicted or expired.
void Core::Drop(Row* row, const Moment& moment) {
  row->base = row->sticky = false;
  for (Support* support : row->supports) {
    support->head = nullptr;
    support->attached = false;
  }
  row->supports.clear();
  if (row->alive) Kill(row, moment);
}

void Core::Suspend(Row* row) {
  if (row->suspended) return;
  row->suspended = true;
  suspended_.push_back(row);
}

void Core::ReviveSuspended(const Moment& moment) {
  if (!gained_ && pending_deletions_ > 0) return;
  gained_ = false;
  std::vector<Row*> still;
  for (Row* row : std::exchange(suspended_, {})) {
    if (row->alive || row->supports.empty()) {
      row->suspended = false;
      continue;
    }
    if (!grounding_.IsGrounded(row)) {
      still.push_back(row);
      continue;
    }
    row->suspended = false;
    Support* support =
        *std::find_if(row->supports.begin(), row->supports.end(), [](const Support* known) {
          return !known->dying && std::all_of(known->premises.begin(), known->premises.end(),
                                              [](const Row* premise) { return premise->alive; });
        });
    Item item;
    item.work = Work::kDerive;
    item.rule = support->rule;
    item.predicate = row->predicate;
    item.origin = moment.origin;
    item.support = support;
    item.row = row;
    item.told_ready = true;
    item.causes = support->rule < 0 ? std::vector<VertexId>{support->received}
                                    : CausesOf(support->premises, 0);
    Schedule(row->node, moment.end, std::move(item));
  }
  suspended_.insert(suspended_.end(), still.begin(), still.end());
}

void Core::SendChange(Row* row, Polarity polarity, const Moment& moment) {
  Item item;
  item.work = Work::kSend;
  item.polarity = polarity;
  item.predicate = row->predicate;
  item.peer = row->destination;
  item.origin = moment.origin;
  item.row = row;
  item.causes = {moment.vertex};
  Schedule(moment.node, moment.end, std::move(item));
}

}  // namespace wf::ndlog
