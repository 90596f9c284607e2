// `wherefore dataset ACTION`: the actions that ask are passed on; apply reads a file, backfill shows progress.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <sstream>

#include "answer/dataset/dataset_answer.h"
#include "cli/client_settings.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/question_flags.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "json/json_reader.h"

namespace wf::cli {
namespace {

struct DatasetFlags {
  std::string action, argument;
  answer::Params params;  // of the flags, as given
};

// A served store is backfilled in so many pieces of time, so that there is progress to show and each answer comes soon.
constexpr int kPieces = 32;

Result<std::string> ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  if (!in) return EnvironmentError(path + ": cannot be read", "does the file exist?");
  return content.str();
}

Result<answer::Question> MakeQuestion(const DatasetFlags& flags, const answer::QuestionKind& kind,
                                      const std::string& format) {
  const bool named = kind.argument.use == answer::ArgumentUse::kRequired;
  answer::Question question{"dataset", flags.action, flags.params, {}, kind.method};
  if (named) question.argument += "/" + flags.argument;
  if (flags.action == "apply") {
    if (flags.argument.empty()) return BadInput("dataset apply: which file?", "give a YAML file");
    WF_ASSIGN(question.body, ReadText(flags.argument));
    question.params.Add("name", flags.argument);
  } else if (flags.action == "sql") {
    question.params.Add("sql", flags.argument);
  } else if (named == flags.argument.empty()) {
    return named ? BadInput("dataset " + flags.action + ": no dataset given",
                            "wherefore dataset list shows them")
                 : BadInput("dataset " + flags.action + ": takes no name", "leave it out");
  }
  AddFormat(format, question.params);
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
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("dataset");
  WF_TRY(answer::CheckFlags(asks, *answer::FindAction(asks, "backfill"), question, Now()));
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
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("dataset");
  const answer::QuestionKind* kind = answer::FindAction(asks, flags.action);
  if (kind == nullptr)
    return BadInput("dataset " + flags.action + ": no such action", answer::ActionNames(asks));
  WF_ASSIGN(const answer::Question question, MakeQuestion(flags, *kind, common.format));
  WF_ASSIGN(const auto access, StoreAccess::Open(common.store));
  if (flags.action == "backfill") return RunBackfill(*access, question, flags, common.format);
  WF_ASSIGN(const answer::Answer answer, access->Ask(question));
  return Print(answer.body);
}

}  // namespace

Verb AddDataset(CLI::App& root) {
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("dataset");
  Verb verb = MakeQuestionVerb(root, asks);
  CLI::App& app = *verb.app;
  const auto flags = std::make_shared<DatasetFlags>();
  app.add_option("ACTION", flags->action, answer::ActionNames(asks))->required();
  app.add_option("NAME", flags->argument, "a dataset; of apply a YAML file, of sql the statement");
  verb.run = [flags, common = verb.common, &app, &asks] {
    flags->params = GivenFlags(app, asks);
    return RunDataset(*flags, *common);
  };
  return verb;
}

}  // namespace wf::cli
