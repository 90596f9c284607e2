// What nodes know: rows, the reasons for them, and tables that find them. The run owns rows and supports, and
// their addresses stay valid until it ends, so that they can point at each other.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/nanos.h"
#include "lang/ndlog/program.h"

namespace wf::ndlog {

struct Row;
struct Group;
using VertexId = uint32_t;  // of provenance; 0: none

// One derivation of a tuple: the rule, and the rows it joined.
struct Support {
  int rule = -1;  // -1: received, from the row of the sender that is its only premise
  std::vector<Row*> premises;
  // Null once the head was replaced, expired or evicted: it is not needed any more.
  Row* head = nullptr;
  // The original `head`: soft state that expired is derived again when its premises are renewed.
  Row* home = nullptr;
  Group* group = nullptr;  // set: it counts into an aggregate instead
  uint64_t number = 0;     // within its group
  Value value;             // what it contributes; for the announced value, that value
  bool attached = false;   // the head has it
  bool dying = false;      // a premise is gone, and the head will be notified
  VertexId received = 0;   // for a support that came by message
};

struct Row {
  int predicate = 0;
  int node = 0;
  int destination = -1;  // set: `node` derived this for another node, which it notifies of changes
  List values;
  uint64_t hash = 0;
  bool alive = false;
  bool base = false;    // inserted from outside
  bool sticky = false;  // derived from a past event: stays until replaced, expired or deleted
  bool suspended = false;
  VertexId vertex = 0;  // the event that made it alive
  int origin = 0;       // the node whose input caused that
  Nanos expires = INT64_MAX;
  uint64_t order = 0;  // of insertion or renewal, for tables of bounded size
  std::vector<Support*> supports;
  std::vector<Support*> uses;     // supports that it is a premise of
  uint32_t mark = 0, proved = 0;  // of the last search that visited it
};

// The rows of one predicate on one node. Iterates in order of insertion, so that runs are deterministic.
class Table {
 public:
  explicit Table(const Predicate* predicate) : predicate_(predicate) {}

  Row* Find(const List& values, uint64_t hash) const;  // alive or not; null: never seen
  void Remember(Row* row) { by_hash_[row->hash].push_back(row); }

  void AddAlive(Row* row);
  void RemoveAlive(Row* row);
  Row* HolderOfKey(const List& values) const;  // the alive row with the same primary key
  Row* Oldest() const;                         // alive, by order
  size_t alive() const { return by_order_.size(); }
  const std::map<uint64_t, Row*>& by_order() const { return by_order_; }

  // Alive rows whose `columns` have these values. The index is built on first use. Valid until the next
  // change.
  const std::vector<Row*>& Matching(const std::vector<int>& columns, const List& key);

 private:
  struct Index {
    std::vector<int> columns;
    std::unordered_map<uint64_t, std::vector<Row*>> rows;
  };
  static uint64_t HashColumns(const std::vector<int>& columns, const List& values);
  void Put(Index& index, Row* row) {
    index.rows[HashColumns(index.columns, row->values)].push_back(row);
  }

  const Predicate* predicate_;
  std::unordered_map<uint64_t, std::vector<Row*>> by_hash_;
  std::map<uint64_t, Row*> by_order_;
  std::deque<Index> indexes_;
  Index keys_;
};

}  // namespace wf::ndlog
