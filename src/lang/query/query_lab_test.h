// What the tests of this folder share: events and rows as short texts.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "json/json_writer.h"
#include "lang/query/events_file.h"
#include "lang/query/parser.h"
#include "lang/query/plans.h"

namespace wf::query::testing {

inline std::shared_ptr<const Query> Parsed(std::string_view text) {
  auto query = ParseQuery(text);
  EXPECT_TRUE(query.ok()) << query.error().message;
  return query.ok() ? *query : nullptr;
}

// The first complaint: "line:column message | hint".
inline std::string Complaint(std::string_view text) {
  const wf::query::Parsed parsed = Parse(text);
  if (parsed.query != nullptr) return "none";
  const lang::Diagnostic& first = parsed.diagnostics.front();
  return std::to_string(first.line) + ":" + std::to_string(first.column) + " " + first.message +
         " | " + first.hint;
}

inline Execution Events(std::string_view lines) {
  auto file = ReadEvents(lines, "events");
  EXPECT_TRUE(file.ok()) << file.error().message;
  return file.ok() ? std::move(file->execution) : Execution();
}

// Rows as JSON: [["a",1],["b",2]].
inline std::string RowsText(const std::vector<advice::Tuple>& rows) {
  JsonWriter json;
  WriteRows(json, rows);
  return json.Take();
}

inline std::string Rows(std::string_view query, const Execution& execution,
                        Plan plan = Plan::kReference) {
  const auto parsed = Parsed(query);
  if (parsed == nullptr) return "not parsed";
  const auto run = RunPlan(plan, *parsed, execution);
  EXPECT_TRUE(run.ok()) << run.error().message;
  return run.ok() ? RowsText(run->rows) : run.error().message;
}

}  // namespace wf::query::testing
