#include "answer/completion_answer.h"

#include "answer/frame/text_table.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

constexpr std::string_view kKindNames[] = {"unspecified", "internal", "server",
                                           "client",      "producer", "consumer"};

Answer List(const Question& question, std::string_view key,
            const std::vector<std::string>& values) {
  if (WantsText(question)) {
    std::string out;
    for (const std::string& value : values) out += Printable(value) + "\n";
    return TextAnswer(out);
  }
  JsonWriter json;
  json.BeginObject().Key(key).BeginArray();
  for (const std::string& value : values) json.String(value);
  json.EndArray().EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace

Result<Answer> AnswerServices(const AnswerContext& context, const Question& question) {
  WF_ASSIGN(const auto services, context.store.Services(context.tenant));
  return List(question, "services", services);
}

Result<Answer> AnswerOperations(const AnswerContext& context, const Question& question) {
  const auto service = question.params.Get("service");
  if (!service) return BadInput("--service is missing", "wherefore services lists them");
  WF_ASSIGN(const auto operations, context.store.Operations(context.tenant, *service));
  if (WantsText(question)) {
    std::vector<std::string> names;
    for (const auto& operation : operations) names.push_back(operation.name);
    return List(question, "operations", names);
  }
  JsonWriter json;
  json.BeginObject().Key("operations").BeginArray();
  for (const auto& operation : operations) {
    const auto kind = static_cast<size_t>(operation.kind);
    json.BeginObject()
        .Field("name", operation.name)
        .Field("kind", kKindNames[kind < 6 ? kind : 0])
        .EndObject();
  }
  json.EndArray().EndObject();
  return JsonAnswer(json.Take());
}

Result<Answer> AnswerAttributes(const AnswerContext& context, const Question& question) {
  WF_ASSIGN(const auto limit, question.params.Integer("limit"));
  const size_t most = limit ? static_cast<size_t>(*limit) : 100;
  const std::string prefix = question.params.Get("prefix").value_or("");
  if (question.argument.empty()) {
    WF_ASSIGN(const auto keys, context.store.AttributeKeys(context.tenant, prefix, most));
    return List(question, "keys", keys);
  }
  WF_ASSIGN(const auto values,
            context.store.AttributeValues(context.tenant, question.argument, prefix, most));
  return List(question, "values", values);
}

}  // namespace wf::answer
