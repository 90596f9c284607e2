#include "live/tracepoint_registry.h"

#include <fmt/format.h>

#include "answer/frame/text_table.h"
#include "json/json_writer.h"
#include "lang/common/suggestion.h"
#include "log/log.h"

namespace wf::live {
namespace {

constexpr char kTracepointKind[] = "tracepoint";  // kind of document

std::string PlaceText(const weaver::Location& location) {
  std::string text = location.library.empty() ? location.exe : location.library;
  if (!location.library.empty() && !location.exe.empty()) text += " of " + location.exe;
  text += ": ";
  text += location.function.empty() ? fmt::format("{}:{}", location.file, location.line)
                                    : location.function;
  if (location.has_signature) text += "(" + location.signature + ")";
  return text + " " + std::string(weaver::Name(location.at));
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Result<answer::Answer> TracepointsText(const std::vector<weaver::TracepointDefinition>& defined,
                                       const std::vector<CompiledTracepoint>& compiled) {
  if (defined.empty() && compiled.empty()) {
    return answer::TextAnswer(
        "no tracepoints; define some with wherefore tracepoints define FILE, or link libwherefore");
  }
  answer::TextTable table({"tracepoint", "exports", "where"}, {});
  for (const weaver::TracepointDefinition& one : defined) {
    std::vector<std::string> exports;
    for (const weaver::Export& value : one.exports) exports.push_back(value.name);
    std::string where = one.locations.empty() ? "" : PlaceText(one.locations[0]);
    if (one.locations.size() > 1) where += fmt::format(" and {} more", one.locations.size() - 1);
    table.Row({answer::Printable(one.name), answer::Printable(Joined(exports)),
               answer::Printable(where)});
  }
  for (const CompiledTracepoint& one : compiled) {
    table.Row({answer::Printable(one.name), answer::Printable(Joined(one.exports)),
               one.processes == 0 ? "compiled in; no process is running"
                                  : "compiled in; " + CountOf(static_cast<uint64_t>(one.processes),
                                                              "process", "processes")});
  }
  return answer::TextAnswer(table.Print(answer::TextWidth(), 2));
}

}  // namespace

Result<std::vector<weaver::TracepointDefinition>> ReadTracepoints(store::DocumentStore& store,
                                                                  const std::string& tenant) {
  WF_ASSIGN(const auto documents, store.ReadDocuments(tenant, kTracepointKind));
  std::vector<weaver::TracepointDefinition> all;
  for (const store::Document& document : documents) {
    auto definitions = weaver::ParseTracepointFile(document.text);
    if (!definitions.ok() || definitions->size() != 1) {
      if (log::LogOnce("tracepoint " + document.name))
        log::Warn("tracepoint {}: {}", document.name,
                  definitions.ok() ? "not one definition" : definitions.error().message);
      continue;
    }
    all.push_back(std::move(definitions->front()));
  }
  return all;
}

Result<std::string> ReadTracepointsJson(store::DocumentStore& store, const std::string& tenant) {
  WF_ASSIGN(const auto definitions, ReadTracepoints(store, tenant));
  JsonWriter json;
  json.BeginArray();
  for (const auto& definition : definitions) weaver::WriteTracepoint(definition, json);
  json.EndArray();
  return json.Take();
}

Result<answer::Answer> AnswerTracepoints(const answer::AnswerContext& context,
                                         ProcessRegistry& processes, const answer::Params& params) {
  WF_TRY(params.Check({"format"}));
  WF_TRY(params.Choice("format", {"text", "json"}));
  WF_ASSIGN(const auto defined, ReadTracepoints(context.store, context.tenant));
  WF_ASSIGN(const auto compiled, processes.Tracepoints(context.tenant));
  if (params.Get("format") == "text") return TracepointsText(defined, compiled);
  JsonWriter json;
  json.BeginObject().Key("tracepoints").BeginArray();
  for (const auto& definition : defined) weaver::WriteTracepoint(definition, json);
  json.EndArray().Key("compiled_in").BeginArray();
  for (const CompiledTracepoint& one : compiled) {
    json.BeginObject().Field("name", one.name).Key("exports").BeginArray();
    for (const std::string& name : one.exports) json.String(name);
    json.EndArray().Field("processes", one.processes).EndObject();
  }
  json.EndArray().EndObject();
  return answer::JsonAnswer(json.Take());
}

Result<answer::Answer> AnswerTracepoint(const answer::AnswerContext& context,
                                        ProcessRegistry& processes, const std::string& name) {
  WF_ASSIGN(const auto defined, ReadTracepoints(context.store, context.tenant));
  std::vector<std::string> known;
  for (const auto& definition : defined) {
    if (definition.name == name) return answer::JsonAnswer(weaver::ToJson(definition));
    known.push_back(definition.name);
  }
  WF_ASSIGN(const auto compiled, processes.Tracepoints(context.tenant));
  for (const CompiledTracepoint& one : compiled) {
    known.push_back(one.name);
    if (one.name != name) continue;
    JsonWriter json;
    json.BeginObject().Field("name", one.name).Field("compiled_in", true);
    json.Key("exports").BeginArray();
    for (const std::string& value : one.exports) json.String(value);
    json.EndArray().Field("processes", one.processes).EndObject();
    return answer::JsonAnswer(json.Take());
  }
  const std::string meant = lang::DidYouMean(name, known);
  return NotFound("tracepoint \"" + name + "\": no such name",
                  meant.empty() ? "wherefore tracepoints list shows them" : meant);
}

Result<answer::Answer> PutTracepoint(const answer::AnswerContext& context, const std::string& name,
                                     std::string_view json) {
  WF_ASSIGN(const auto definitions, weaver::ParseTracepointFile(json));
  if (definitions.size() != 1)
    return BadInput(
        fmt::format("tracepoint \"{}\": {} definitions instead of one", name, definitions.size()),
        "send each under its own name");
  if (definitions[0].name != name)
    return BadInput(
        fmt::format("tracepoint \"{}\": the definition names it \"{}\"", name, definitions[0].name),
        "use the same name in both");
  std::string text = weaver::ToJson(definitions[0]);
  WF_TRY(context.store.PutDocument(context.tenant, kTracepointKind, name, text));
  return answer::JsonAnswer(std::move(text));
}

Result<answer::Answer> DeleteTracepoint(const answer::AnswerContext& context,
                                        const std::string& name) {
  if (const Status gone = context.store.DeleteDocument(context.tenant, kTracepointKind, name);
      !gone.ok()) {
    if (gone.error().code != ErrorCode::kNotFound) return gone.error();
    return NotFound("tracepoint \"" + name + "\": not defined",
                    "wherefore tracepoints list shows them; compiled-in ones cannot be deleted");
  }
  JsonWriter json;
  json.BeginObject().Field("deleted", name).EndObject();
  return answer::JsonAnswer(json.Take());
}

}  // namespace wf::live
