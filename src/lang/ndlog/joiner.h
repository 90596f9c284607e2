// Runs one strand: from the tuple that came, through the joins and checks, to each way the rule's body holds.
#pragma once

#include <functional>
#include <vector>

#include "lang/ndlog/expression.h"
#include "lang/ndlog/tables.h"

namespace wf::ndlog {

struct Match {
  List head;                   // values; of an aggregate, the aggregated one in its place
  std::vector<Row*> premises;  // by atom of the rule
};

class Joiner {
 public:
  // The table of a predicate on the node at hand.
  using TableOf = std::function<Table&(int predicate)>;
  Joiner(const CompiledRule& rule, const Strand& strand, TableOf table_of, Evaluation& evaluation)
      : rule_(rule), strand_(strand), table_of_(std::move(table_of)), evaluation_(evaluation) {}

  // The ways found so far are of no use when `evaluation` has a fault.
  std::vector<Match> Run(Row* trigger);

 private:
  bool Bind(const BodyAtom& atom, const Columns& columns, const List& values);
  void From(size_t step);
  void MatchStep(const Step& step, size_t at);
  void RangeStep(const Step& step, size_t at);

  const CompiledRule& rule_;
  const Strand& strand_;
  TableOf table_of_;
  Evaluation& evaluation_;
  List slots_;
  std::vector<Row*> premises_;
  std::vector<Match> found_;
};

}  // namespace wf::ndlog
