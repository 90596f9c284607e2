#include "cli/query_live.h"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <optional>

#include "answer/frame/text_table.h"
#include "cli/client_settings.h"
#include "cli/event_stream.h"
#include "cli/interrupt.h"
#include "cli/live_end.h"
#include "cli/live_output.h"
#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::cli {

Result<PackLimit> ParsePackLimit(const std::string& text) {
  PackLimit limit;
  if (text.empty()) return limit;
  const auto number = [&](std::string_view part, int64_t& out) {
    const auto read = std::from_chars(part.data(), part.data() + part.size(), out);
    return read.ec == std::errc() && read.ptr == part.data() + part.size() && out > 0;
  };
  const size_t colon = text.find(':');
  const std::string_view all = text;
  if (!number(all.substr(0, colon), limit.tuples) ||
      (colon != std::string::npos && !number(all.substr(colon + 1), limit.bytes)))
    return BadInput("--max-packed: \"" + text + "\" is not TUPLES or TUPLES:BYTES",
                    "as in --max-packed 256:3000");
  return limit;
}

namespace {

Result<std::string> SpecJson(const std::string& text, const LiveQueryFlags& flags) {
  WF_ASSIGN(const Nanos interval, PositiveDuration("--interval", flags.interval));
  if (interval % kMilli != 0)
    return BadInput("--interval " + flags.interval + ": not whole milliseconds", "as in 500ms");
  WF_ASSIGN(const PackLimit limit, ParsePackLimit(flags.max_packed));
  JsonWriter json;
  json.BeginObject().Field("query", text).Field("name", flags.name);
  json.Field("standing", flags.standing).Field("total", flags.total || !flags.count_first.empty());
  if (!flags.count_first.empty()) json.Field("count", true);
  json.Field("interval_ms", interval / kMilli);
  json.Field("max_tuples", limit.tuples).Field("max_bytes", limit.bytes);
  if (!flags.dataset.empty()) json.Field("dataset", flags.dataset);
  json.EndObject();
  return json.Take();
}

Status List(StoreAccess& server, const CommonFlags& common) {
  WF_ASSIGN(const answer::Answer answer, server.Fetch("GET", "/api/v1/queries", {}));
  if (common.format == "json") return Print(answer.body);
  JsonParser parser;
  WF_ASSIGN(const JsonValue json, parser.Parse(answer.body));
  if (json.Get("queries").size() == 0) return Print("no query is running\n");
  answer::TextTable table(
      {"id", "name", "since", "every", "hits", "tuples", "bytes", "advice", "query"},
      {3, 4, 5, 6, 7});
  for (const JsonValue one : json.Get("queries").Elements()) {
    const JsonValue cost = one.Get("cost");
    const auto number = [&](const char* key) { return cost.Get(key).Int().value_or(0); };
    std::string name = answer::Printable(one.Get("name").String());
    if (!one.Get("standing").Bool()) name += name.empty() ? "(ends with its client)" : " (…)";
    if (one.Get("plan").String() == "emit") name += name.empty() ? "emit plan" : ", emit plan";
    table.Row({std::string(one.Get("id").String()), name,
               FormatInstant(one.Get("since_ns").Int().value_or(0)).substr(0, 19) + "Z",
               FormatDuration(one.Get("interval_ms").Int().value_or(0) * kMilli),
               std::to_string(number("hits")), std::to_string(number("tuples")),
               std::to_string(number("bytes")), FormatDuration(number("advice_ns")),
               answer::Printable(one.Get("query").String())});
  }
  return Print(table.Print(140, 8));
}

Status Remove(StoreAccess& server, const std::string& id, const CommonFlags& common) {
  WF_ASSIGN(const answer::Answer answer,
            server.Fetch("DELETE", "/api/v1/queries/" + PercentEncode(id), {}));
  return Print(common.format == "json" ? answer.body : "removed " + id + "\n");
}

// What the counting form counted: {"requests","tuples","bytes",…}, one row.
Status PrintCount(std::string_view total, const CommonFlags& common) {
  if (common.format == "json") return Print(std::string(total) + "\n");
  return LiveOutput(LiveForm::kTables).Total(total);
}

// One query, from its start to its end.
class LiveRun {
 public:
  LiveRun(StoreAccess& server, const LiveQueryFlags& flags, const CommonFlags& common)
      : server_(server), flags_(flags), common_(common), output_(LiveFormOf(common.format)) {}

  Status Run(const std::string& spec, std::optional<Nanos> end_after);

 private:
  bool Take(std::string_view piece);
  bool TakeEvent(std::string_view name, std::string_view data);
  void Remove();

  StoreAccess& server_;
  const LiveQueryFlags& flags_;
  const CommonFlags& common_;
  LiveOutput output_;
  EventStreamReader reader_{
      [this](std::string_view name, std::string_view data) { return TakeEvent(name, data); }};
  std::string id_;
  std::optional<Nanos> end_at_;  // monotonic
  Nanos give_up_at_ = INT64_MAX;
  bool removed_ = false, ended_ = false, foreign_end_ = false;
  Status failed_;
};

void LiveRun::Remove() {
  if (std::exchange(removed_, true)) return;
  give_up_at_ = MonotonicNow() + kMinute;
  if (const auto gone = server_.Fetch("DELETE", "/api/v1/queries/" + id_, {});
      !gone.ok() && !ended_)
    failed_ = gone.error();
}

bool LiveRun::TakeEvent(std::string_view name, std::string_view data) {
  if (name == "interval" && !flags_.total && flags_.count_first.empty())
    failed_ = output_.Interval(data);
  if (name == "total")
    failed_ = flags_.count_first.empty() ? output_.Total(data) : PrintCount(data, common_);
  if (name == "note") {
    JsonParser parser;
    if (const auto note = parser.Parse(data); note.ok())
      std::fprintf(stderr, "wherefore: %s\n",
                   answer::Printable(note->Get("text").String()).c_str());
  }
  if (name == "end") {
    ended_ = true;
    foreign_end_ = !removed_;
  }
  return failed_.ok() && !ended_;
}

bool LiveRun::Take(std::string_view piece) {
  if (!piece.empty() && !reader_.Feed(piece)) return false;
  const Nanos now = MonotonicNow();
  if (Interrupted() || (end_at_ && now >= *end_at_)) Remove();
  return failed_.ok() && now < give_up_at_;
}

Status LiveRun::Run(const std::string& spec, std::optional<Nanos> end_after) {
  WF_ASSIGN(const answer::Answer started, server_.Fetch("POST", "/api/v1/queries", spec));
  JsonParser parser;
  WF_ASSIGN(const JsonValue query, parser.Parse(started.body));
  id_ = query.Get("id").String();
  if (common_.format != "json") {
    const JsonValue known = query.Get("processes").Get("known");
    std::fprintf(stderr, "query %s runs on %lld processes and agents; Ctrl-C removes it\n",
                 id_.c_str(), static_cast<long long>(known.Int().value_or(0)));
  }
  net::HttpClientOptions options = server_.ClientOptions();
  options.accept_gzip = false;
  net::HttpClient client(server_.url(), options);
  net::HttpClient::Headers headers = TheClientSettings().Headers(server_.token());
  headers.emplace_back("Accept", "text/event-stream");
  if (end_after) end_at_ = MonotonicNow() + *end_after;
  const auto answer = client.Stream("/api/v1/queries/" + id_ + "/stream", headers, 20 * kMilli,
                                    [this](std::string_view piece) { return Take(piece); });
  if (!failed_.ok()) {
    const Status why = failed_;
    Remove();
    return why;
  }
  if (!answer.ok())
    return EnvironmentError("query " + id_ + ": " + answer.error().message,
                            "the server is gone; its probes remove themselves");
  if (answer->status != 200) return ServerError(answer->status, answer->body);
  if (foreign_end_ && !Interrupted())
    return NotFound("query " + id_ + ": ended by another client, or the server stopped");
  return {};
}

}  // namespace

void AddLiveQueryFlags(CLI::App& app, LiveQueryFlags& flags) {
  AddLiveServerFlags(app, flags.server);
  app.add_option("--interval", flags.interval, "live: time between results")->capture_default_str();
  app.add_option("--for", flags.for_, "live: stop after this time, as in 10s (default: at Ctrl-C)");
  app.add_flag("--total", flags.total, "live: one result at the end, over all intervals");
  app.add_option(
      "--count-first", flags.count_first,
      "live: instead of running, count for this long what requests would carry, as in 10s");
  app.add_option("--max-packed", flags.max_packed,
                 "live: max TUPLES[:BYTES] a request carries for the query (256:3000)");
  app.add_option("--name", flags.name, "live: name of the query");
  app.add_flag("--standing", flags.standing,
               "live: keep it running on the server until removed; prints its id");
  app.add_option("--dataset", flags.dataset, "live: also append the rows to this dataset");
  app.add_flag("--list", flags.list, "live: list running queries and their cost");
  app.add_option("--remove", flags.remove, "live: remove the query with this id or name");
}

Status RunLiveQuery(const std::string& text, const LiveQueryFlags& flags,
                    const CommonFlags& common) {
  if (flags.list || !flags.remove.empty()) {
    if (!text.empty() || (flags.list && !flags.remove.empty()))
      return BadInput("query: --list and --remove take no query", "leave the query out");
    WF_ASSIGN(const auto server, OpenLiveServer(flags.server, common.store));
    return flags.list ? List(*server, common) : Remove(*server, flags.remove, common);
  }
  if (text.empty())
    return BadInput("query: no query given",
                    "as in wherefore query 'From x In tracepoint Select x.host, COUNT'");
  if (flags.standing && (!flags.for_.empty() || flags.total || !flags.count_first.empty()))
    return BadInput(
        "query: --standing does not end, so --for, --total and --count-first do not apply",
        "leave one of them out");
  if (!flags.count_first.empty() && (!flags.for_.empty() || flags.total))
    return BadInput("query: --count-first sets the time itself and prints one result",
                    "leave --for and --total out");
  std::optional<Nanos> end_after;
  if (!flags.for_.empty()) {
    WF_ASSIGN(end_after, PositiveDuration("--for", flags.for_));
  } else if (!flags.count_first.empty()) {
    WF_ASSIGN(end_after, PositiveDuration("--count-first", flags.count_first));
  }
  WF_ASSIGN(const std::string spec, SpecJson(text, flags));
  WF_ASSIGN(const auto server, OpenLiveServer(flags.server, common.store));
  if (flags.standing) {
    WF_ASSIGN(const answer::Answer answer, server->Fetch("POST", "/api/v1/queries", spec));
    if (common.format == "json") return Print(answer.body);
    JsonParser parser;
    WF_ASSIGN(const JsonValue query, parser.Parse(answer.body));
    return Print(std::string(query.Get("id").String()) + "\n");
  }
  EndOnInterrupt();
  return LiveRun(*server, flags, common).Run(spec, end_after);
}

}  // namespace wf::cli
