#include "lang/query/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "advice/packed_tuples.h"
#include "json/json_writer.h"
#include "lang/query/advice_text.h"
#include "lang/query/rewrite.h"

namespace wf::query {
namespace {

// Different from tuple to tuple, as the columns of different groups are.
void AddExample(const advice::Slot& slot, size_t number, advice::Rows& rows) {
  for (uint32_t i = 0; i < slot.columns; ++i)
    rows.AddColumn(advice::Value(fmt::format("{:016}", number * 100 + i)));
  for (const advice::Aggregate& aggregate : slot.aggregates) {
    advice::AggregateState state(aggregate.kind);
    state.Add(advice::Value(int64_t{123456}), 1);
    rows.AddState(std::move(state));
  }
  rows.EndRow(1);
}

size_t EncodedSize(const advice::Slot& slot, size_t tuples) {
  advice::PackedTuples packed(slot);
  for (size_t i = 0; i < tuples; ++i) {
    advice::Rows rows(slot.columns, slot.aggregates.size());
    AddExample(slot, i, rows);
    if (slot.keep == advice::Keep::kAll)
      packed.Add(slot, rows);
    else
      packed.AddEvent(slot, static_cast<int64_t>(1'700'000'000'000'000'000 + i),
                      fmt::format("{:08}", i), rows);
  }
  std::string bytes;
  packed.Encode(slot, bytes);
  return bytes.size();
}

void WritePlan(const ExplainedPlan& plan, JsonWriter& json) {
  json.BeginObject().Key("advice").BeginArray();
  for (const ExplainedAdvice& advice : plan.advice) {
    json.BeginObject().Field("name", advice.name).Field("alias", advice.alias);
    json.Key("at").BeginArray();
    for (const std::string& tracepoint : advice.tracepoints) json.String(tracepoint);
    json.EndArray().Key("steps").BeginArray();
    for (const std::string& step : advice.steps) json.String(step);
    json.EndArray().EndObject();
  }
  json.EndArray().Key("baggage").BeginObject();
  bool bounded = true;
  for (const ExplainedSlot& slot : plan.slots) bounded = bounded && slot.bounded;
  json.Field("tuples", uint64_t{plan.tuples})
      .Field("bytes", uint64_t{plan.bytes})
      .Field("bounded", bounded)
      .Key("slots")
      .BeginArray();
  for (const ExplainedSlot& slot : plan.slots) {
    json.BeginObject()
        .Field("advice", slot.advice)
        .Field("tuples", uint64_t{slot.tuples})
        .Field("bounded", slot.bounded)
        .Field("bytes", uint64_t{slot.bytes})
        .Field("bytes_per_tuple", uint64_t{slot.bytes_per_tuple})
        .EndObject();
  }
  json.EndArray().EndObject().EndObject();
}

void WritePlan(const ExplainedPlan& plan, std::string& out) {
  for (const ExplainedAdvice& advice : plan.advice)
    out += fmt::format("{} at {}: {}\n", advice.name, fmt::join(advice.tracepoints, ", "),
                       fmt::join(advice.steps, "; "));
  if (plan.slots.empty()) {
    out += "baggage: none\n";
    return;
  }
  out += fmt::format("baggage: about {} bytes a request ({} tuple{}", plan.bytes, plan.tuples,
                     plan.tuples == 1 ? "" : "s");
  for (const ExplainedSlot& slot : plan.slots)
    if (!slot.bounded)
      out += fmt::format("; each further one of {} about {}", slot.advice, slot.bytes_per_tuple);
  out += ")\n";
}

}  // namespace

ExplainedPlan ExplainPlan(const Compiled& compiled) {
  ExplainedPlan plan;
  const auto texts = AdviceText(compiled);
  for (size_t i = 0; i < compiled.program.advice.size(); ++i) {
    const advice::Advice& advice = compiled.program.advice[i];
    plan.advice.push_back(
        {fmt::format("A{}", i + 1), compiled.aliases[i], advice.tracepoints, texts[i]});
    const auto* pack = std::get_if<advice::Pack>(&advice.steps.back());
    if (pack == nullptr) continue;
    const advice::Slot& slot = compiled.program.slots[pack->slot];
    ExplainedSlot one;
    one.advice = plan.advice.back().name;
    one.bounded = slot.keep != advice::Keep::kAll || slot.columns == 0;
    // A large limit is what a request may carry, not what it usually does; the estimate stays readable.
    constexpr uint32_t kMostEstimated = 256;
    if (slot.keep != advice::Keep::kAll) one.tuples = std::min(slot.limit, kMostEstimated);
    one.bytes = EncodedSize(slot, one.tuples);
    one.bytes_per_tuple = EncodedSize(slot, one.tuples + 1) - one.bytes;
    plan.tuples += one.tuples;
    plan.bytes += one.bytes + kSlotFrameBytes + (plan.slots.empty() ? kBaggageFrameBytes : 0);
    plan.slots.push_back(std::move(one));
  }
  return plan;
}

Result<Explanation> Explain(const Query& query) {
  WF_ASSIGN(const Compiled plain, Compile(query));
  WF_ASSIGN(const Compiled rewritten, Rewrite(query));
  Explanation explanation{ExplainPlan(plain), ExplainPlan(rewritten), {}};
  if (!explanation.after.slots.empty()) {
    explanation.notes.emplace_back(
        "an unlinked process cannot send tuples off the host: without libwherefore it passes them "
        "on "
        "to processes of its own host only");
    explanation.notes.emplace_back(
        "what a compiled-in tracepoint packs, a woven one does not find, because the kernel does "
        "not "
        "see baggage: compile both in, or weave both");
    explanation.notes.emplace_back(
        "past --max-packed a query goes over to the emit plan if its From tracepoint is compiled "
        "in; "
        "what the kernel emits is the weaver's");
  }
  return explanation;
}

std::string ExplanationText(const Explanation& explanation) {
  std::string out = "before rewriting\n";
  WritePlan(explanation.before, out);
  out += "\nafter rewriting\n";
  WritePlan(explanation.after, out);
  for (const std::string& note : explanation.notes) out += "note: " + note + "\n";
  return out;
}

std::string ExplanationJson(const Explanation& explanation) {
  JsonWriter json;
  json.BeginObject().Key("before");
  WritePlan(explanation.before, json);
  json.Key("after");
  WritePlan(explanation.after, json);
  json.Key("notes").BeginArray();
  for (const std::string& note : explanation.notes) json.String(note);
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace wf::query
