// `resource`: everything that ran on a resource during [since, until): who else was there while a request waited.
#include "answer/trace/resource_answer.h"

#include <fmt/format.h>

#include "answer/frame/text_table.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

struct KeyName {
  std::string_view param;
  store::ResourceKey key;
};
constexpr KeyName kKeyNames[] = {
    {"host", store::ResourceKey::kHost},
    {"instance", store::ResourceKey::kInstance},
    {"pid", store::ResourceKey::kPid},
    {"thread", store::ResourceKey::kThread},
    {"partition", store::ResourceKey::kPartition},
    {"pool", store::ResourceKey::kPool},
    {"resource", store::ResourceKey::kResource},
};

std::string FormatResourceCursor(const store::ResourceCursor& c) {
  return ToHex64(static_cast<uint64_t>(c.start_ns)) + ToHex(c.trace_id) + ToHex64(c.id1) +
         ToHex64(c.content.hi) + ToHex64(c.content.lo);
}

Result<store::ResourceCursor> ParseResourceCursor(std::string_view text) {
  const Error bad =
      BadInput("--cursor: \"" + std::string(text.substr(0, 128)) + "\" is not a cursor",
               "pass \"next\" of the previous answer unchanged");
  if (text.size() != 96) return bad;
  uint64_t words[6];
  for (size_t i = 0; i < 6; ++i) {
    const auto word = ParseSpanId(text.substr(i * 16, 16));
    if (!word.ok()) return bad;
    words[i] = word->value;
  }
  return store::ResourceCursor{
      static_cast<Nanos>(words[0]), {words[1], words[2]}, words[3], {words[4], words[5]}};
}

}  // namespace

Result<Answer> AnswerResource(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  store::ResourceQuery query;
  for (const KeyName& name : kKeyNames) {
    if (const auto value = params.Get(name.param)) query.keys.emplace_back(name.key, *value);
  }
  if (query.keys.empty()) {
    return BadInput(
        "no resource given",
        "name one: --host, --instance, --pid, --thread, --partition, --pool, --resource");
  }
  WF_ASSIGN(const auto since, params.Instant("since", context.now));
  WF_ASSIGN(const auto until, params.Instant("until", context.now));
  if (since) query.time.from = *since;
  if (until) query.time.until = *until;
  WF_ASSIGN(const auto limit, params.Integer("limit"));
  if (limit) query.limit = static_cast<size_t>(*limit);
  if (const auto cursor = params.Get("cursor")) {
    WF_ASSIGN(query.cursor, ParseResourceCursor(*cursor));
  }
  WF_ASSIGN(const store::ResourcePage page, context.store.OnResource(context.tenant, query));
  const EventBatch& rows = page.rows;
  if (WantsText(question)) {
    if (rows.empty()) return TextAnswer("nothing ran there in that time\n");
    TextTable table({"start", "duration", "work", "trace"}, {1});
    for (size_t i = 0; i < rows.size(); ++i) {
      table.Row({FormatInstant(rows.start_ns[i]),
                 FormatDuration(SaturatingSub(rows.end_ns[i], rows.start_ns[i])),
                 fmt::format("{} {}", rows.str(rows.processes[rows.process[i]].service),
                             rows.str(rows.name[i])),
                 ToHex(rows.trace_id(i))});
    }
    std::string text = table.Print(TextWidth(), 2);
    if (page.next) text += "next page: --cursor " + FormatResourceCursor(*page.next) + "\n";
    return TextAnswer(std::move(text));
  }
  JsonWriter json;
  json.BeginObject().Key("spans").BeginArray();
  for (size_t i = 0; i < rows.size(); ++i) {
    json.BeginObject()
        .Field("trace_id", ToHex(rows.trace_id(i)))
        .Field("span_id", ToHex64(rows.id1[i]))
        .Field("service", rows.str(rows.processes[rows.process[i]].service))
        .Field("name", rows.str(rows.name[i]))
        .Field("start_ns", rows.start_ns[i])
        .Field("end_ns", rows.end_ns[i])
        .EndObject();
  }
  json.EndArray().Key("next");
  if (page.next) {
    json.String(FormatResourceCursor(*page.next));
  } else {
    json.Null();
  }
  json.EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf::answer
