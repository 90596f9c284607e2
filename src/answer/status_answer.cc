#include "answer/status_answer.h"

#include <fmt/format.h>

#include "answer/frame/text_table.h"
#include "answer/frame/version.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

std::string StatusText(const AnswerContext& context, const store::StoreStatus& s,
                       const ServerFacts& facts) {
  std::string out = fmt::format("wherefore {}\n\nstore      {}\n", kVersion, context.store_path);
  out += fmt::format("spans      {} in {}\n", s.spans,
                     CountOf(static_cast<uint64_t>(s.traces), "trace"));
  if (s.events != s.spans) out += fmt::format("events     {}\n", s.events);
  if (s.messages != 0) out += fmt::format("messages   {}\n", s.messages);
  if (s.attachments != 0) out += fmt::format("attached   {}\n", s.attachments);
  if (s.dataset_rows != 0)
    out += fmt::format("datasets   {}, {:.1f} MB\n",
                       CountOf(static_cast<uint64_t>(s.dataset_rows), "row"),
                       static_cast<double>(s.dataset_bytes) / 1e6);
  if (s.spans != 0) {
    out += fmt::format("from       {}\nto         {}\n", FormatInstant(s.oldest_ns),
                       FormatInstant(s.newest_ns));
  }
  out += fmt::format("disk       {:.1f} MB\nin memory  {} rows, logged\n",
                     static_cast<double>(s.disk_bytes) / 1e6, s.pending_rows);
  if (!facts.role.empty()) out += fmt::format("role       {}\n", facts.role);
  if (facts.started_ns != 0)
    out += fmt::format("up for     {}\n", FormatDuration(context.now - facts.started_ns));
  for (const auto& [name, address] : facts.listeners)
    out += fmt::format("{:<10} {}\n", name, address);
  if (facts.started_ns != 0) out += pipeline::TailerText(facts.tailer);
  bool first = true;
  for (const auto& counters : {s.counters, facts.counters}) {
    for (const auto& [name, value] : counters) {
      if (value == 0) continue;
      if (first) out += "\n";
      first = false;
      out += fmt::format("{:<40} {}\n", name, value);
    }
  }
  return out;
}

}  // namespace

Result<Answer> AnswerStatus(const AnswerContext& context, const Question& question) {
  WF_ASSIGN(const store::StoreStatus s, context.store.ReadStatus(context.tenant));
  const ServerFacts facts = context.facts ? context.facts() : ServerFacts{};
  if (WantsText(question)) return TextAnswer(StatusText(context, s, facts));
  JsonWriter json;
  json.BeginObject().Field("version", kVersion);
  json.Field("uptime_ns", facts.started_ns == 0 ? int64_t{0} : context.now - facts.started_ns);
  json.Key("store").BeginObject();
  json.Field("path", context.store_path)
      .Field("spans", s.spans)
      .Field("events", s.events)
      .Field("traces", s.traces)
      .Field("disk_bytes", s.disk_bytes)
      .Field("pending_rows", s.pending_rows)
      .Field("messages", s.messages)
      .Field("attachments", s.attachments)
      .Field("dataset_rows", s.dataset_rows)
      .Field("dataset_bytes", s.dataset_bytes)
      .Field("oldest_ns", s.oldest_ns)
      .Field("newest_ns", s.newest_ns)
      .EndObject();
  json.Key("counters").BeginObject();
  std::map<std::string, int64_t> counters = s.counters;
  counters.insert(facts.counters.begin(), facts.counters.end());
  for (const auto& [name, value] : counters) json.Field(name, value);
  json.EndObject();
  json.Key("listeners").BeginArray();
  for (const auto& [name, address] : facts.listeners) {
    json.BeginObject().Field("name", name).Field("address", address).EndObject();
  }
  json.EndArray();
  json.Key("retention").BeginObject();
  const auto number_or_null = [&](std::string_view key, const std::optional<int64_t>& value) {
    json.Key(key);
    value ? json.Int(*value) : json.Null();
  };
  number_or_null("age_ns", facts.retention_age_ns);
  number_or_null("bytes", facts.retention_bytes);
  json.EndObject();
  pipeline::WriteTailerJson(facts.tailer, json.Key("tailer"));
  json.Key("role");
  facts.role.empty() ? json.Null() : json.String(facts.role);
  json.EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf::answer
