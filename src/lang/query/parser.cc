#include "lang/query/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "lang/query/analysis.h"
#include "lang/query/syntax.h"

namespace wf::query {
namespace {

void AddTracepoints(const Query& query, std::vector<std::string>& out) {
  for (const Alias& alias : query.aliases) {
    if (alias.source.subquery != nullptr) AddTracepoints(*alias.source.subquery, out);
    for (const std::string& name : alias.source.tracepoints)
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
}

}  // namespace

std::vector<std::string> ColumnNames(const Query& query) {
  std::vector<std::string> names;
  if (query.window_ns) names.emplace_back("window");
  for (const SelectItem& item : query.select) names.push_back(item.name);
  return names;
}

std::vector<std::string> Tracepoints(const Query& query) {
  std::vector<std::string> out;
  AddTracepoints(query, out);
  return out;
}

Parsed Parse(std::string_view text) {
  Parsed out;
  if (text.size() > kMaxQueryBytes) {
    out.diagnostics.push_back({1, 1, 1, "this query is longer than 64 KiB", "shorten it"});
    return out;
  }
  if (!IsUtf8(text)) {
    out.diagnostics.push_back({1, 1, 1, "this query is not UTF-8", "save it in UTF-8"});
    return out;
  }
  Written written = ParseSyntax(text);
  if (written.fault) {
    out.diagnostics.push_back(std::move(*written.fault));
    return out;
  }
  Analyzed analyzed = Analyze(written.queries);
  out.query = std::move(analyzed.query);
  out.diagnostics = std::move(analyzed.diagnostics);
  return out;
}

Result<std::shared_ptr<const Query>> ParseQuery(std::string_view text) {
  Parsed parsed = Parse(text);
  if (parsed.query != nullptr) return std::move(parsed.query);
  constexpr size_t kShown = 5;
  const lang::Diagnostic& first = parsed.diagnostics.front();
  std::string message = fmt::format("query:{}:{}: {}", first.line, first.column, first.message);
  for (size_t i = 0; i < parsed.diagnostics.size() && i < kShown; ++i)
    message += "\n" + lang::RenderDiagnostic(text, parsed.diagnostics[i]);
  if (parsed.diagnostics.size() > kShown)
    message += fmt::format("… and {} more\n", parsed.diagnostics.size() - kShown);
  while (message.back() == '\n') message.pop_back();
  return BadInput(std::move(message), "docs/reference/query-language.md describes the language");
}

}  // namespace wf::query
