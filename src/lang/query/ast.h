// The syntax tree of a query. The parser makes it from the text; the analysis resolves names, finds the keys
// and aggregates and checks what is allowed where. The reference evaluator and the compiler read the analysed
// tree.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advice/aggregate.h"
#include "advice/expression.h"
#include "advice/value.h"
#include "lang/common/diagnostic.h"

namespace wf::query {

struct Place {
  int line = 1, column = 1, length = 1;
};

inline lang::Diagnostic At(const Place& place, std::string message, std::string hint = {}) {
  return {place.line, place.column, place.length, std::move(message), std::move(hint)};
}

inline constexpr uint32_t kMaxExprDepth = 1000;

struct Expr {
  enum class Kind : uint8_t {
    kConstant,   // `constant`
    kRead,       // column `column` of alias `alias`
    kOperation,  // `op` of `args`; for functions and operators
    kAggregate,  // the `aggregate`-th of Query::aggregates, finished; only in Select of a grouped query
    kKey,        // the `key`-th of Query::keys; only in Select of a grouped query
  };
  Kind kind = Kind::kConstant;
  Place place;
  advice::Value constant;
  uint32_t alias = 0;   // index into Query::aliases
  uint32_t column = 0;  // index into that alias's columns
  advice::Op op = advice::Op::kConstant;
  uint32_t aggregate = 0;
  uint32_t key = 0;
  std::vector<Expr> args;
  // Levels of `args`; the parser limits them to kMaxExprDepth, so that walking an Expr may recurse.
  uint32_t depth = 1;

  // As parsed; the analysis turns these into the fields above. kRead: `name` is the alias, `variable` the
  // part after its first dot ("" if there is none). kAggregate: `call` and `args` (COUNT: none or one,
  // PERCENTILE: two).
  std::string name;
  std::string variable;
  bool bare = false;  // kRead without a dot
  advice::AggregateKind call = advice::AggregateKind::kCount;
};

struct Query;

// Where an alias's tuples come from: events of tracepoints, or the tuples of a sub-query.
struct Source {
  Place place;
  std::vector<std::string> tracepoints;   // without duplicates; empty for a sub-query
  std::shared_ptr<const Query> subquery;  // shared: a named query may be used in several places
};

enum class FilterKind : uint8_t { kNone, kFirst, kMostRecent };

// From's alias, or one introduced by a Join.
struct Alias {
  Place place;
  std::string name;
  Source source;
  FilterKind filter = FilterKind::kNone;
  uint32_t limit = 0;  // of events, with a filter: 1 for First and MostRecent
  uint32_t on = 0;     // for a Join: the alias right of `->`; an index below this alias's own
  // What Expr::column indexes. For tracepoints: the variables that the query reads through this alias, each
  // once (so a list among them gives one tuple per element). For a sub-query: all of its columns.
  std::vector<std::string> columns;
};

struct AggregateCall {
  Place place;
  advice::Aggregate aggregate;
  std::optional<Expr> argument;  // empty: COUNT of tuples
};

struct SelectItem {
  Expr expr;
  std::string name;  // its As name, else its text without white space
  Place place;
};

struct Query {
  std::string name;  // of a named query, else ""
  Place place;
  std::vector<Alias> aliases;  // the first is From's
  std::vector<Expr> where;     // all must hold
  std::optional<double> sample;
  std::optional<int64_t> window_ns;  // From's time rounded down is then the first key and column
  // One row per group; otherwise one per tuple. Then `keys` are GroupBy's expressions or, without GroupBy, Select's
  // items without aggregate, and Select's expressions are made of kKey, kAggregate, kConstant and kOperation. The
  // window is not among `keys`.
  bool grouped = false;
  std::vector<Expr> keys;
  std::vector<AggregateCall> aggregates;  // without duplicates
  std::vector<SelectItem> select;
};

bool HasAggregate(const Expr& expr);

// The names of the answer's columns: the window first, if there is one.
std::vector<std::string> ColumnNames(const Query& query);

// Every tracepoint that the query or one of its sub-queries names, without duplicates, in the order written.
std::vector<std::string> Tracepoints(const Query& query);

}  // namespace wf::query
