// Queries nobody would write, of everything the grammar has.
#pragma once

#include <string>
#include <vector>

#include "lang/query/plan_lab_test.h"

namespace wf::query::lab {

class RandomQuery {
 public:
  std::string Text() {
    std::string text;
    for (int named = Pick(3); named > 0; --named) {
      const std::string name = "Q" + std::to_string(named);
      const Made made = Query(2, Rank::kInner);
      text += name + ": " + made.text + ";\n";
      named_.push_back({name, made});
    }
    return text + Query(2, Rank::kOuter).text;
  }

 private:
  enum class Rank { kOuter, kInner };
  struct Made {
    std::string text;
    bool grouped = false;
    std::vector<std::string> columns;
  };
  struct Named {
    std::string name;
    Made made;
  };
  struct Alias {
    std::string name;
    std::vector<std::string> columns;  // empty: of tracepoints
    bool right_of_arrow = true;
  };
  struct Source {
    std::string text;
    std::vector<std::string> columns;
    bool grouped = false;
  };

  Source RandomSource(int depth) {
    if (depth > 0 && Pick(4) == 0) {
      const Made made = Query(depth - 1, Rank::kInner);
      return {"(" + made.text + ")", made.columns, made.grouped};
    }
    if (!named_.empty() && Pick(4) == 0) {
      const Named& named = named_[static_cast<size_t>(Pick(static_cast<int>(named_.size())))];
      return {named.name, named.made.columns, named.made.grouped};
    }
    const std::string one(1, static_cast<char>('A' + Pick(4)));
    if (Pick(4) == 0)
      return {one + ", " + std::string(1, static_cast<char>('A' + Pick(4))), {}, false};
    return {one, {}, false};
  }

  std::string Read(const std::vector<Alias>& aliases) {
    const Alias alias = OneOf(aliases);
    if (!alias.columns.empty()) return alias.name + "." + OneOf(alias.columns);
    static const std::vector<std::string> variables = {
        "x", "x", "y", "y", "s", "l", "host", "time", "tracepoint", "procName"};
    return alias.name + "." + OneOf(variables);
  }

  std::string Expr(const std::vector<Alias>& aliases, int depth) {
    if (depth == 0 || Pick(3) == 0) {
      switch (Pick(7)) {
        case 0:
          return std::to_string(Pick(4));
        case 1:
          return Pick(2) != 0 ? "'u'" : "true";
        default:
          return Read(aliases);
      }
    }
    static const std::vector<std::string> operators = {"+", "-", "*", "/", "+", "-"};
    switch (Pick(6)) {
      case 0:
        return "Lower(" + Expr(aliases, depth - 1) + ")";
      case 1:
        return "Bucket(" + Expr(aliases, depth - 1) + ", 3)";
      case 2:
        return "Has(" + Expr(aliases, depth - 1) + ")";
      default:
        return "(" + Expr(aliases, depth - 1) + " " + OneOf(operators) + " " +
               Expr(aliases, depth - 1) + ")";
    }
  }

  std::string Condition(const std::vector<Alias>& aliases, int depth) {
    if (depth > 0) {
      switch (Pick(5)) {
        case 0:
          return "(" + Condition(aliases, depth - 1) + " && " + Condition(aliases, depth - 1) + ")";
        case 1:
          return "(" + Condition(aliases, depth - 1) + " || " + Condition(aliases, depth - 1) + ")";
        case 2:
          return "!(" + Condition(aliases, depth - 1) + ")";
        default:
          break;
      }
    }
    static const std::vector<std::string> comparisons = {"=", "!=", "<", "<=", ">", ">=", "!="};
    return "(" + Expr(aliases, 1) + " " + OneOf(comparisons) + " " + Expr(aliases, 1) + ")";
  }

  std::string Aggregate(const std::vector<Alias>& aliases) {
    static const std::vector<std::string> functions = {"COUNT",   "SUM",      "MIN", "MAX",
                                                       "AVERAGE", "DISTINCT", "SUM", "HISTOGRAM"};
    switch (Pick(6)) {
      case 0:
        return "COUNT";
      case 1:
        return "PERCENTILE(" + Expr(aliases, 1) + ", 50)";
      default:
        return OneOf(functions) + "(" + Expr(aliases, 1) + ")";
    }
  }

  Made Query(int depth, Rank rank) {
    Made made;
    std::vector<Alias> aliases;
    const auto alias_name = [this] { return "a" + std::to_string(next_alias_++ % 7); };
    Source from = RandomSource(depth);
    while (from.grouped) from = RandomSource(depth);
    const std::string first = alias_name();
    aliases.push_back({first, from.columns, true});
    made.text = "From " + first + " In " + from.text;
    for (int joins = Pick(4); joins > 0; --joins) {
      Source source = RandomSource(depth);
      std::string name = alias_name();
      const auto taken = [&](const Alias& alias) { return alias.name == name; };
      while (std::any_of(aliases.begin(), aliases.end(), taken)) name += "b";
      if (!source.grouped && Pick(5) < 2) {
        static const std::vector<std::string> filters = {"First(", "MostRecent(", "FirstN(2, ",
                                                         "MostRecentN(2, "};
        source.text = OneOf(filters) + source.text + ")";
      }
      Alias on = OneOf(aliases);
      while (!on.right_of_arrow) on = OneOf(aliases);
      made.text += " Join " + name + " In " + source.text + " On " + name + " -> " + on.name;
      aliases.push_back({name, source.columns, !source.grouped});
    }
    for (int wheres = Pick(4) - 1; wheres > 0; --wheres)
      made.text += " Where " + Condition(aliases, 2);
    if (rank == Rank::kOuter && Pick(6) == 0) made.text += " Window 5ns";
    const std::string expression_key = Expr(aliases, 1);
    std::vector<std::string> items;
    if (Pick(2) == 0) {
      for (int i = 1 + Pick(2); i > 0; --i) items.push_back(Expr(aliases, 1));
    } else {
      made.grouped = true;
      if (Pick(2) == 0) {
        made.text += " GroupBy " + expression_key;
        if (Pick(3) > 0) items.push_back(expression_key);
        if (Pick(3) > 0) items.push_back(Aggregate(aliases));
      } else if (Pick(2) == 0) {
        items.push_back(Expr(aliases, 1));
      }
      for (int i = Pick(2); i > 0; --i) items.push_back(Aggregate(aliases) + " + 1");
      items.push_back(Aggregate(aliases));
    }
    made.text += " Select ";
    for (size_t i = 0; i < items.size(); ++i) {
      made.columns.push_back("c" + std::to_string(i));
      made.text += (i == 0 ? "" : ", ") + items[i] + " As c" + std::to_string(i);
    }
    return made;
  }

  std::vector<Named> named_;
  int next_alias_ = 0;
};

}  // namespace wf::query::lab
