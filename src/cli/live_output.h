// What a live query prints, interval by interval: lines of JSON for programs; for people a table, on a terminal drawn
// again in its place, with a sparkline of the last intervals beside each row.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::cli {

enum class LiveForm { kJsonLines, kTables, kScreen };
// JSON by --format; else a screen if stdout is a terminal.
LiveForm LiveFormOf(const std::string& format);

class LiveOutput {
 public:
  explicit LiveOutput(LiveForm form) : form_(form) {}

  // `json`: {start_ns,end_ns,columns,rows,lost}.
  Status Interval(std::string_view json);
  // `json`: {columns,rows,cost,input}, at the end; alone if it was asked for.
  Status Total(std::string_view json);

 private:
  Status Draw(std::string text);

  const LiveForm form_;
  std::map<std::string, std::deque<double>> past_;  // by what the row is about
  size_t drawn_lines_ = 0;
};

// ▁▂▃▄▅▆▇█, one a value, the greatest full; a blank for 0.
std::string Sparkline(const std::deque<double>& values);

}  // namespace wf::cli
