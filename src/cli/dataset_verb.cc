// `wherefore dataset ACTION`: the actions that ask are passed on; apply reads a file, backfill shows progress.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <sstream>

#include "answer/dataset/dataset_answer.h"
#include "cli/client_settings.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "json/json_reader.h"

namespace wf::cli {
namespace {

struct DatasetFlags {
  std::string action, argument;
  std::vector<std::pair<std::string, std::string>> values;  // of the flags, as given
};

// A served store is backfilled in so many pieces of time, so that there is progress to show and each answer comes soon.
constexpr int kPieces = 32;

const answer::DatasetAction* FindAction(const std::string& name) {
  for (const answer::DatasetAction& action : answer::DatasetActions()) {
    if (action.name == name) return &action;
  }
  return nullptr;
}

Result<std::string> ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  if (!in) return EnvironmentError(path + ": cannot be read", "does the file exist?");
  return content.str();
}

Result<answer::Question> MakeQuestion(const DatasetFlags& flags,
                                      const answer::DatasetAction& action,
                                      const std::string& format) {
  answer::Question question{"dataset", flags.action, {}, {}, action.method};
  if (action.takes_name) question.argument += "/" + flags.argument;
  for (const auto& [name, value] : flags.values) question.params.Add(name, value);
  if (flags.action == "apply") {
    if (flags.argument.empty()) return BadInput("dataset apply: which file?", "give a YAML file");
    WF_ASSIGN(question.body, ReadText(flags.argument));
    question.params.Add("name", flags.argument);
  } else if (flags.action == "sql") {
    question.params.Add("sql", flags.argument);
  } else if (action.takes_name ? flags.argument.empty() : !flags.argument.empty()) {
    return action.takes_name
               ? BadInput("dataset " + flags.action + ": which dataset?", "wherefore dataset list")
               : BadInput("dataset " + flags.action + ": takes no name", "leave it out");
  }
  if (format != "json") question.params.Add("format", format);
  return question;
}

struct Extent {
  Nanos oldest = 0, newest = 0;
  int64_t traces = 0;
};

Result<Extent> ExtentOf(StoreAccess& access) {
  WF_ASSIGN(const answer::Answer status, access.Ask({"status", "", {}}));
  JsonParser parser;
  WF_ASSIGN(const JsonValue root, parser.Parse(status.body));
  const JsonValue store = root.Get("store");
  return Extent{store.Get("oldest_ns").Int().value_or(0), store.Get("newest_ns").Int().value_or(0),
                store.Get("traces").Int().value_or(0)};
}

Result<pipeline::ExtractCounts> BackfillThere(StoreAccess& access, const answer::Question& question,
                                              store::TimeRange time, const Extent& extent,
                                              const std::string& format) {
  time.from = std::max(time.from, extent.oldest);
  time.until = std::min(time.until, SaturatingAdd(extent.newest, 1));
  ProgressBar progress("backfilling", kPieces, format);
  pipeline::ExtractCounts total;
  Nanos from = time.from;
  for (int piece = 1; piece <= kPieces; ++piece) {
    // The last piece takes what rounding left; an empty range is asked for once, for its errors.
    const Nanos until =
        piece == kPieces ? std::max(time.from, time.until)
                         : time.from + std::max<Nanos>(0, time.until - time.from) / kPieces * piece;
    if (from >= until && piece != kPieces) continue;
    if (Interrupted())
      return EnvironmentError("backfill: stopped; the traces so far are in the dataset",
                              "run it again: rows are replaced, not doubled");
    answer::Question one = question;
    one.params =
        answer::Params({{"since", std::to_string(from)}, {"until", std::to_string(until)}});
    WF_ASSIGN(const answer::Answer answer, access.Ask(one));
    WF_ASSIGN(const pipeline::ExtractCounts counts, answer::ParseBackfillReport(answer.body));
    total.Add(counts);
    from = until;
    progress.Show(static_cast<size_t>(piece));
  }
  progress.Finish();
  return total;
}

Result<pipeline::ExtractCounts> BackfillHere(StoreAccess& access, const std::string& dataset,
                                             store::TimeRange time, const Extent& extent,
                                             const std::string& format) {
  ProgressBar progress("backfilling", extent.traces, format);
  auto counts = answer::Backfill(
      {access.local(), TheClientSettings().LocalTenant(), access.files(), Now(), {}, {}}, dataset,
      time, [&](int64_t traces) {
        progress.Show(static_cast<size_t>(traces));
        return !Interrupted();
      });
  progress.Finish();
  return counts;
}

Status RunBackfill(StoreAccess& access, const answer::Question& question, const DatasetFlags& flags,
                   const std::string& format) {
  WF_TRY(question.params.Check({"since", "until", "format"}));
  WF_ASSIGN(const store::TimeRange time, answer::ParseTimeRange(question.params, Now()));
  WF_ASSIGN(const Extent extent, ExtentOf(access));
  StopOnInterrupt();
  WF_ASSIGN(const pipeline::ExtractCounts counts,
            access.served() ? BackfillThere(access, question, time, extent, format)
                            : BackfillHere(access, flags.argument, time, extent, format));
  return Print(format == "json" ? answer::BackfillReportJson(flags.argument, counts)
                                : answer::BackfillReportText(flags.argument, counts));
}

Status RunDataset(const DatasetFlags& flags, const CommonFlags& common) {
  const answer::DatasetAction* action = FindAction(flags.action);
  if (action == nullptr)
    return BadInput("dataset " + flags.action + ": no such action",
                    "list, columns, query, compare, sql, apply, backfill or delete");
  WF_ASSIGN(const answer::Question question, MakeQuestion(flags, *action, common.format));
  WF_ASSIGN(const auto access, StoreAccess::Open(common.store));
  if (flags.action == "backfill") return RunBackfill(*access, question, flags, common.format);
  WF_ASSIGN(const answer::Answer answer, access->Ask(question));
  return Print(answer.body);
}

}  // namespace

Verb AddDataset(CLI::App& root) {
  Verb verb = MakeVerb(root, "dataset", "Tables of features: ask, compare, define, fill");
  CLI::App& app = *verb.app;
  const auto flags = std::make_shared<DatasetFlags>();
  app.add_option("ACTION", flags->action,
                 "list, columns, query, compare, sql, apply, backfill or delete")
      ->required();
  app.add_option("NAME", flags->argument, "a dataset; of apply a YAML file, of sql the statement");
  const auto text = [&](const char* flag, const char* param, const char* description) {
    app.add_option_function<std::vector<std::string>>(
           flag,
           [flags, param](const std::vector<std::string>& values) {
             for (const std::string& value : values) flags->values.emplace_back(param, value);
           },
           description)
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  };
  const auto yes = [&](const char* flag, const char* param, const char* description) {
    app.add_flag_function(
        flag, [flags, param](int64_t) { flags->values.emplace_back(param, "true"); }, description);
  };
  text("--where", "where", "rows that fulfil CONDITION and …, as in 'latency_ns > 250ms'");
  text("--group-by", "group_by", "one result row for each value of these columns");
  text("--agg", "agg", "count, sum(C), mean(C), min(C), max(C), pNN(C), distinct(C)");
  text("--bucket", "bucket", "… and for each such span of time, as in 1m");
  text("--order", "order", "by this result column, asc or desc");
  text("--columns", "columns", "these columns of the rows only");
  text("--limit", "limit", "at most so many rows (1000)");
  text("--a", "a", "compare: the rows that fulfil this");
  text("--b", "b", "… with those that fulfil this");
  text("--metric", "metric", "compare: the number whose difference is to be explained");
  text("--show", "show", "compare: significant differences, or all");
  text("--since", "since", "from this time on: 15m back from now, RFC 3339, or Unix ns");
  text("--until", "until", "before this time, likewise");
  yes("--force", "force", "apply: also above the owner's share of CPU time");
  yes("--trial", "trial", "apply: show rows and cost, save nothing");
  text("--share", "share", "apply: the owner's share, CPU time a trace (10ms)");
  app.remove_option(app.get_option("--format"));
  app.add_option("--format", verb.common->format,
                 "text or json; of query and sql also csv or parquet")
      ->check(CLI::IsMember({"text", "json", "csv", "parquet"}))
      ->capture_default_str();
  verb.run = [flags, common = verb.common] { return RunDataset(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
