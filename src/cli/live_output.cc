#include "cli/live_output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "answer/frame/text_table.h"
#include "base/nanos.h"
#include "cli/verbs.h"
#include "json/json_reader.h"
#include "json/json_writer.h"
#include "lang/query/rows_json.h"

namespace wf::cli {
namespace {

constexpr size_t kPast = 30;  // intervals of a sparkline
constexpr size_t kWidth = 100;
constexpr size_t kMostRows = 1'000;  // of a table; a screen takes what fits

struct Screen {
  size_t rows = 24, columns = kWidth;
};

Screen ScreenSize() {
  winsize size{};
  Screen screen;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 4 && size.ws_col > 20) {
    screen.rows = size.ws_row;
    screen.columns = std::min<size_t>(size.ws_col, kWidth);
  }
  return screen;
}

std::string Plain(JsonValue value);

std::string ListText(JsonValue value) {
  std::string text = "[";
  for (const JsonValue one : value.Elements()) text += (text.size() > 1 ? ", " : "") + Plain(one);
  return text + "]";
}

std::string Plain(JsonValue value) {
  if (value.IsString()) return answer::Printable(value.String());
  if (value.IsBool()) return value.Bool() ? "true" : "false";
  if (value.IsArray()) return ListText(value);
  if (const auto whole = value.Int(); whole && value.type() != JsonType::kDouble)
    return std::to_string(*whole);
  if (const auto number = value.Number()) return query::DoubleText(*number);
  return "–";
}

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<JsonValue>> rows;
  std::vector<bool> numeric;  // every value there is
  size_t elastic = 0;
};

Table ReadTable(JsonValue json) {
  Table table;
  for (const JsonValue column : json.Get("columns").Elements())
    table.columns.push_back(answer::Printable(column.String()));
  table.numeric.assign(table.columns.size(), true);
  std::vector<bool> any(table.columns.size(), false);
  for (const JsonValue row : json.Get("rows").Elements()) {
    auto& cells = table.rows.emplace_back();
    for (const JsonValue cell : row.Elements()) {
      const size_t c = cells.size();
      if (c >= table.columns.size()) break;
      if (!cell.IsNull()) {
        any[c] = true;
        if (!cell.IsNumber()) table.numeric[c] = false;
      }
      cells.push_back(cell);
    }
  }
  for (size_t c = table.columns.size(); c-- > 0;) {
    table.numeric[c] = table.numeric[c] && any[c];
    if (!table.numeric[c]) table.elastic = c;
  }
  return table;
}

// What a row is about: its columns that are no numbers; without any, all but the last.
std::string Subject(const Table& table, const std::vector<JsonValue>& row) {
  std::string subject;
  const bool only_numbers =
      std::find(table.numeric.begin(), table.numeric.end(), false) == table.numeric.end();
  for (size_t c = 0; c < row.size(); ++c) {
    if (only_numbers ? c + 1 < row.size() : !table.numeric[c]) subject += Plain(row[c]) + '\0';
  }
  return subject;
}

std::string TableText(const Table& table, const std::vector<std::string>& beside, size_t most,
                      size_t width) {
  std::vector<std::string> heads = table.columns;
  std::vector<size_t> right;
  for (size_t c = 0; c < table.numeric.size(); ++c)
    if (table.numeric[c]) right.push_back(c);
  if (!beside.empty()) heads.emplace_back("");
  answer::TextTable text(std::move(heads), right);
  const size_t shown = std::min(most, table.rows.size());
  for (size_t r = 0; r < shown; ++r) {
    std::vector<std::string> cells;
    for (const JsonValue cell : table.rows[r]) cells.push_back(Plain(cell));
    cells.resize(table.columns.size());
    if (!beside.empty()) cells.push_back(beside[r]);
    text.Row(std::move(cells));
  }
  std::string out = text.Print(width, table.elastic);
  if (shown < table.rows.size()) out += fmt::format("… and {} more\n", table.rows.size() - shown);
  return out;
}

std::string TimeOfDay(Nanos instant) {
  const std::string text = FormatInstant(instant);  // 2026-11-15T10:58:10.250000000Z
  return text.size() >= 23 ? text.substr(11, 12) : text;
}

}  // namespace

LiveForm LiveFormOf(const std::string& format) {
  if (format == "json") return LiveForm::kJsonLines;
  return ::isatty(STDOUT_FILENO) == 1 ? LiveForm::kScreen : LiveForm::kTables;
}

std::string Sparkline(const std::deque<double>& values) {
  static constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double most = 0;
  for (const double value : values) most = std::max(most, value);
  std::string text;
  for (const double value : values) {
    const double part = most > 0 && value > 0 ? value / most : 0;
    text += kBars[static_cast<size_t>(std::ceil(part * 8))];
  }
  return text;
}

// In the place of what was drawn before.
Status LiveOutput::Draw(std::string text) {
  std::string out;
  if (drawn_lines_ > 0) out = fmt::format("\x1b[{}A\x1b[J", drawn_lines_);
  drawn_lines_ = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  return Print(out + text);
}

Status LiveOutput::Interval(std::string_view json) {
  if (form_ == LiveForm::kJsonLines) return Print(std::string(json) + "\n");
  JsonParser parser;
  WF_ASSIGN(const JsonValue interval, parser.Parse(json));
  const Table table = ReadTable(interval);
  std::string head =
      fmt::format("{} UTC, {}", TimeOfDay(interval.Get("start_ns").Int().value_or(0)),
                  FormatDuration(interval.Get("end_ns").Int().value_or(0) -
                                 interval.Get("start_ns").Int().value_or(0)));
  if (const auto lost = interval.Get("lost").Int(); lost && *lost > 0)
    head += fmt::format("; {} tuples lost", *lost);
  if (form_ == LiveForm::kTables) {
    if (table.rows.empty()) return Print(head + ": nothing\n");
    return Print(head + "\n" + TableText(table, {}, kMostRows, kWidth));
  }
  // The last number of a row is what is drawn; rows that did not come this time fall to 0.
  std::map<std::string, double> now;
  for (const auto& row : table.rows) {
    for (size_t c = row.size(); c-- > 0;) {
      if (!row[c].IsNumber()) continue;
      now[Subject(table, row)] = row[c].Number().value_or(0);
      break;
    }
  }
  for (const auto& [subject, value] : now) past_[subject];
  for (auto at = past_.begin(); at != past_.end();) {
    const auto found = now.find(at->first);
    at->second.push_back(found == now.end() ? 0 : found->second);
    if (at->second.size() > kPast) at->second.pop_front();
    const bool dead =
        std::all_of(at->second.begin(), at->second.end(), [](double value) { return value == 0; });
    at = dead && found == now.end() ? past_.erase(at) : std::next(at);
  }
  std::vector<std::string> beside;
  for (const auto& row : table.rows) {
    const auto past = past_.find(Subject(table, row));
    beside.push_back(past == past_.end() ? "" : Sparkline(past->second));
  }
  const Screen screen = ScreenSize();
  return Draw(head + "\n" + TableText(table, beside, screen.rows - 4, screen.columns));
}

Status LiveOutput::Total(std::string_view json) {
  if (form_ == LiveForm::kJsonLines) return Print(std::string(json) + "\n");
  JsonParser parser;
  WF_ASSIGN(const JsonValue total, parser.Parse(json));
  return Print(TableText(ReadTable(total), {}, kMostRows, kWidth) +
               fmt::format("of {} events\n", total.Get("input").Get("events").Int().value_or(0)));
}

}  // namespace wf::cli
