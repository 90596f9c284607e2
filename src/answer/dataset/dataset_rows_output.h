// Rows of a result as JSON, CSV, Parquet or a table for a terminal.
#pragma once

#include <string>

#include "answer/frame/answer.h"
#include "json/json_writer.h"
#include "model/dataset_query.h"

namespace wf::answer {

// "columns":[{"name","type"}],"rows":[{}] into an open object, from column `first` on.
void WriteRowsJson(const DatasetTable& table, JsonWriter& json, size_t first = 0);
// RFC 4180, names first; a null is an empty field, a text is quoted where it must be.
std::string RowsCsv(const DatasetTable& table);
Result<std::string> RowsParquet(const DatasetTable& table);
std::string RowsText(const DatasetRows& rows);

// By the question's format: json (default), text, csv or parquet. `dialect` of SQL, else "".
Result<Answer> RowsAnswer(const Question& question, const DatasetRows& rows,
                          const std::string& dialect);

}  // namespace wf::answer
