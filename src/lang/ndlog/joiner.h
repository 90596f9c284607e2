// Runs one strand: from the tuple that arrived, through the joins and checks, to each way in which the rule's
// body holds.
#pragma once

#include <functional>
#include <vector>

#include "lang/ndlog/expression.h"
#include "lang/ndlog/tables.h"

namespace wf::ndlog {

struct Match {
  List head;                   // values; for an aggregate, the aggregated value in its place
  std::vector<Row*> premises;  // by atom of the rule
};

class Joiner {
 public:
  // The table of a predicate on the current node.
  using TableOf = std::function<Table&(int predicate)>;
  Joiner(const CompiledRule& rule, const Strand& strand, TableOf table_of, Evaluation& evaluation)
      : rule_(rule), strand_(strand), table_of_(std::move(table_of)), evaluation_(evaluation) {}

  // If `evaluation` has a fault, the matches found so far must not be used.
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
