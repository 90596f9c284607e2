// Questions about traces, messages and the store itself.
#include "answer/completion_answer.h"
#include "answer/critical_path/critical_path_answer.h"
#include "answer/explain/explain_answer.h"
#include "answer/paths/paths_output.h"
#include "answer/policy_answer.h"
#include "answer/query/query_answer.h"
#include "answer/questions/flags.h"
#include "answer/questions/questions.h"
#include "answer/status_answer.h"
#include "answer/trace/resource_answer.h"
#include "answer/trace/trace_answer.h"
#include "answer/trace/traces_answer.h"

namespace wf::answer {
namespace {

QuestionFlag ClockFlag() {
  return ChoiceFlag("clock", {"aligned", "raw"}, "times with the hosts' clocks aligned, or as sent")
      .Default("aligned");
}

QuestionFlag CursorFlag() {
  return TextFlag("cursor", "continue from a previous page: its \"next\"").Value("CURSOR");
}

// Which traces a search finds.
std::vector<QuestionFlag> SearchFlags(FlagCase when) {
  std::vector<QuestionFlag> flags = {
      TextFlag("service", "traces with a span of this service").Value("NAME"),
      TextFlag("operation", "… with a span of this name").Value("NAME"),
      TextFlag("attr", "… with a span that has this attribute").Value("KEY=VALUE").Repeatable(),
      ChoiceFlag("status", {"error", "ok", "unset"}, "… with a span of this status"),
      DurationFlag("min_duration", "the trace took at least this long, as in 250ms"),
      DurationFlag("max_duration", "the trace took at most this long"),
      SinceFlag(),
      UntilFlag(),
      CursorFlag(),
  };
  for (QuestionFlag& flag : flags) flag = flag.When(when);
  return flags;
}

QuestionVerb TracesVerb() {
  std::vector<QuestionFlag> flags = SearchFlags(FlagCase::kAlways);
  flags.push_back(IntegerFlag("limit", 1, 10'000, "at most N traces").Unit("traces").Default("20"));
  return {.verb = "traces",
          .summary = "Search: which requests were there, newest first",
          .kinds = {{.summary = "Which requests were there, newest first",
                     .help = "A trace matches when one of its spans has the service, operation, "
                             "attributes and status asked for, and the trace as a whole has the "
                             "duration and starts in the time range.",
                     .flags = std::move(flags),
                     .answer = AnswerTraces}}};
}

QuestionVerb TraceVerb() {
  return {.verb = "trace",
          .summary = "One request: its waterfall",
          .kinds = {{.summary = "One request: its waterfall",
                     .help = "The trace is built from the stored events when asked, with what was "
                             "repaired and what is missing.",
                     .argument = {"ID", ArgumentUse::kRequired, "the trace"},
                     .flags = {ClockFlag(),
                               TextFlag("span", "only this span, with all it carries; JSON only")
                                   .Value("SPAN"),
                               ChoiceFlag("view", {"full", "waterfall", "stacks"},
                                          "everything, or columns to draw from; JSON only")
                                   .Default("full")},
                     .answer = AnswerTrace}}};
}

QuestionVerb CriticalPathVerb() {
  std::vector<QuestionFlag> flags = {
      TextFlag("from", "with ID: from this span's start, or SPAN:end")
          .Value("SPAN")
          .When(FlagCase::kWithArgument),
      TextFlag("to", "with ID: to this span's end, or SPAN:start")
          .Value("SPAN")
          .When(FlagCase::kWithArgument),
      ClockFlag(),
      TextFlag("overlap_tolerance", "0: siblings that overlap a little ran in parallel, too")
          .Value("0|1ms")
          .Default("1ms"),
      TextFlag("what_if",
               "how long it would take with this work scaled: type/resource=0.5x, "
               "service/NAME=2x, operation/NAME=…, span/ID=…")
          .Value("SELECTOR=FACTORx")
          .Repeatable(),
  };
  const auto search = SearchFlags(FlagCase::kWithoutArgument);
  flags.insert(flags.end(), search.begin(), search.end());
  flags.push_back(IntegerFlag("limit", 1, 10'000, "at most N traces")
                      .Unit("traces")
                      .Default("1000")
                      .When(FlagCase::kWithoutArgument));
  return {.verb = "critical-path",
          .summary = "Which steps set the time of a request, or of many",
          .kinds = {{.summary = "Which steps set the time of a request, or of many",
                     .help = "With ID, the steps of one trace. Without it, what the critical paths "
                             "of all traces that a search finds are made of.",
                     .argument = {"ID", ArgumentUse::kOptional, "one trace; else a search"},
                     .flags = std::move(flags),
                     .answer = AnswerCriticalPath}}};
}

QuestionVerb ExplainVerb() {
  const FlagCase many = FlagCase::kWithoutArgument;
  return {
      .verb = "explain",
      .summary = "Where the time of a request went, and who was in the way",
      .kinds = {
          {.summary = "Where the time of a request went, and who was in the way",
           .help = "With ID, of one request. Without it, of the slowest requests of an operation, "
                   "merged into one answer.",
           .argument = {"TRACE_ID", ArgumentUse::kOptional, "a stored request"},
           .flags =
               {TextFlag("service", "without TRACE_ID: the slowest requests of this service")
                    .Value("NAME")
                    .When(many)
                    .Required(),
                TextFlag("operation", "… of this name").Value("NAME").When(many).Required(),
                InstantFlag("since", "… from this time on").Default("15m").When(many),
                InstantFlag("until", "… before this time").When(many),
                IntegerFlag("slowest", 1, 200, "… merge the N slowest")
                    .Unit("requests")
                    .Default("20")
                    .When(many),
                TextFlag("from", "from the start of this span, or SPAN:end; with --events an event")
                    .Value("SPAN")
                    .When(FlagCase::kWithArgument),
                TextFlag("to", "to the end of this span, or SPAN:start; with --events an event")
                    .Value("SPAN")
                    .When(FlagCase::kWithArgument),
                SwitchFlag("raw", "everything that could have had a part, without delay, too"),
                SwitchFlag("no_aggregate", "similar work of others one by one"),
                TextFlag("what_if",
                         "how long it would take with this work scaled, as in "
                         "storage/scan=0.5x")
                    .Value("[NODE/]NAME=FACTORx")
                    .Repeatable(),
                IntegerFlag("retain_from_ns", INT64_MIN, INT64_MAX,
                            "leave out events that ended before this time")
                    .Unit("ns"),
                DurationFlag("retain", "look back this long before the request").Default("30m"),
                SwitchFlag("stats", "say how large the graphs are"),
                SwitchFlag("baseline", "compare with what is normal for the operation"),
                ClockFlag()},
           .formats = {"text", "json", "dot", "svg"},
           .request_formats = {"events"},
           .body = BodyUse::kOptional,
           .body_help = "YAML that describes resources which spans do not name "
                        "(docs/use/explain.md)",
           .answer = AnswerExplain}}};
}

QuestionVerb PathsVerb() {
  return {
      .verb = "paths",
      .summary = "Causal paths from messages alone",
      .kinds = {{.summary = "Causal paths of the messages that were imported",
                 .help = "The patterns that requests followed, inferred from messages alone, "
                         "with the delay of every node.",
                 .flags = {InstantFlag("since",
                                       "without INPUT: stored messages from this time "
                                       "on, as in 15m"),
                           InstantFlag("until",
                                       "without INPUT: stored messages before this "
                                       "time"),
                           ChoiceFlag("algorithm", {"auto", "nesting", "convolution", "linking"},
                                      "how paths are inferred")
                               .Default("auto"),
                           IntegerFlag("top", 0, INT32_MAX, "show N patterns, 0: all")
                               .Unit("patterns")
                               .Default("20"),
                           ChoiceFlag("sort", {"total", "count"},
                                      "order patterns by total latency or by count")
                               .Default("total"),
                           SwitchFlag("histogram", "add how the delays of each node are spread")
                               .RequestsOnly()},
                 .formats = {"text", "json", "dot", "svg"},
                 .command = "paths",
                 .answer = AnswerPaths}}};
}

QuestionVerb StatusVerb() {
  return {.verb = "status",
          .summary = "What the store holds; what was lost, refused or repaired",
          .kinds = {{.summary = "What the store holds; what was lost, refused or repaired",
                     .answer = AnswerStatus}}};
}

QuestionVerb ServicesVerb() {
  return {.verb = "services",
          .summary = "The services that sent spans",
          .kinds = {{.summary = "The services that sent spans", .answer = AnswerServices}}};
}

QuestionVerb OperationsVerb() {
  return {.verb = "operations",
          .summary = "The operations of a service",
          .kinds = {{.summary = "The operations of a service",
                     .flags = {TextFlag("service", "of this service").Value("NAME").Required()},
                     .answer = AnswerOperations}}};
}

QuestionVerb AttributesVerb() {
  return {.verb = "attributes",
          .summary = "Attribute keys, or the values of one",
          .kinds = {{.summary = "Attribute keys, or the values of one",
                     .argument = {"KEY", ArgumentUse::kOptional, "list the values of this key"},
                     .flags = {TextFlag("prefix", "that begin with this text"),
                               IntegerFlag("limit", 1, 10'000, "at most N").Default("100")},
                     .answer = AnswerAttributes}}};
}

QuestionVerb ResourceVerb() {
  return {.verb = "resource",
          .summary = "Everything that ran on a resource in a time range",
          .kinds = {
              {.summary = "Everything that ran on a resource in a time range",
               .help = "Name at least one of host, instance, pid, thread, partition, pool "
                       "and resource.",
               .flags =
                   {TextFlag("host", "on this host").Value("NAME"),
                    TextFlag("instance", "in this service.instance.id").Value("ID"),
                    TextFlag("pid", "in this process.pid").Value("PID"),
                    TextFlag("thread", "on this thread.id").Value("ID"),
                    TextFlag("partition", "of this messaging.destination.partition.id").Value("ID"),
                    TextFlag("pool", "with this db.client.connection.pool.name").Value("NAME"),
                    TextFlag("resource", "holding this wherefore.resource").Value("NAME"),
                    SinceFlag(), UntilFlag(),
                    IntegerFlag("limit", 1, 100'000, "at most N spans, earliest first")
                        .Unit("spans")
                        .Default("10000"),
                    CursorFlag()},
               .answer = AnswerResource}}};
}

QuestionVerb PoliciesVerb() {
  return {.verb = "policies",
          .summary = "Which requests are traced",
          .kinds = {{.summary = "The sampling policies in force",
                     .command = "policy list",
                     .answer = AnswerPolicies}}};
}

QuestionVerb QueryVerb() {
  return {
      .verb = "query",
      .summary = "Query events, joined by happened-before",
      .kinds = {
          {.summary = "A query joined by happened-before, over the stored traces",
           .flags =
               {TextFlag("q", "the query, unless it is the body").Value("QUERY").RequestsOnly(),
                InstantFlag("since",
                            "--stored: start time of From events: 1h (ago), RFC 3339 or Unix ns"),
                InstantFlag("until", "--stored: end time of From events"),
                SwitchFlag("explain",
                           "do not run: print the advice before and after rewriting, and "
                           "the baggage a request will carry")},
           .body = BodyUse::kOptional,
           .body_help = "the query, instead of q",
           .command = "query --stored QUERY",
           .answer = AnswerQuery}}};
}

}  // namespace

std::vector<QuestionVerb> TraceQuestions() {
  return {TracesVerb(),     TraceVerb(),    CriticalPathVerb(), ExplainVerb(),
          PathsVerb(),      StatusVerb(),   ServicesVerb(),     OperationsVerb(),
          AttributesVerb(), ResourceVerb(), PoliciesVerb(),     QueryVerb()};
}

}  // namespace wf::answer
