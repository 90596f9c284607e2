#include "answer/dataset/dataset_rows_output.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "answer/frame/table_cell.h"
#include "answer/frame/text_table.h"
#include "store/directory.h"
#include "store/parquet/parquet_rows.h"

namespace wf::answer {
namespace {

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

void WriteRowsJson(const DatasetTable& table, JsonWriter& json, size_t first) {
  json.Key("columns").BeginArray();
  for (size_t c = first; c < table.columns.size(); ++c) {
    const ColumnDefinition& definition = table.columns[c].definition;
    json.BeginObject()
        .Field("name", definition.name)
        .Field("type", ColumnTypeName(definition.type))
        .EndObject();
  }
  json.EndArray().Key("rows").BeginArray();
  for (size_t row = 0; row < table.rows(); ++row) {
    json.BeginObject();
    for (size_t c = first; c < table.columns.size(); ++c) {
      json.Key(table.columns[c].definition.name);
      WriteCellJson(table.columns[c], row, json);
    }
    json.EndObject();
  }
  json.EndArray();
}

std::string RowsCsv(const DatasetTable& table) {
  std::string out;
  for (size_t c = 0; c < table.columns.size(); ++c)
    out += (c == 0 ? "" : ",") + CsvField(table.columns[c].definition.name);
  out += "\r\n";
  for (size_t row = 0; row < table.rows(); ++row) {
    for (size_t c = 0; c < table.columns.size(); ++c)
      out += (c == 0 ? "" : ",") + CsvField(CellText(table.columns[c], row));
    out += "\r\n";
  }
  return out;
}

Result<std::string> RowsParquet(const DatasetTable& table) {
  if (table.columns.empty())
    return BadInput("a Parquet file needs at least one column",
                    "ask for one, or for another format");
  std::string folder = (std::filesystem::temp_directory_path() / "wherefore-rows-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    return EnvironmentError(folder + ": cannot be created", "is the temporary folder writable?");
  const std::string path = folder + "/rows.parquet";
  const Status written = store::parquet::WriteParquetRows(table, path);
  Result<std::string> bytes =
      written.ok() ? store::ReadWholeFile(path) : Result<std::string>(written.error());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return bytes;
}

std::string RowsText(const DatasetRows& rows) {
  if (rows.table.rows() == 0) return "no rows\n";
  std::vector<std::string> heads;
  std::vector<size_t> right;
  size_t elastic = 0, widest = 0;
  for (size_t c = 0; c < rows.table.columns.size(); ++c) {
    const TableColumn& column = rows.table.columns[c];
    heads.push_back(column.definition.name);
    if (column.texts.empty()) {
      right.push_back(c);
      continue;
    }
    for (const std::string& text : column.texts) {
      if (text.size() > widest) widest = text.size(), elastic = c;
    }
  }
  TextTable table(heads, right);
  for (size_t row = 0; row < rows.table.rows(); ++row) {
    std::vector<std::string> cells;
    for (const TableColumn& column : rows.table.columns)
      cells.push_back(Printable(CellForReaders(column, row)));
    table.Row(std::move(cells));
  }
  std::string out = table.Print(TextWidth(), elastic);
  if (rows.estimated) out += "estimated: old rows were subsampled; _low and _high are 95% bounds\n";
  if (rows.more) out += "more rows: raise --limit\n";
  return out;
}

Result<Answer> RowsAnswer(const Question& question, const DatasetRows& rows,
                          const std::string& dialect) {
  const std::string format = question.params.Get("format").value_or("json");
  if (format == "text")
    return TextAnswer(RowsText(rows) + (dialect.empty() ? "" : "dialect: " + dialect + "\n"));
  if (format == "csv") return Answer{"text/csv; charset=utf-8", RowsCsv(rows.table)};
  if (format == "parquet") {
    WF_ASSIGN(std::string bytes, RowsParquet(rows.table));
    return Answer{"application/vnd.apache.parquet", std::move(bytes)};
  }
  JsonWriter json;
  json.BeginObject();
  WriteRowsJson(rows.table, json);
  if (!dialect.empty()) json.Field("dialect", dialect);
  if (rows.more) json.Field("more", true);
  if (rows.estimated) json.Field("estimated", true);
  json.EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf::answer
