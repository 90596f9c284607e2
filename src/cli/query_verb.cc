// `wherefore query 'Q'`: what happened, joined by what happened before it. Over a file of events, stored
// traces, or live.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "answer/query/query_answer.h"
#include "cli/input_file.h"
#include "cli/query_live.h"
#include "cli/query_local.h"
#include "cli/question_flags.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "lang/query/events_file.h"
#include "lang/query/explain.h"
#include "lang/query/parser.h"
#include "lang/query/plans.h"

namespace wf::cli {
namespace {

struct QueryFlags {
  std::string query, events, plan;
  bool stored = false;
  answer::Params asked;  // what the question has flags for, as given
  LiveQueryFlags live;
  LocalQueryFlags local;
};

// What is not an error, but hardly meant.
void TellOfEvents(const query::Query& query, const query::EventsFile& file,
                  const std::string& name) {
  for (const std::string& tracepoint : query::Tracepoints(query)) {
    const auto& events = file.execution.events;
    const bool known = std::any_of(events.begin(), events.end(), [&](const query::Event& event) {
      return event.tracepoint == tracepoint;
    });
    if (!known)
      std::fprintf(stderr, "wherefore: %s: no event of tracepoint %s\n", name.c_str(),
                   tracepoint.c_str());
  }
  for (const auto& [member, count] : file.ignored_members)
    std::fprintf(stderr, "wherefore: %s: \"%s\" means nothing in an event; %llu were ignored\n",
                 name.c_str(), member.c_str(), static_cast<unsigned long long>(count));
}

Status QueryEvents(const QueryFlags& flags, const CommonFlags& common) {
  if (flags.asked.Get("since") || flags.asked.Get("until"))
    return BadInput("query: --since and --until are for stored traces, not --events",
                    "leave one of them out");
  WF_ASSIGN(const auto parsed, query::ParseQuery(flags.query));
  WF_ASSIGN(const query::Plan plan, query::PlanByName(flags.plan));
  WF_ASSIGN(const std::string text,
            ReadInputFile(flags.events, "give a file of events as JSON lines, or - for stdin",
                          InputCoding::kCompressed));
  WF_ASSIGN(const query::EventsFile file, query::ReadEvents(text, flags.events));
  WF_ASSIGN(query::PlanRun run, query::RunPlan(plan, *parsed, file.execution));
  TellOfEvents(*parsed, file, flags.events);
  answer::QueryRows answer;
  answer.columns = query::ColumnNames(*parsed);
  answer.rows = std::move(run.rows);
  answer.cost = run.cost;
  answer.events = file.execution.events.size();
  answer.unknown_after = file.execution.unknown_after;
  return Print(common.format == "json" ? answer::QueryRowsJson(answer) + "\n"
                                       : answer::QueryRowsText(answer));
}

Status QueryStored(const QueryFlags& flags, const CommonFlags& common) {
  if (!flags.plan.empty())
    return BadInput("query: --plan needs --events", "stored traces have one plan");
  answer::Question question{"query", "", flags.asked};
  question.params.Add("q", flags.query);
  AddFormat(common.format, question.params);
  WF_ASSIGN(const auto store, StoreAccess::Open(common.store));
  WF_ASSIGN(const answer::Answer answer, store->Ask(question));
  return Print(answer.body);
}

// Nothing is run: what the query would do, and what it would make requests carry.
Status ExplainQuery(const QueryFlags& flags, const CommonFlags& common) {
  WF_ASSIGN(const auto parsed, query::ParseQuery(flags.query));
  WF_ASSIGN(const query::Explanation explanation, query::Explain(*parsed));
  return Print(common.format == "json" ? query::ExplanationJson(explanation) + "\n"
                                       : query::ExplanationText(explanation));
}

}  // namespace

Verb AddQuery(CLI::App& root) {
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("query");
  Verb verb = MakeQuestionVerb(root, asks);
  CLI::App& app = *verb.app;
  const auto flags = std::make_shared<QueryFlags>();
  app.add_option("QUERY", flags->query,
                 "such as 'From x In tracepoint GroupBy x.host Select x.host, COUNT'");
  CLI::Option* events = app.add_option("--events", flags->events,
                                       "a file of events, JSON lines; - is standard input");
  app.add_option("--plan", flags->plan,
                 "--events: reference, advice, rewritten (default) or emit; all give the same rows")
      ->check(CLI::IsMember({"reference", "advice", "rewritten", "emit"}));
  app.add_flag("--stored", flags->stored, "query stored traces")->excludes(events);
  AddLiveQueryFlags(app, flags->live);
  AddLocalQueryFlags(app, flags->local);
  verb.run = [flags, common = verb.common, &app, &asks]() -> Status {
    flags->asked = GivenFlags(app, asks);
    WF_ASSIGN(const bool explain, flags->asked.Switch("explain"));
    if (explain || !flags->events.empty() || flags->stored) {
      if (explain) return ExplainQuery(*flags, *common);
      return flags->stored ? QueryStored(*flags, *common) : QueryEvents(*flags, *common);
    }
    if (flags->local.asked_for())
      return RunLocalQuery(flags->query, flags->local, flags->live, *common);
    return RunLiveQuery(flags->query, flags->live, *common);
  };
  return verb;
}

}  // namespace wf::cli
