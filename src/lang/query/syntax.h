// A program as written, before names are resolved: the parser's output for the analysis.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/query/ast.h"

namespace wf::query {

struct WrittenName {
  std::string text;  // parts joined by dots, without backquotes
  Place place;
};

struct WrittenQuery;

struct WrittenSource {
  Place place;
  std::vector<WrittenName> names;
  std::shared_ptr<WrittenQuery> bracket;  // instead of names
};

struct WrittenAlias {
  WrittenName alias;
  WrittenSource source;
  FilterKind filter = FilterKind::kNone;
  Place filter_place;
  uint32_t limit = 0;
  WrittenName left, right;  // for a Join's On
};

struct WrittenQuery {
  WrittenName name;  // text "" if it has none
  Place place;
  std::vector<WrittenAlias> aliases;
  std::vector<Expr> where;
  std::optional<double> sample;
  std::optional<int64_t> window_ns;
  Place sample_place, window_place;
  std::vector<Expr> group_by;
  std::vector<SelectItem> select;
};

struct Written {
  std::vector<WrittenQuery> queries;      // the last one is answered
  std::optional<lang::Diagnostic> fault;  // the first error; then there are no queries
};

Written ParseSyntax(std::string_view text);

}  // namespace wf::query
