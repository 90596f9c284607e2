// SQL that somebody typed: guarded (sql_guard.h), run read-only in an empty database, and its answer read with whatever
// types it has.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "store/clickhouse/dataset_sql.h"
#include "store/clickhouse/datasets.h"
#include "store/clickhouse/sql_guard.h"

namespace wf::store::clickhouse {
namespace {

constexpr size_t kSqlRows = 100'000;  // of an answer; more are cut off, and it says so
constexpr size_t kMaxAnswerBytes = 256u << 20;

// Lines of a TabSeparated answer, field by field.
class TabReader {
 public:
  explicit TabReader(std::string_view text) : text_(text) {}
  bool more() const { return at_ < text_.size(); }
  // A line's fields as they stand.
  std::vector<std::string_view> Line() {
    std::vector<std::string_view> fields;
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    for (;;) {
      const size_t tab = line.find('\t');
      fields.push_back(line.substr(0, tab));
      if (tab == std::string_view::npos) return fields;
      line.remove_prefix(tab + 1);
    }
  }
  static std::string Unescape(std::string_view field) {
    std::string out;
    for (size_t i = 0; i < field.size(); ++i) {
      if (field[i] != '\\' || i + 1 == field.size()) {
        out += field[i];
        continue;
      }
      constexpr std::string_view kFrom = "bfnrt0", kTo("\b\f\n\r\t\0", 6);
      const size_t known = kFrom.find(field[++i]);
      out += known == std::string_view::npos ? field[i] : kTo[known];
    }
    return out;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

ColumnType TypeFor(std::string_view type) {
  for (const std::string_view wrapper : {"Nullable(", "LowCardinality(", "Nullable("}) {
    if (type.substr(0, wrapper.size()) != wrapper || type.back() != ')') continue;
    type = type.substr(wrapper.size(), type.size() - wrapper.size() - 1);
  }
  if (type == "Bool") return ColumnType::kBool;
  for (const std::string_view whole :
       {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"}) {
    if (type == whole) return ColumnType::kInt;
  }
  if (type == "Float32" || type == "Float64" || type.substr(0, 7) == "Decimal")
    return ColumnType::kDouble;
  return ColumnType::kText;
}

// An integer that does not fit makes its column one of doubles.
void MakeDoubles(TableColumn& column) {
  column.definition.type = ColumnType::kDouble;
  column.doubles.assign(column.numbers.begin(), column.numbers.end());
  column.numbers.clear();
}

void AppendField(std::string_view field, TableColumn& to) {
  if (field == "\\N") return to.AppendNull();
  if (to.definition.type == ColumnType::kBool) return to.AppendInt(field == "true" ? 1 : 0);
  if (to.definition.type == ColumnType::kText) return to.AppendText(TabReader::Unescape(field));
  if (to.definition.type == ColumnType::kInt) {
    int64_t value = 0;
    const auto read = std::from_chars(field.data(), field.data() + field.size(), value);
    if (read.ec == std::errc()) return to.AppendInt(value);
    MakeDoubles(to);
  }
  to.AppendDouble(std::strtod(std::string(field).c_str(), nullptr));
}

Result<DatasetRows> ReadAnswer(std::string_view answer) {
  TabReader reader(answer);
  DatasetRows out;
  const auto names = reader.Line();
  const auto types = reader.Line();
  const Error torn = EnvironmentError("sql: the server's answer cannot be read", "ask again");
  if (names.size() != types.size()) return torn;
  for (size_t i = 0; i < names.size(); ++i)
    out.table.columns.emplace_back().definition = {TabReader::Unescape(names[i]),
                                                   TypeFor(types[i])};
  while (reader.more()) {
    if (out.table.rows() == kSqlRows) {
      out.more = true;
      break;
    }
    const auto fields = reader.Line();
    if (fields.size() != names.size()) return torn;
    for (size_t i = 0; i < fields.size(); ++i) AppendField(fields[i], out.table.columns[i]);
  }
  return out;
}

// The server's own words: without where it was asked, and without our statement, which it repeats.
std::string SqlWords(const std::string& message) {
  size_t begin = message.find("code ");
  begin = begin == std::string::npos ? 0 : message.find(": ", begin);
  std::string words = begin == std::string::npos ? message : message.substr(begin ? begin + 2 : 0);
  for (const std::string_view end :
       {" In scope ", " while processing query", ", e.what()", ": While processing", " (version "})
    words = words.substr(0, words.find(end));
  return words;
}

}  // namespace

Result<SqlRows> Datasets::RunSql(const std::string& tenant, const std::string& sql) {
  WF_ASSIGN(const std::vector<DatasetState> states, log_.ReadAll(tenant, process_));
  const auto find = [&](const std::string& name) -> const DatasetState* {
    for (const DatasetState& state : states)
      if (state.dataset == name) return &state;
    return nullptr;
  };
  WF_ASSIGN(const GuardedSql guarded,
            GuardSql(sql, [&](const std::string& name) -> std::optional<std::string> {
              const DatasetState* state = find(name);
              if (state == nullptr) return std::nullopt;
              return NamedRowsSql(*state, names_);
            }));
  // Names that are no tables of ours find nothing here.
  const std::string empty = client_.url().database + "_sql";
  const auto run = [&] {
    return client_.AskIn(empty, "SQL", guarded.text,
                         {{"default_format", "TabSeparatedWithNamesAndTypes"},
                          {"max_execution_time", "30"},
                          {"max_memory_usage", "1000000000"},
                          {"max_result_rows", std::to_string(kSqlRows + 1)},
                          {"max_result_bytes", std::to_string(kMaxAnswerBytes)},
                          {"result_overflow_mode", "break"},
                          {"distributed_product_mode", "allow"},
                          {"readonly", "1"}});
  };
  auto answer = run();
  if (!answer.ok() && ServerCode(answer.error()) == server_code::kUnknownDatabase) {
    WF_TRY(client_.RunEverywhere("making an empty database",
                                 "CREATE DATABASE IF NOT EXISTS " + empty));
    answer = run();
  }
  if (!answer.ok()) {
    const Error& error = answer.error();
    const int code = ServerCode(error);
    if (code == 0) return error;
    if (code == server_code::kTooSlow)
      return EnvironmentError("sql: stopped after 30 s", "narrow it: a WHERE on time_ns, a LIMIT");
    if (code == server_code::kOutOfMemory)
      return EnvironmentError("sql: " + SqlWords(error.message),
                              "simplify it: a statement may use 1 GB of memory and 30 s");
    if (code == server_code::kReadOnly)
      return BadInput("sql: refused: it does more than read", "one SELECT over datasets");
    return BadInput(
        "sql: " + SqlWords(error.message),
        "one SELECT over datasets, in ClickHouse's SQL; wherefore dataset list shows them");
  }
  if (answer->size() >= kMaxAnswerBytes)
    return EnvironmentError("sql: the answer is larger than 256 MB", "select less, or add a LIMIT");
  SqlRows out;
  WF_ASSIGN(out.rows, ReadAnswer(*answer));
  out.dialect = "ClickHouse " + features_.version.text;
  for (const std::string& dataset : guarded.datasets) {
    const DatasetState* state = find(dataset);
    if (state == nullptr) continue;
    std::vector<std::string> used;
    for (const DatasetColumn& column : state->columns) {
      if (std::find(guarded.names.begin(), guarded.names.end(), column.visible_name()) !=
          guarded.names.end())
        used.push_back(column.visible_name());
    }
    CountUse(*state, used);
  }
  return out;
}

}  // namespace wf::store::clickhouse
