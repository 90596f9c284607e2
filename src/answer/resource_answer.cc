// `resource`: everything that ran on a resource during [since, until): who else was there while a request waited.
#include <fmt/format.h>

#include "answer/answer.h"
#include "answer/text_table.h"
#include "json/json_writer.h"

namespace wf {
namespace {

struct KeyName {
  std::string_view param;
  ResourceKey key;
};
constexpr KeyName kKeyNames[] = {
    {"host", ResourceKey::kHost},
    {"instance", ResourceKey::kInstance},
    {"pid", ResourceKey::kPid},
    {"thread", ResourceKey::kThread},
    {"partition", ResourceKey::kPartition},
    {"pool", ResourceKey::kPool},
    {"resource", ResourceKey::kResource},
};

}  // namespace

Result<Answer> AnswerResource(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  WF_TRY(params.Check({"host", "instance", "pid", "thread", "partition", "pool", "resource",
                       "since", "until", "format"}));
  ResourceQuery query;
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
  WF_ASSIGN(const EventBatch rows, context.store.OnResource(context.tenant, query));
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
    return TextAnswer(table.Print(100, 2));
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
  json.EndArray().EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf
