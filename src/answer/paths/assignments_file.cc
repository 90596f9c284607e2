#include "answer/paths/assignments_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "json/json_reader.h"

namespace wf::answer {
namespace {

void AppendPlace(const Place& place, PlaceForm form, std::string& to) {
  auto out = std::back_inserter(to);
  if (place.line == 0)
    to += "null";
  else if (form == PlaceForm::kLine)
    fmt::format_to(out, "{}", place.line);
  else
    fmt::format_to(out, "\"{}:{}\"", place.input, place.line);
}

void AppendRow(const paths::AssignmentRow& row, PlaceForm form, bool with_others, std::string& to) {
  auto out = std::back_inserter(to);
  to += "{\"call\":";
  AppendPlace(row.call, form, to);
  to += ",\"parent\":";
  AppendPlace(row.parent, form, to);
  fmt::format_to(out, ",\"p\":{:.6g}", row.p);
  if (with_others) {
    to += ",\"others\":[";
    for (size_t i = 0; i < row.others.size(); ++i) {
      to += i == 0 ? "{\"parent\":" : ",{\"parent\":";
      AppendPlace(row.others[i].parent, form, to);
      fmt::format_to(out, ",\"p\":{:.6g}}}", row.others[i].p);
    }
    to += "]";
  }
  if (row.unpaired) to += ",\"unpaired\":true";
  to += "}\n";
}

// N or "K:N".
bool ReadPlace(const JsonValue& value, Place& place) {
  if (const auto line = value.Int(); line && *line > 0) {
    place = {1, static_cast<uint64_t>(*line)};
    return true;
  }
  const std::string_view text = value.String();
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const char* middle = text.data() + colon;
  const char* end = text.data() + text.size();
  const auto input = std::from_chars(text.data(), middle, place.input);
  const auto line = std::from_chars(middle + 1, end, place.line);
  return input.ec == std::errc() && input.ptr == middle && line.ec == std::errc() &&
         line.ptr == end && place.input > 0 && place.line > 0;
}

}  // namespace

Status WriteAssignments(std::vector<paths::AssignmentRow>& rows, PlaceForm form, bool with_others,
                        const std::string& path) {
  std::sort(
      rows.begin(), rows.end(),
      [](const paths::AssignmentRow& a, const paths::AssignmentRow& b) { return a.call < b.call; });
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr)
    return EnvironmentError(fmt::format("{}: {}", path, std::strerror(errno)),
                            "name a file that can be written after --assignments");
  std::string text;
  bool written = true;
  const auto flush = [&] {
    written = written && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    text.clear();
  };
  for (const paths::AssignmentRow& row : rows) {
    AppendRow(row, form, with_others, text);
    if (text.size() > size_t{1} << 20) flush();
  }
  flush();
  const int write_error = errno;
  if (std::fclose(file) == 0 && written) return {};
  return EnvironmentError(fmt::format("{}: {}", path, std::strerror(written ? errno : write_error)),
                          "is the disk full?");
}

Result<std::vector<paths::ParentRow>> ParseTruth(std::string_view text, const std::string& name) {
  std::vector<paths::ParentRow> rows;
  JsonParser parser;
  uint64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto refuse = [&](const std::string& reason) {
      return BadInput(
          fmt::format("{}:{}: {}", name, number, reason),
          "a row of truth is {\"call\":N,\"parent\":M} or {\"call\":N,\"parent\":null}");
    };
    const Result<JsonValue> row = parser.Parse(line);
    if (!row.ok()) return refuse(row.error().message);
    paths::ParentRow parsed;
    if (!ReadPlace((*row).Get("call"), parsed.call)) return refuse("no \"call\" that names a line");
    const JsonValue parent = (*row).Get("parent");
    if (!parent.IsNull() && !ReadPlace(parent, parsed.parent))
      return refuse("no \"parent\" that is null or names a line");
    rows.push_back(parsed);
  }
  std::sort(rows.begin(), rows.end());
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i].call == rows[i - 1].call)
      return BadInput(
          fmt::format("{}: two rows for the request of line {}", name, rows[i].call.line),
          "a request has one parent: which of the rows is the true one?");
  return rows;
}

}  // namespace wf::answer
