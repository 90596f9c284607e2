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
#include "cli/store_access.h"
#include "cli/verbs.h"

namespace wf::cli {
namespace {

struct ExplainFlags {
  std::string events, from, to, extract;
  std::string trace, service, operation, since, until, slowest, clock, resources,
      retain;  // stored traces
  bool raw = false, no_aggregate = false, stats = false, baseline = false;
  std::vector<std::string> what_if;
  std::optional<Nanos> retain_from;
};

Result<uint32_t> FindEvent(const provenance::Execution& execution, const ExplainFlags& flags,
                           const char* flag, const std::string& id) {
  if (id.empty())
    return BadInput(fmt::format("explain: {} is missing", flag), "give the id of an event");
  const uint32_t event = execution.Find(id);
  if (event != provenance::kNoEvent) return event;
  return BadInput(fmt::format("{}: {} {}: there is no such event", flags.events, flag, id),
                  flags.retain_from ? "is it older than --retain-from-ns?"
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

// Flags that say which stored request, or what of it, have nothing to say about a file of events.
Status RefuseFlagsOfRequests(const ExplainFlags& flags) {
  const struct {
    const char* flag;
    bool given;
  } of_requests[] = {
      {"TRACE_ID", !flags.trace.empty()},        {"--service", !flags.service.empty()},
      {"--operation", !flags.operation.empty()}, {"--since", !flags.since.empty()},
      {"--until", !flags.until.empty()},         {"--slowest", !flags.slowest.empty()},
      {"--clock", !flags.clock.empty()},         {"--retain", !flags.retain.empty()},
      {"--resources", !flags.resources.empty()}, {"--baseline", flags.baseline}};
  for (const auto& [flag, given] : of_requests) {
    if (!given) continue;
    return BadInput(fmt::format("explain: --events, and {}, which is of stored requests", flag),
                    flag == std::string_view("--retain") ? "--retain-from-ns is for events"
                                                         : "leave one of them out");
  }
  return {};
}

Status ExplainEvents(const ExplainFlags& flags, const CommonFlags& common) {
  provenance::ExplainOptions options;
  if (flags.raw) options.view = provenance::ExplanationView::kRaw;
  if (flags.no_aggregate) options.view = provenance::ExplanationView::kPruned;
  for (const std::string& text : flags.what_if) {
    WF_ASSIGN(provenance::ExplainWhatIf change, provenance::ParseExplainWhatIf(text));
    options.what_if.push_back(std::move(change));
  }
  WF_ASSIGN(const std::string text,
            ReadInputFile(flags.events, "give a file of events as JSON lines, or - for stdin",
                          InputCoding::kCompressed));
  WF_ASSIGN(const provenance::Execution execution,
            provenance::ReadExecution(text, flags.events, flags.retain_from));
  WF_ASSIGN(options.from, FindEvent(execution, flags, "--from", flags.from));
  WF_ASSIGN(options.to, FindEvent(execution, flags, "--to", flags.to));
  WF_ASSIGN(const provenance::Explanation explanation, provenance::Explain(execution, options));
  if (!flags.extract.empty())
    WF_TRY(WriteWhole(flags.extract, provenance::ExtractEvents(execution, options.to)));
  return PrintExplanation(execution, explanation, options.view, common.format);
}

Result<answer::Question> QuestionOf(const ExplainFlags& flags, const CommonFlags& common) {
  answer::Question question{"explain", flags.trace, {}};
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) question.params.Add(name, value);
  };
  text("from", flags.from);
  text("to", flags.to);
  text("service", flags.service);
  text("operation", flags.operation);
  text("since", flags.since);
  text("until", flags.until);
  text("slowest", flags.slowest);
  text("clock", flags.clock);
  text("retain", flags.retain);
  if (flags.raw) text("raw", "true");
  if (flags.no_aggregate) text("no_aggregate", "true");
  if (flags.stats) text("stats", "true");
  if (flags.baseline) text("baseline", "true");
  for (const std::string& change : flags.what_if) text("what_if", change);
  if (flags.retain_from) text("retain_from_ns", std::to_string(*flags.retain_from));
  if (common.format != "json") text("format", common.format);
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
  Verb verb = MakeVerb(root, "explain", "Where the time of a request went, and who was in the way");
  CLI::App& app = *verb.app;
  const auto flags = std::make_shared<ExplainFlags>();
  app.add_option("TRACE_ID", flags->trace, "a stored request");
  app.add_option("--service", flags->service, "without TRACE_ID: the slowest of this service");
  app.add_option("--operation", flags->operation, "… of this name");
  app.add_option("--since", flags->since, "… from this time on: 15m (the default), RFC 3339, ns");
  app.add_option("--until", flags->until, "… before this time");
  app.add_option("--slowest", flags->slowest, "… so many of them, merged into one answer (20)");
  app.add_option("--events", flags->events, "provenance events, JSON lines; - is standard input");
  app.add_option("--from", flags->from,
                 "from the start of this event; of a stored request SPAN[:start|:end]");
  app.add_option("--to", flags->to,
                 "to the end of this one, which it had a part in causing; likewise");
  CLI::Option* raw =
      app.add_flag("--raw", flags->raw, "everything that could have had a part, without delay too");
  app.add_flag("--no-aggregate", flags->no_aggregate, "alike off-path work one by one")
      ->excludes(raw);
  app.add_option("--what-if", flags->what_if,
                 "how long with this work scaled: [NODE/]NAME=0.5x; may be given again")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--retain-from-ns", flags->retain_from,
                 "events that end before it are gone, and causes that are not there");
  app.add_option("--retain", flags->retain,
                 "TRACE_ID, --service: look back so long before the request (30m)");
  app.add_flag("--stats", flags->stats, "… say how large the graphs are");
  app.add_flag("--baseline", flags->baseline, "… beside what is normal for the operation");
  app.add_option("--clock", flags->clock, "… by clocks aligned (hosts' clocks corrected) or raw");
  app.add_option("--resources", flags->resources,
                 "… a YAML file of resources spans do not tell of");
  app.add_option("--extract", flags->extract, "write the events that the explanation needs here");
  verb.run = [flags, common = verb.common]() -> Status {
    if (!flags->events.empty()) {
      WF_TRY(RefuseFlagsOfRequests(*flags));
      return ExplainEvents(*flags, *common);
    }
    return ExplainStored(*flags, *common);
  };
  app.remove_option(app.get_option("--format"));
  app.add_option("--format", verb.common->format, "text, json, dot or svg")
      ->check(CLI::IsMember({"text", "json", "dot", "svg"}))
      ->capture_default_str();
  return verb;
}

}  // namespace wf::cli
