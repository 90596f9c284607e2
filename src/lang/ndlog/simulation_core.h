// The inside of a run, in three files: simulation.cc (queues, time, provenance), derivation.cc (the effects
// of a tuple that appears or disappears), aggregation.cc (aggregates). Internal: do not include elsewhere.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <unordered_map>
#include <vector>

#include "lang/ndlog/expression.h"
#include "lang/ndlog/grounding.h"
#include "lang/ndlog/joiner.h"
#include "lang/ndlog/simulation.h"
#include "lang/ndlog/tables.h"

namespace wf::ndlog {

// The contributions to one value of an aggregate, on one node. `current` is the derivation of the last
// announced value.
struct Group {
  int rule = 0, node = 0;
  List key;  // the head, with null in place of the aggregate
  std::map<std::pair<Value, uint64_t>, Support*> members;  // by value, then in order of arrival
  Support* current = nullptr;
};

enum class Work : uint8_t {
  kInsert,
  kDelete,
  kDerive,
  kUnderive,
  kSend,
  kReceive,
  kExpire,    // DEL or UDRV, if the row was not renewed
  kPeriodic,  // INS of a clock
};

// Approximate memory of a row, a derivation or a queued item: a base, and a part per element or character (a
// value is 40 bytes, a character one, a premise a pointer in each direction).
constexpr int64_t kBytesOfRow = 300, kBytesOfPart = 12;

enum class Polarity : uint8_t { kPlus, kMinus };

// An item that waits in a node's queue, or is on its way there.
struct Item {
  Work work = Work::kInsert;
  Polarity polarity = Polarity::kPlus;
  int rule = -1;
  int peer = -1;
  int predicate = 0;
  int origin = 0;
  int64_t count = 0;        // kPeriodic: strikes so far
  bool idle = false;        // it does not keep the run going
  bool told_ready = false;  // its causes do not show when it was ready
  Row* row = nullptr;
  Support* support = nullptr;
  std::shared_ptr<Row> transient;  // an event, or a tuple that an event leaves
  std::vector<VertexId> causes;
};

// The event being processed, for its consequences.
struct Moment {
  int node = 0;
  int origin = 0;
  VertexId vertex = 0;
  Nanos end = 0;
};

class Core {
 public:
  Core(const Program& program, const Network& network, const RunOptions& options);
  Result<RunResult> Run(const std::vector<Input>& inputs);

 private:
  struct Node {
    std::map<std::pair<Nanos, uint64_t>, Item> queue;  // by arrival, then arrival number
    Nanos free_at = INT64_MIN;
    Nanos wake_at = INT64_MAX;                    // its entry among the wakes
    std::vector<std::unique_ptr<Table>> tables;   // by predicate
    std::vector<std::unique_ptr<Table>> exports;  // what it derived for other nodes
  };
  struct Happened {
    ProvenanceType type = ProvenanceType::kInsert;
    int node = 0;
    Nanos start = 0, end = 0;
    Nanos transit = 0;  // of a sent message
  };

  // simulation.cc
  void ScheduleInputs(const std::vector<Input>& inputs);
  void ScheduleClocks(Nanos begin);
  void Schedule(int node, Nanos arrival, Item item);
  void Announce(int node);
  bool ShouldStop(Nanos next) const;
  // Counts memory that is kept from now on; too much of it ends the run.
  void Keep(uint64_t parts);
  static uint64_t PartsOf(const Item& item);
  void Process(int node, Nanos start, Nanos arrival, Item item);
  void Perform(Item item, const Happened& happened, Moment& moment);
  void Deliver(Item item, const Happened& happened, const Moment& moment);
  void Strike(Item item, Nanos arrival);
  ProvenanceType TypeOf(const Item& item) const;
  Cost CostOf(ProvenanceType type, int rule) const;
  // Computes when the event ends; records it, or compares it with the recording.
  Happened Time(ProvenanceType type, int node, const Item& item, const Row& tuple, Nanos start);
  void TimeOfSending(const Item& item, const Row& tuple, Happened& happened);
  void FromRecording(uint32_t tuple, Happened& happened);
  void Tell(const Happened& happened, const Item& item, const Row& tuple,
            std::optional<Nanos> ready);
  // An event directly after the current one, for a row that is pushed out of a table. Advances `moment`.
  VertexId Inline(ProvenanceType type, const Row& row, Moment& moment);
  const Row& TupleOf(const Item& item) const;
  Nanos Drawn(Nanos jitter);
  RunResult Answer();

  // derivation.cc
  Table& TableOf(int node, int predicate);
  Row* RowFor(int node, int predicate, const List& values, int destination);
  int NodeOf(const Value& value) const;
  void Trigger(Row* row, const Moment& moment);
  void Derived(const CompiledRule& rule, int rule_index, Match match, const Moment& moment);
  void Insert(Row* row, Moment& moment);
  void Delete(const Item& item, Moment& moment);
  void Transient(const std::shared_ptr<Row>& tuple, Moment& moment);
  void Derive(const Item& item, Moment& moment);
  void Underive(const Item& item, Moment& moment);
  void Receive(const Item& item, Moment& moment);
  void Expire(const Item& item, Moment& moment);
  void Attach(Support* support, Moment& moment);
  void Detach(Support* support, Moment& moment);
  void Activate(Row* row, Moment& moment);
  void Renew(Row* row, Moment& moment);
  void MakeRoom(Row* row, Moment& moment);
  void StartLifetime(Row* row, const Moment& moment);
  void Reconsider(Row* row, const Moment& moment);
  void Kill(Row* row, const Moment& moment);
  void Drop(Row* row, const Moment& moment);
  void Suspend(Row* row);
  void ReviveSuspended(const Moment& moment);
  void SendChange(Row* row, Polarity polarity, const Moment& moment);
  void ScheduleDerive(Support* support, const Moment& moment, std::vector<VertexId> causes);
  void ScheduleUnderive(Support* support, const Moment& moment);
  std::vector<VertexId> CausesOf(const std::vector<Row*>& premises, VertexId also) const;

  // aggregation.cc
  void Contribute(int rule, Match match, const Moment& moment);
  void Withdraw(Support* support, const Moment& moment);
  void Recompute(Group& group, const Moment& moment);
  void AggregateOfEvent(int rule, std::vector<Match> matches, const Moment& moment);
  Value Aggregated(AggregateFunction function, const std::vector<Value>& sorted,
                   const Place& place);

  void Fail(const CompiledRule& rule, std::string what);

  const Program& program_;
  const Network& network_;
  const RunOptions& options_;
  std::vector<Node> nodes_;
  // (time, node) at which a node may begin its next item. Only the entry that the node refers to counts: with
  // one entry per item, a long queue would be searched for each of its items.
  std::priority_queue<std::pair<Nanos, int>, std::vector<std::pair<Nanos, int>>, std::greater<>>
      wakes_;
  int64_t bytes_ = 0;  // of rows and derivations, which stay until the end, and of waiting items
  uint64_t arrivals_ = 0, row_orders_ = 0, support_numbers_ = 0, draws_ = 0;
  int64_t busy_items_ = 0;         // queued items that keep the run going
  int64_t pending_deletions_ = 0;  // queued losses of support; 0: every alive row is grounded
  VertexId vertices_ = 0;          // events so far; the last one's number
  Nanos last_end_ = INT64_MIN;
  // By sender and receiver: links keep the order.
  std::map<std::pair<int, int>, Nanos> last_arrival_;
  std::deque<Row> rows_;
  std::deque<Support> supports_;
  std::deque<Group> groups_;
  std::map<std::pair<int, int>, std::map<List, Group*>> group_of_;  // (rule, node) → key
  std::vector<Row*> suspended_;
  // A row became alive or got another support since suspended rows were checked.
  bool gained_ = false;
  Grounding grounding_;
  Evaluation evaluation_;
  std::optional<Error> failure_;
  RunResult result_;
};

}  // namespace wf::ndlog
