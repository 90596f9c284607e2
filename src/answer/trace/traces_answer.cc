// `traces`: which requests were there, newest first. {"traces":[…],"next"}.
#include "answer/trace/traces_answer.h"

#include <fmt/format.h>

#include "answer/frame/text_table.h"
#include "json/json_writer.h"

namespace wf::answer {

// A cursor is the last row's start and id; hex keeps it short and free of characters a URL would escape.
std::string FormatCursor(const store::SearchCursor& cursor) {
  return ToHex64(static_cast<uint64_t>(cursor.start_ns)) + ToHex(cursor.trace_id);
}

Result<store::SearchCursor> ParseCursor(std::string_view text) {
  const Error bad =
      BadInput("--cursor: \"" + std::string(text.substr(0, 64)) + "\" is not a cursor",
               "pass \"next\" of the previous answer unchanged");
  if (text.size() != 48) return bad;
  auto start = ParseSpanId(text.substr(0, 16));
  auto id = ParseTraceId(text.substr(16));
  if (!start.ok() || !id.ok()) return bad;
  return store::SearchCursor{static_cast<Nanos>(start->value), *id};
}

Result<store::TraceQuery> ParseTraceQuery(const Params& params, Nanos now) {
  store::TraceQuery query;
  query.service = params.Get("service");
  query.operation = params.Get("operation");
  for (const std::string& text : params.All("attr")) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return BadInput("--attr: \"" + text + "\" is not KEY=VALUE",
                      "as in --attr http.response.status_code=500");
    }
    query.attributes.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  WF_ASSIGN(query.min_duration_ns, params.Duration("min_duration"));
  WF_ASSIGN(query.max_duration_ns, params.Duration("max_duration"));
  const auto status = params.Get("status");
  if (status == "error") query.status = SpanStatus::kError;
  if (status == "ok") query.status = SpanStatus::kOk;
  if (status == "unset") query.status = SpanStatus::kUnset;
  WF_ASSIGN(const auto since, params.Instant("since", now));
  WF_ASSIGN(const auto until, params.Instant("until", now));
  if (since) query.time.from = *since;
  if (until) query.time.until = *until;
  if (since && until && *since > *until) {
    return BadInput("--since is after --until", "swap them, or leave one out");
  }
  WF_ASSIGN(const auto limit, params.Integer("limit"));
  if (limit) query.limit = static_cast<size_t>(*limit);
  if (const auto cursor = params.Get("cursor")) {
    WF_ASSIGN(query.cursor, ParseCursor(*cursor));
  }
  return query;
}

namespace {

// "2026-11-15 10:58:10.250": UTC, to the millisecond; the JSON has it all.
std::string StartText(Nanos start) {
  std::string text = FormatInstant(start).substr(0, 23);
  text[10] = ' ';
  return text;
}

std::string TracesText(const store::SearchPage& page) {
  if (page.traces.empty()) return "no trace matches; wherefore status shows what the store holds\n";
  TextTable table({"started", "duration", "spans", "errors", "request", "trace"}, {1, 2, 3});
  for (const store::TraceSummary& t : page.traces) {
    table.Row({StartText(t.start_ns), FormatDuration(t.duration_ns), std::to_string(t.spans),
               t.errors != 0 ? std::to_string(t.errors) : "",
               t.service + " " + t.name + (t.complete ? "" : " (incomplete)"), ToHex(t.trace_id)});
  }
  std::string out = table.Print(TextWidth(), 4);
  if (page.next) out += "next page: --cursor " + FormatCursor(*page.next) + "\n";
  return out;
}

}  // namespace

Result<Answer> AnswerTraces(const AnswerContext& context, const Question& question) {
  WF_ASSIGN(const store::TraceQuery query, ParseTraceQuery(question.params, context.now));
  WF_ASSIGN(const store::SearchPage page, context.store.Search(context.tenant, query));
  if (WantsText(question)) return TextAnswer(TracesText(page));
  JsonWriter json;
  json.BeginObject().Key("traces").BeginArray();
  for (const store::TraceSummary& t : page.traces) {
    json.BeginObject()
        .Field("trace_id", ToHex(t.trace_id))
        .Field("service", t.service)
        .Field("name", t.name)
        .Field("start_ns", t.start_ns)
        .Field("duration_ns", t.duration_ns)
        .Field("spans", t.spans)
        .Field("errors", t.errors)
        .Field("complete", t.complete)
        .EndObject();
  }
  json.EndArray().Key("next");
  if (page.next) {
    json.String(FormatCursor(*page.next));
  } else {
    json.Null();
  }
  json.EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf::answer
