#include "cli/query_local.h"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>

#include "advice/results.h"
#include "answer/query/query_answer.h"
#include "base/nanos.h"
#include "cli/input_file.h"
#include "cli/interrupt.h"
#include "cli/live_end.h"
#include "cli/live_output.h"
#include "json/json_writer.h"
#include "lang/query/analysis.h"
#include "lang/query/count_form.h"
#include "lang/query/parser.h"
#include "lang/query/rewrite.h"
#include "lang/query/rows_json.h"
#include "weaver/tracepoint_file.h"
#include "weaver/weaver.h"

namespace wf::cli {
namespace {

constexpr Nanos kPollFor = 50 * kMilli;

Status CheckFlags(const std::string& text, const LiveQueryFlags& live) {
  if (text.empty())
    return BadInput("query: no query given",
                    "as in wherefore query 'From x In tracepoint Select x.host, COUNT' --pid 1234");
  if (live.standing || live.list || !live.remove.empty() || !live.dataset.empty() ||
      !live.name.empty())
    return BadInput("query: --pid and --exe work without a server, but other flags need one",
                    "leave --pid and --exe out, or the others");
  if (!live.count_first.empty() && (!live.for_.empty() || live.total))
    return BadInput("query: --count-first sets the time itself and prints one total",
                    "leave --for and --total out");
  return {};
}

Result<std::vector<weaver::TracepointDefinition>> ReadDefinitions(
    const std::vector<std::string>& files) {
  std::vector<weaver::TracepointDefinition> definitions;
  for (const std::string& file : files) {
    WF_ASSIGN(const std::string text, ReadInputFile(file, "give a file of tracepoint definitions",
                                                    InputCoding::kCompressed));
    auto read = weaver::ParseTracepointFile(text);
    if (!read.ok()) {
      Error error = read.error();
      error.message = file + ": " + error.message;
      return error;
    }
    for (auto& definition : *read) {
      const bool twice = std::any_of(definitions.begin(), definitions.end(),
                                     [&](const auto& d) { return d.name == definition.name; });
      if (twice)
        return BadInput(fmt::format("{}: tracepoint '{}' is defined twice", file, definition.name),
                        "leave one of them out");
      definitions.push_back(std::move(definition));
    }
  }
  return definitions;
}

void AddUp(weaver::WeaveCounters& sum, const weaver::WeaveCounters& more) {
  sum.hits += more.hits;
  sum.lost += more.lost;
  sum.singly += more.singly;
  sum.inexact += more.inexact;
  sum.cut_strings += more.cut_strings;
  sum.unread += more.unread;
  sum.unpaired += more.unpaired;
  sum.overflowed += more.overflowed;
  sum.ambiguous += more.ambiguous;
  sum.unfollowed += more.unfollowed;
  sum.packed_tuples_max = std::max(sum.packed_tuples_max, more.packed_tuples_max);
  sum.baggage_bytes_max = std::max(sum.baggage_bytes_max, more.baggage_bytes_max);
  sum.marked += more.marked;
  sum.advice_ns += more.advice_ns;
}

class LocalRun {
 public:
  LocalRun(weaver::Woven& woven, std::vector<std::string> columns, const LiveQueryFlags& live,
           const CommonFlags& common)
      : woven_(woven),
        columns_(std::move(columns)),
        total_only_(live.total || !live.count_first.empty()),
        output_(LiveFormOf(common.format)),
        interval_results_(woven.program()),
        total_results_(woven.program()) {}

  Status Run(Nanos interval, std::optional<Nanos> end_after) {
    start_ = Now();
    const Nanos end_at = end_after ? MonotonicNow() + *end_after : INT64_MAX;
    Nanos boundary = (start_ / interval + 1) * interval;
    while (!Interrupted() && MonotonicNow() < end_at) {
      const Nanos left = std::min(boundary - Now(), end_at - MonotonicNow());
      if (left > 0) {
        const Nanos wait = std::min(left, kPollFor);
        WF_TRY(woven_.Poll(static_cast<int>((wait + kMilli - 1) / kMilli)));
      }
      if (Now() < boundary) continue;
      WF_TRY(EndInterval(boundary));
      boundary = (Now() / interval + 1) * interval;
    }
    WF_TRY(woven_.Unweave());
    WF_TRY(EndInterval(Now()));
    if (total_only_) WF_TRY(Total());
    TellCounters();
    return {};
  }

 private:
  Status EndInterval(Nanos end) {
    WF_ASSIGN(const weaver::WeaveCounters counters, woven_.Collect(interval_results_));
    AddUp(counters_, counters);
    if (total_only_) {
      total_results_.Merge(interval_results_.Encode());
    } else {
      JsonWriter json;
      json.BeginObject().Field("start_ns", start_).Field("end_ns", end);
      json.Key("columns").BeginArray();
      for (const std::string& column : columns_) json.String(column);
      json.EndArray().Key("rows");
      query::WriteRows(json, interval_results_.Rows());
      json.Field("lost", static_cast<int64_t>(counters.lost + counters.overflowed)).EndObject();
      WF_TRY(output_.Interval(json.Take()));
    }
    interval_results_.Clear();
    start_ = end;
    return {};
  }

  Status Total() {
    answer::QueryRows answer;
    answer.columns = columns_;
    answer.rows = total_results_.Rows();
    answer.cost.emitted = total_results_.tuples();
    answer.cost.packed_tuples_max = counters_.packed_tuples_max;
    answer.cost.baggage_bytes_max = counters_.baggage_bytes_max;
    answer.events = counters_.hits;
    return output_.Total(answer::QueryRowsJson(answer));
  }

  void TellCounters() const {
    const auto tell = [](uint64_t count, const char* what) {
      if (count != 0)
        std::fprintf(stderr, "wherefore: %llu %s\n", static_cast<unsigned long long>(count), what);
    };
    tell(counters_.lost, "events were lost: they came faster than they were read");
    tell(counters_.overflowed, "events were dropped: they would make too many tuples");
    tell(counters_.marked, "requests packed more than --max-packed; the answer is not affected");
    tell(counters_.cut_strings, "strings were cut (raise --strings)");
    tell(counters_.unread, "values could not be read and are null");
    tell(counters_.unpaired, "calls were entered before the query was woven: elapsed is null");
    tell(counters_.ambiguous, "receives mixed bytes of several requests and were not followed");
    tell(counters_.unfollowed,
         "calls of io_uring, splice or sendfile: requests are not followed through them");
  }

  weaver::Woven& woven_;
  const std::vector<std::string> columns_;
  const bool total_only_;
  LiveOutput output_;
  advice::Results interval_results_, total_results_;
  weaver::WeaveCounters counters_;
  Nanos start_ = 0;
};

// What the user should know before the first row.
void TellPlaces(const weaver::Woven& woven, const CommonFlags& common) {
  for (const std::string& note : woven.notes())
    std::fprintf(stderr, "wherefore: %s\n", note.c_str());
  uint32_t dearest = 0;
  for (const weaver::WovenPlace& place : woven.places())
    dearest = std::max(dearest, place.predicted_ns);
  std::fprintf(stderr, "woven at %zu places; each hit costs about %s%s\n", woven.places().size(),
               FormatDuration(dearest).c_str(), common.format == "json" ? "" : "; Ctrl-C stops it");
}

}  // namespace

void AddLocalQueryFlags(CLI::App& app, LocalQueryFlags& flags) {
  // One value each, or they would swallow a query that stands behind them.
  app.add_option("--pid", flags.pids, "without a server: probe this process; repeatable")
      ->allow_extra_args(false)
      ->take_all()
      ->check([](const std::string& text) {
        return text.find_first_not_of("0123456789") == std::string::npos && text != "0"
                   ? std::string()
                   : text + " is not a process number";
      });
  app.add_option(
         "--exe", flags.exes,
         "without a server: probe every process of this program (name, path or glob); repeatable")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--tracepoint-file", flags.tracepoint_files,
                 "--pid, --exe: file of tracepoint definitions; repeatable")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--link", flags.link,
                 "--pid, --exe: auto, multi (one link for all probes) or perf (one each)")
      ->check(CLI::IsMember({"auto", "multi", "perf"}));
  app.add_option("--strings", flags.string_bytes,
                 "--pid, --exe: max string length in bytes, 8 to 256")
      ->check(CLI::Range(8, 256))
      ->capture_default_str();
}

Status RunLocalQuery(const std::string& text, const LocalQueryFlags& flags,
                     const LiveQueryFlags& live, const CommonFlags& common) {
  WF_TRY(CheckFlags(text, live));
  WF_ASSIGN(const auto parsed, query::ParseQuery(text));
  WF_ASSIGN(const Nanos interval, PositiveDuration("--interval", live.interval));
  std::optional<Nanos> end_after;
  if (!live.for_.empty()) {
    WF_ASSIGN(end_after, PositiveDuration("--for", live.for_));
  } else if (!live.count_first.empty()) {
    WF_ASSIGN(end_after, PositiveDuration("--count-first", live.count_first));
  }
  WF_ASSIGN(const auto definitions, ReadDefinitions(flags.tracepoint_files));
  const bool counts = !live.count_first.empty();
  WF_ASSIGN(query::Compiled compiled, counts ? query::Counting(*parsed) : query::Rewrite(*parsed));
  std::random_device random;
  compiled.program.query = uint64_t{random()} << 32 | random();
  weaver::WeaveTarget target;
  target.pids.assign(flags.pids.begin(), flags.pids.end());
  target.exes = flags.exes;
  weaver::WeaveOptions options;
  options.string_bytes = flags.string_bytes;
  WF_ASSIGN(options.link, weaver::ParseLinkChoice(flags.link));
  WF_ASSIGN(const PackLimit limit, ParsePackLimit(live.max_packed));
  options.limits.tuples = static_cast<uint32_t>(std::min<int64_t>(limit.tuples, UINT32_MAX));
  options.limits.bytes = static_cast<uint32_t>(std::min<int64_t>(limit.bytes, UINT32_MAX));
  EndOnInterrupt();
  WF_ASSIGN(const auto woven, weaver::Woven::Weave(compiled.program, definitions, target, options));
  TellPlaces(*woven, common);
  std::vector<std::string> columns =
      counts ? compiled.program.result_columns : query::ColumnNames(*parsed);
  return LocalRun(*woven, std::move(columns), live, common).Run(interval, end_after);
}

}  // namespace wf::cli
