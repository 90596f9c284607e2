#include "lang/query/analysis.h"

#include <algorithm>
#include <map>
#include <set>

#include "lang/common/suggestion.h"
#include "lang/query/grouping.h"

namespace wf::query {
namespace {

// A query that uses a named one twice, which uses a third twice, … doubles with every name: limited to what a
// person can mean.
constexpr size_t kMaxAliases = 100;
// Memory on every event for every column; a query names what it wants to see.
constexpr size_t kMaxColumns = 1000;

size_t AliasCount(const Query& query) {
  size_t count = query.aliases.size();
  for (const Alias& alias : query.aliases)
    if (alias.source.subquery != nullptr) count += AliasCount(*alias.source.subquery);
  return count;
}

// How many values evaluating `expr` needs at once.
size_t StackNeed(const Expr& expr) {
  size_t need = 1;
  for (size_t i = 0; i < expr.args.size(); ++i) need = std::max(need, i + StackNeed(expr.args[i]));
  return need;
}

enum class Rank : uint8_t { kOutermost, kSubquery };

class Analysis {
 public:
  explicit Analysis(const std::vector<WrittenQuery>& program) : program_(program) {}

  Analyzed Run() {
    std::set<std::string> seen;
    for (const WrittenQuery& query : program_)
      if (!query.name.text.empty() && !seen.insert(query.name.text).second)
        Complain(query.name.place, "two queries are called \"" + query.name.text + "\"",
                 "give each its own name");
    if (!out_.diagnostics.empty()) return std::move(out_);
    // Unused queries are checked too: an error in them is an error.
    for (size_t i = 0; i + 1 < program_.size(); ++i) Named(i, program_[i].place);
    auto answered = Named(program_.size() - 1, program_.back().place);
    if (out_.diagnostics.empty()) out_.query = std::move(answered);
    return std::move(out_);
  }

 private:
  using QueryPtr = std::shared_ptr<const Query>;

  void Complain(const Place& place, std::string message, std::string hint = {}) {
    out_.diagnostics.push_back(At(place, std::move(message), std::move(hint)));
  }

  // The program's `index`-th query; null after a complaint.
  QueryPtr Named(size_t index, const Place& used_at) {
    const auto found = done_.find(index);
    if (found != done_.end()) return found->second;
    if (!under_way_.insert(index).second) {
      Complain(used_at, "query \"" + program_[index].name.text + "\" is made of itself",
               "a sub-query is made of tracepoints and of other queries");
      return nullptr;
    }
    const Rank rank = index + 1 == program_.size() ? Rank::kOutermost : Rank::kSubquery;
    QueryPtr query = AnalyzeQuery(program_[index], rank);
    under_way_.erase(index);
    done_[index] = query;
    return query;
  }

  QueryPtr AnalyzeQuery(const WrittenQuery& written, Rank rank) {
    const size_t complaints = out_.diagnostics.size();
    auto query = std::make_shared<Query>();
    query->name = written.name.text;
    query->place = written.place;
    query->sample = written.sample;
    query->window_ns = written.window_ns;
    if (rank == Rank::kSubquery) {
      const char* const kHint = "put it into the query that is answered";
      if (written.sample)
        Complain(written.sample_place, "Sample belongs to the outermost query", kHint);
      if (written.window_ns)
        Complain(written.window_place, "Window belongs to the outermost query", kHint);
    }
    for (const WrittenAlias& alias : written.aliases) {
      AddAlias(alias, *query);
      // Columns cannot be looked up in a source that is not known; of a named one that was complained of before.
      const Source& source = query->aliases.back().source;
      const bool unknown = source.subquery == nullptr && source.tracepoints.empty();
      if (unknown || out_.diagnostics.size() != complaints) return nullptr;
    }
    if (AliasCount(*query) > kMaxAliases) {
      Complain(written.place, "with its sub-queries this query has more than 100 aliases",
               "split it");
      return nullptr;
    }
    for (const Expr& where : written.where)
      query->where.push_back(Plain(where, *query, "Where keeps tuples, before there are groups"));
    for (const Expr& key : written.group_by)
      query->keys.push_back(Plain(key, *query, "GroupBy says what the groups are"));
    for (const SelectItem& item : written.select)
      query->select.push_back({Resolved(item.expr, *query), item.name, item.place});
    for (const Alias& alias : query->aliases)
      if (alias.columns.size() > kMaxColumns)
        Complain(alias.place, "this alias is read in more than 1000 ways", "split the query");
    query->grouped = !written.group_by.empty() ||
                     std::any_of(query->select.begin(), query->select.end(),
                                 [](const SelectItem& item) { return HasAggregate(item.expr); });
    if (query->grouped && out_.diagnostics.size() == complaints)
      GroupSelect(*query, out_.diagnostics);
    if (rank == Rank::kSubquery) CheckColumnNames(*query);
    return out_.diagnostics.size() == complaints ? query : nullptr;
  }

  void CheckColumnNames(const Query& query) {
    std::set<std::string> names;
    for (const SelectItem& item : query.select)
      if (!names.insert(item.name).second)
        Complain(item.place, "two columns of this sub-query are called \"" + item.name + "\"",
                 "name one of them with As");
  }

  // ---- aliases
  void AddAlias(const WrittenAlias& written, Query& query) {
    Alias alias;
    alias.place = written.alias.place;
    alias.name = written.alias.text;
    alias.filter = written.filter;
    alias.limit = written.limit;
    if (FindAlias(query, alias.name))
      Complain(alias.place, "there is an alias \"" + alias.name + "\" already",
               "give each source its own");
    alias.source = ResolvedSource(written.source);
    const Query* const subquery = alias.source.subquery.get();
    if (subquery != nullptr) {
      for (const SelectItem& item : subquery->select) alias.columns.push_back(item.name);
      if (subquery->grouped && query.aliases.empty())
        Complain(written.source.place, "a sub-query with groups or aggregates cannot stand in From",
                 "it has rows only as seen from another event: Join it");
      if (subquery->grouped && written.filter != FilterKind::kNone)
        Complain(written.filter_place,
                 "a sub-query with groups or aggregates cannot stand under a filter",
                 "filter the sources inside of it");
    }
    if (!query.aliases.empty()) alias.on = ResolvedOn(written, query);
    query.aliases.push_back(std::move(alias));
  }

  uint32_t ResolvedOn(const WrittenAlias& written, const Query& query) {
    const std::string& name = written.alias.text;
    if (written.left.text != name) {
      const bool swapped = written.right.text == name;
      Complain(written.left.place, "left of -> stands the alias that this Join brings in",
               swapped ? "write On " + name + " -> " + written.left.text +
                             ": joined is what happened before"
                       : "write On " + name + " -> …");
      return 0;
    }
    const auto found = FindAlias(query, written.right.text);
    if (!found) {
      Complain(written.right.place,
               written.right.text == name
                   ? "an event does not happen before itself"
                   : "there is no alias \"" + written.right.text + "\" before this Join",
               NearAlias(query, written.right.text));
      return 0;
    }
    const Query* const right = query.aliases[*found].source.subquery.get();
    if (right != nullptr && right->grouped)
      Complain(written.right.place,
               "a sub-query with groups or aggregates cannot stand right of ->",
               "its rows have no event of their own; join to the alias it is joined to");
    return *found;
  }

  Source ResolvedSource(const WrittenSource& written) {
    Source source;
    source.place = written.place;
    if (written.bracket != nullptr) {
      source.subquery = AnalyzeQuery(*written.bracket, Rank::kSubquery);
      return source;
    }
    for (const WrittenName& name : written.names) {
      const auto known =
          std::find_if(program_.begin(), program_.end(), [&](const WrittenQuery& query) {
            return !query.name.text.empty() && query.name.text == name.text;
          });
      if (known == program_.end()) {
        auto& all = source.tracepoints;
        if (std::find(all.begin(), all.end(), name.text) == all.end()) all.push_back(name.text);
      } else if (written.names.size() > 1) {
        Complain(name.place, "the query \"" + name.text + "\" cannot stand in a list",
                 "lists are of tracepoints");
      } else {
        source.subquery = Named(static_cast<size_t>(known - program_.begin()), name.place);
      }
    }
    return source;
  }

  static std::optional<uint32_t> FindAlias(const Query& query, std::string_view name) {
    for (size_t i = 0; i < query.aliases.size(); ++i)
      if (query.aliases[i].name == name) return static_cast<uint32_t>(i);
    return std::nullopt;
  }
  static std::string NearAlias(const Query& query, std::string_view name) {
    std::vector<std::string> names;
    for (const Alias& alias : query.aliases) names.push_back(alias.name);
    std::string hint = lang::DidYouMean(name, names);
    if (!hint.empty()) return hint;
    hint = "aliases here are";
    for (const std::string& known : names) hint += " " + known;
    return hint;
  }

  // ---- expressions
  Expr Plain(const Expr& written, Query& query, const char* why) {
    if (HasAggregate(written))
      Complain(written.place, "an aggregate cannot stand here",
               std::string(why) + "; aggregate in a sub-query and Join it");
    return Resolved(written, query);
  }

  Expr Resolved(const Expr& written, Query& query) {
    Expr expr = written;
    Resolve(expr, query);
    if (StackNeed(expr) > advice::kMaxExpressionDepth)
      Complain(expr.place, "this expression needs more than 64 values at once",
               "nest less to the right, or compute parts of it in sub-queries");
    return expr;
  }

  void Resolve(Expr& expr, Query& query) {
    if (expr.kind == Expr::Kind::kAggregate)
      for (const Expr& arg : expr.args)
        if (HasAggregate(arg))
          Complain(arg.place, "an aggregate of an aggregate",
                   "compute the inner one in a sub-query and Join it");
    for (Expr& arg : expr.args) Resolve(arg, query);
    if (expr.kind == Expr::Kind::kRead) ResolveRead(expr, query);
  }

  void ResolveRead(Expr& expr, Query& query) {
    const auto found = FindAlias(query, expr.name);
    if (!found)
      return Complain(expr.place, "there is no alias \"" + expr.name + "\"",
                      NearAlias(query, expr.name));
    expr.alias = *found;
    Alias& alias = query.aliases[*found];
    if (alias.source.subquery == nullptr) {
      if (expr.bare)
        return Complain(expr.place, "\"" + expr.name + "\" is an event, not a value",
                        "name one of its variables, as " + expr.name + ".time");
      const auto at = std::find(alias.columns.begin(), alias.columns.end(), expr.variable);
      expr.column = static_cast<uint32_t>(at - alias.columns.begin());
      if (at == alias.columns.end()) alias.columns.push_back(expr.variable);
      return;
    }
    std::string columns = "its columns are";
    for (const std::string& name : alias.columns) columns += " " + name;
    if (expr.bare) {
      if (alias.columns.size() != 1)
        return Complain(expr.place, "\"" + expr.name + "\" has more than one column", columns);
      expr.column = 0;
      return;
    }
    const auto at = std::find(alias.columns.begin(), alias.columns.end(), expr.variable);
    if (at == alias.columns.end()) {
      const std::string near = lang::DidYouMean(expr.variable, alias.columns);
      return Complain(expr.place, "\"" + expr.name + "\" has no column \"" + expr.variable + "\"",
                      near.empty() ? columns : near);
    }
    expr.column = static_cast<uint32_t>(at - alias.columns.begin());
  }

  const std::vector<WrittenQuery>& program_;
  std::map<size_t, QueryPtr> done_;
  std::set<size_t> under_way_;
  Analyzed out_;
};

}  // namespace

Analyzed Analyze(const std::vector<WrittenQuery>& program) { return Analysis(program).Run(); }

bool HasAggregate(const Expr& expr) {
  return expr.kind == Expr::Kind::kAggregate ||
         std::any_of(expr.args.begin(), expr.args.end(), HasAggregate);
}

}  // namespace wf::query
