// `wherefore explain`: where the time between two events went, off-path causes included.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "answer/explain/explain_dot.h"
#include "answer/explain/explain_graph.h"
#include "answer/explain/explain_json.h"
#include "answer/explain/explain_svg.h"
#include "answer/explain/explain_text.h"
#include "cli/input_file.h"
#include "cli/new_file.h"
#include "cli/question_flags.h"
#include "cli/store_access.h"
#include "cli/verbs.h"

namespace wf::cli {
namespace {

struct ExplainFlags {
  std::string events, extract, resources;  // files
  std::string trace;
  answer::Params asked;  // what the question has flags for, as given

  std::string Text(std::string_view name) const { return asked.Get(name).value_or(""); }
};

Result<uint32_t> FindEvent(const provenance::Execution& execution, const ExplainFlags& flags,
                           const char* flag, const std::string& id) {
  if (id.empty())
    return BadInput(fmt::format("explain: {} is missing", flag), "give the id of an event");
  const uint32_t event = execution.Find(id);
  if (event != provenance::kNoEvent) return event;
  return BadInput(fmt::format("{}: {} {}: there is no such event", flags.events, flag, id),
                  flags.asked.Get("retain_from_ns") ? "is it older than --retain-from-ns?"
                                                    : "give the \"id\" of one of the events");
}

Status PrintExplanation(const provenance::Execution& execution,
                        const provenance::Explanation& explanation,
                        provenance::ExplanationView view, const std::string& format) {
  if (format == "json") return Print(answer::ExplanationJson(execution, explanation, view) + "\n");
  const answer::ExplainGraph graph =
      answer::NamedExplanation(execution, explanation, answer::WordsOf(view));
  return Print(format == "dot"   ? answer::ExplainDot(graph)
               : format == "svg" ? answer::ExplainSvg(graph)
                                 : answer::ExplainText(graph));
}

Status WriteWhole(const std::string& path, std::string_view text) {
  NewFile file(path);
  WF_TRY(file.Open());
  WF_TRY(file.Write(text));
  return file.Finish();
}

// The flags' values, before a file is read.
Status CheckExplainFlags(const ExplainFlags& flags) {
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("explain");
  return answer::CheckFlags(asks, asks.kinds.front(), {"explain", flags.trace, flags.asked}, Now());
}

// Flags that say which stored request, or what of it, have nothing to say about a file of events.
Status RefuseFlagsOfRequests(const ExplainFlags& flags) {
  std::vector<std::string> given;
  if (!flags.trace.empty()) given.push_back("TRACE_ID");
  if (!flags.resources.empty()) given.push_back("--resources");
  for (const char* name :
       {"service", "operation", "since", "until", "slowest", "clock", "retain", "baseline"}) {
    if (flags.asked.Get(name)) given.push_back(answer::FlagName(name));
  }
  if (given.empty()) return {};
  return BadInput(
      fmt::format("explain: --events, and {}, which is of stored requests", given.front()),
      given.front() == "--retain" ? "--retain-from-ns is for events" : "leave one of them out");
}

Status ExplainEvents(const ExplainFlags& flags, const CommonFlags& common) {
  WF_TRY(CheckExplainFlags(flags));
  provenance::ExplainOptions options;
  WF_ASSIGN(const bool raw, flags.asked.Switch("raw"));
  WF_ASSIGN(const bool pruned, flags.asked.Switch("no_aggregate"));
  WF_ASSIGN(const auto retain_from, flags.asked.Integer("retain_from_ns"));
  if (raw) options.view = provenance::ExplanationView::kRaw;
  if (pruned) options.view = provenance::ExplanationView::kPruned;
  for (const std::string& text : flags.asked.All("what_if")) {
    WF_ASSIGN(provenance::ExplainWhatIf change, provenance::ParseExplainWhatIf(text));
    options.what_if.push_back(std::move(change));
  }
  WF_ASSIGN(const std::string text,
            ReadInputFile(flags.events, "give a file of events as JSON lines, or - for stdin",
                          InputCoding::kCompressed));
  WF_ASSIGN(const provenance::Execution execution,
            provenance::ReadExecution(text, flags.events, retain_from));
  WF_ASSIGN(options.from, FindEvent(execution, flags, "--from", flags.Text("from")));
  WF_ASSIGN(options.to, FindEvent(execution, flags, "--to", flags.Text("to")));
  WF_ASSIGN(const provenance::Explanation explanation, provenance::Explain(execution, options));
  if (!flags.extract.empty())
    WF_TRY(WriteWhole(flags.extract, provenance::ExtractEvents(execution, options.to)));
  return PrintExplanation(execution, explanation, options.view, common.format);
}

Result<answer::Question> QuestionOf(const ExplainFlags& flags, const CommonFlags& common) {
  answer::Question question{"explain", flags.trace, flags.asked};
  AddFormat(common.format, question.params);
  if (flags.resources.empty()) return question;
  WF_ASSIGN(question.body,
            ReadInputFile(flags.resources, "docs/use/explain.md shows a file of resources"));
  if (question.body.empty())
    return BadInput(flags.resources + ": is empty",
                    "docs/use/explain.md shows a file of resources");
  return question;
}

// The same request once more, as events.
answer::Question EventsOf(const answer::Question& asked) {
  answer::Question question{"explain", asked.argument, {}, asked.body};
  for (const char* name : {"from", "to", "clock", "retain", "retain_from_ns"}) {
    if (const auto value = asked.params.Get(name)) question.params.Add(name, *value);
  }
  question.params.Add("format", "events");
  return question;
}

// Requests in the store: the question goes where the store is.
Status ExplainStored(const ExplainFlags& flags, const CommonFlags& common) {
  if (!flags.extract.empty() && flags.trace.empty())
    return BadInput("--extract: of a file of events, or of one request",
                    "wherefore explain TRACE_ID --extract FILE");
  WF_ASSIGN(const answer::Question question, QuestionOf(flags, common));
  WF_ASSIGN(const auto store, StoreAccess::Open(common.store));
  WF_ASSIGN(const answer::Answer answer, store->Ask(question));
  if (!flags.extract.empty()) {
    WF_ASSIGN(const answer::Answer events, store->Ask(EventsOf(question)));
    WF_TRY(WriteWhole(flags.extract, events.body));
  }
  return Print(answer.body);
}

}  // namespace

Verb AddExplain(CLI::App& root) {
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("explain");
  Verb verb = MakeQuestionVerb(root, asks);
  CLI::App& app = *verb.app;
  const auto flags = std::make_shared<ExplainFlags>();
  app.add_option("TRACE_ID", flags->trace, "a stored request");
  app.add_option("--events", flags->events,
                 "provenance events instead of stored requests, JSON lines; - is standard input");
  app.add_option("--resources", flags->resources,
                 "a YAML file that describes resources which spans do not name");
  app.add_option("--extract", flags->extract, "write the events that the explanation needs here");
  app.get_option("--no-aggregate")->excludes(app.get_option("--raw"));
  verb.run = [flags, common = verb.common, &app, &asks]() -> Status {
    flags->asked = GivenFlags(app, asks);
    if (!flags->events.empty()) {
      WF_TRY(RefuseFlagsOfRequests(*flags));
      return ExplainEvents(*flags, *common);
    }
    return ExplainStored(*flags, *common);
  };
  return verb;
}

}  // namespace wf::cli
