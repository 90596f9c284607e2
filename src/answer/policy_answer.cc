#include "answer/policy_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer/frame/text_table.h"
#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

constexpr std::string_view kKeys[] = {"policy",  "owner",  "probability", "rate",      "where",
                                      "reached", "detail", "lifetime",    "expires_ns"};
constexpr char kKind[] = "policy";  // of the store's documents
constexpr char kHint[] =
    "a policy has owner, probability (0 to 1) or rate (traces per second), and may have where, "
    "reached, detail (0 to "
    "3), lifetime";

Error Bad(const std::string& name, const std::string& why) {
  return BadInput("policy \"" + name + "\": " + why, kHint);
}

bool GoodName(std::string_view name) {
  return !name.empty() && name.size() <= 100 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsScalar(JsonValue value) { return value.IsString() || value.IsNumber() || value.IsBool(); }

void PutScalar(JsonValue value, JsonWriter& json) {
  if (value.IsString()) {
    json.String(value.String());
  } else if (value.IsBool()) {
    json.Bool(value.Bool());
  } else if (const auto integer = value.Int()) {
    json.Int(*integer);
  } else {
    json.Double(value.Number().value_or(0));
  }
}

Status PutWhere(const std::string& name, JsonValue where, JsonWriter& json) {
  if (!where.IsObject()) return Bad(name, "where is not an object of property: value");
  json.Key("where").BeginObject();
  for (const auto& [property, wanted] : where.Members()) {
    json.Key(property);
    if (IsScalar(wanted)) {
      PutScalar(wanted, json);
    } else if (wanted.IsArray() && wanted.size() != 0) {
      json.BeginArray();
      for (const JsonValue value : wanted.Elements()) {
        if (!IsScalar(value)) {
          return Bad(name, fmt::format("where: a value of \"{}\" is neither text, number nor bool",
                                       property));
        }
        PutScalar(value, json);
      }
      json.EndArray();
    } else {
      return Bad(name, fmt::format("where: \"{}\" needs a value, or a list of values", property));
    }
  }
  json.EndObject();
  return {};
}

// The strategy: one of the two.
Status PutStrategy(const std::string& name, JsonValue policy, JsonWriter& json) {
  const JsonValue probability = policy.Get("probability"), rate = policy.Get("rate");
  if (probability.missing() == rate.missing()) return Bad(name, "needs either probability or rate");
  const auto number = (rate.missing() ? probability : rate).Number();
  if (!probability.missing()) {
    if (!number || *number < 0 || *number > 1)
      return Bad(name, "probability is not between 0 and 1");
    json.Key("probability").Double(*number);
  } else {
    if (!number || *number <= 0 || *number > 1e6) {
      return Bad(name, "rate is not a number of traces per second between 0 and 1,000,000");
    }
    json.Key("rate").Double(*number);
  }
  return {};
}

Status PutLifetime(const std::string& name, JsonValue policy, Nanos now, JsonWriter& json) {
  const JsonValue lifetime = policy.Get("lifetime"), expires = policy.Get("expires_ns");
  if (!lifetime.missing()) {
    const auto duration = ParseDuration(lifetime.String());
    if (!duration.ok()) return Bad(name, "lifetime: " + duration.error().message);
    if (*duration <= 0) return Bad(name, "lifetime is not positive");
    json.Field("expires_ns", SaturatingAdd(now, *duration));
  } else if (!expires.missing()) {
    const auto at = expires.Int();
    if (!at) return Bad(name, "expires_ns is not Unix ns");
    json.Field("expires_ns", *at);
  }
  return {};
}

Result<std::string> Checked(const AnswerContext& context, const std::string& name,
                            JsonValue policy) {
  if (!policy.IsObject()) return Bad(name, "is not an object");
  for (const auto& [key, value] : policy.Members()) {
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
      return Bad(name, fmt::format("\"{}\" is not a key of a policy", key));
    }
  }
  if (const JsonValue own = policy.Get("policy"); !own.missing() && own.String() != name) {
    return Bad(name, fmt::format("the definition names it \"{}\"", own.String()));
  }
  const std::string_view owner = policy.Get("owner").String();
  if (owner.empty() || owner.find(',') != std::string_view::npos) {
    return Bad(name, "owner is missing, or has a comma in it");
  }
  JsonWriter json;
  json.BeginObject().Field("policy", name).Field("owner", owner);
  WF_TRY(PutStrategy(name, policy, json));
  if (const JsonValue where = policy.Get("where"); !where.missing() && !where.IsNull()) {
    WF_TRY(PutWhere(name, where, json));
  }
  if (const JsonValue reached = policy.Get("reached"); !reached.missing()) {
    if (reached.String().empty()) return Bad(name, "reached is not the name of a path");
    json.Field("reached", reached.String());
  }
  int64_t level = 1;
  if (const JsonValue detail = policy.Get("detail"); !detail.missing()) {
    const auto number = detail.Int();
    if (!number || *number < 0 || *number > 3) return Bad(name, "detail is not 0, 1, 2 or 3");
    level = *number;
  }
  json.Field("detail", level);
  WF_TRY(PutLifetime(name, policy, context.now, json));
  json.EndObject();
  return json.Take();
}

bool Ended(JsonValue policy, Nanos now) {
  const auto at = policy.Get("expires_ns").Int();
  return at && *at <= now;
}

std::string StrategyText(JsonValue policy) {
  if (const auto probability = policy.Get("probability").Number()) {
    return fmt::format("{:g} of requests", *probability);
  }
  return fmt::format("{:g} a second", policy.Get("rate").Number().value_or(0));
}

std::string RestraintText(JsonValue policy) {
  std::string text;
  if (const auto reached = policy.Get("reached").String(); !reached.empty()) {
    text = fmt::format("reached {}", reached);
  }
  for (const auto& [property, wanted] : policy.Get("where").Members()) {
    std::string values;
    const auto add = [&](JsonValue value) {
      JsonWriter json;
      PutScalar(value, json);
      values += (values.empty() ? "" : "|") +
                (value.IsString() ? std::string(value.String()) : json.Take());
    };
    if (wanted.IsArray()) {
      for (const JsonValue value : wanted.Elements()) add(value);
    } else {
      add(wanted);
    }
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", property, values);
  }
  return text;
}

}  // namespace

Result<std::string> ReadPolicies(const AnswerContext& context) {
  WF_ASSIGN(const auto documents, context.store.ReadDocuments(context.tenant, kKind));
  std::string array = "[";
  JsonParser parser;
  for (const store::Document& document : documents) {
    const auto policy = parser.Parse(document.text);
    if (!policy.ok() || Ended(*policy, context.now)) continue;
    array += (array.size() == 1 ? "" : ",") + document.text;
  }
  return array + "]";
}

Result<Answer> AnswerPolicies(const AnswerContext& context, const Question& question) {
  WF_ASSIGN(const std::string array, ReadPolicies(context));
  if (!WantsText(question)) return JsonAnswer("{\"policies\":" + array + "}");
  JsonParser parser;
  WF_ASSIGN(const JsonValue policies, parser.Parse(array));
  if (policies.size() == 0) return TextAnswer("no policies; token buckets decide alone");
  TextTable table({"policy", "owner", "takes", "of", "detail", "ends in"}, {4});
  for (const JsonValue policy : policies.Elements()) {
    const auto ends = policy.Get("expires_ns").Int();
    table.Row({Printable(policy.Get("policy").String()), Printable(policy.Get("owner").String()),
               StrategyText(policy), Printable(RestraintText(policy)),
               std::to_string(policy.Get("detail").Int().value_or(1)),
               ends ? FormatDuration(SaturatingSub(*ends, context.now)) : "never"});
  }
  return TextAnswer(table.Print(TextWidth(), 3));
}

Result<Answer> PutPolicy(const AnswerContext& context, const std::string& name,
                         std::string_view json) {
  if (!GoodName(name)) {
    return BadInput("policy \"" + name.substr(0, 100) + "\": not a valid name",
                    "up to 100 letters, digits, '-', '_' and '.'");
  }
  JsonParser parser;
  const auto policy = parser.Parse(json);
  if (!policy.ok()) return Bad(name, policy.error().message);
  WF_ASSIGN(std::string checked, Checked(context, name, *policy));
  WF_TRY(context.store.PutDocument(context.tenant, kKind, name, checked));
  return JsonAnswer(std::move(checked));
}

Result<Answer> DeletePolicy(const AnswerContext& context, const std::string& name) {
  if (const Status gone = context.store.DeleteDocument(context.tenant, kKind, name); !gone.ok()) {
    if (gone.error().code != ErrorCode::kNotFound) return gone.error();
    return NotFound("policy \"" + name + "\": no such name", "wherefore policy list shows them");
  }
  JsonWriter json;
  json.BeginObject().Field("deleted", name).EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf::answer
