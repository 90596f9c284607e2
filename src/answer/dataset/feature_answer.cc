#include "answer/dataset/feature_answer.h"

#include <map>

#include "answer/dataset/dataset_rows_output.h"
#include "answer/frame/table_cell.h"
#include "answer/frame/text_table.h"
#include "answer/trace/clock_answer.h"
#include "base/utf8.h"
#include "json/json_reader.h"
#include "json/json_writer.h"
#include "lang/feature/dataset_plan.h"
#include "lang/feature/element_keys.h"
#include "model/trace_builder.h"
#include "pipeline/dataset_catalog.h"

namespace wf::answer {
namespace {

// What was asked about: a program, and the texts it may use by name.
struct ProgramText {
  std::string program;
  std::map<std::string, std::string, std::less<>> library;
};

// The body is the program itself, or {"program","library":{NAME:TEXT}}: no program begins with a brace.
Result<ProgramText> ReadProgram(const Question& question, const std::string& action) {
  ProgramText out;
  const size_t first = question.body.find_first_not_of(" \t\r\n");
  if (question.body.empty()) {
    const auto program = question.params.Get("program");
    if (!program) {
      return BadInput("feature " + action + ": no program given",
                      "POST it as the body, or give it as program=");
    }
    out.program = *program;
  } else if (first != std::string::npos && question.body[first] == '{') {
    JsonParser parser;
    WF_ASSIGN(const JsonValue root, parser.Parse(question.body));
    if (!root.Get("program").IsString()) {
      return BadInput("feature " + action + ": the JSON has no text \"program\"",
                      "send {\"program\":TEXT,\"library\":{NAME:TEXT}}, or the program itself");
    }
    out.program = root.Get("program").String();
    for (const auto& [name, text] : root.Get("library").Members())
      out.library.emplace(std::string(name), std::string(text.String()));
  } else {
    out.program = question.body;
  }
  if (!IsUtf8(out.program)) {
    return BadInput("feature " + action + ": the program is not UTF-8 text", "save it as UTF-8");
  }
  return out;
}

// A text that came with the program goes before a dataset of that name.
feature::DatasetPlan::Compiled CompileProgram(const AnswerContext& context, const ProgramText& text,
                                              const std::string& row) {
  const feature::FeatureLibrary library = [&](std::string_view name) -> std::optional<std::string> {
    if (const auto at = text.library.find(name); at != text.library.end()) return at->second;
    const auto catalog = pipeline::DatasetCatalog::Load(context.store, context.tenant);
    const pipeline::DatasetDefinition* dataset =
        catalog.ok() ? catalog->Find(std::string(name)) : nullptr;
    return dataset == nullptr ? std::nullopt : std::optional<std::string>(dataset->columns);
  };
  return feature::DatasetPlan::Compile({"", row, text.program, {}}, library);
}

Answer CheckAnswer(const Question& question, const ProgramText& text,
                   const std::vector<feature::DatasetDiagnostic>& diagnostics) {
  Answer answer;
  if (WantsText(question)) {
    std::string out;
    for (const feature::DatasetDiagnostic& d : diagnostics) {
      const auto used = text.library.find(d.part);
      if (used != text.library.end()) out += "in \"" + d.part + "\":\n";
      // Line by line, because what was written may hold anything and goes to a terminal.
      const std::string shown = lang::RenderDiagnostic(
          used != text.library.end() ? used->second : text.program, d.diagnostic);
      for (size_t begin = 0; begin < shown.size();) {
        const size_t end = std::min(shown.find('\n', begin), shown.size());
        out += Printable(std::string_view(shown).substr(begin, end - begin)) + "\n";
        begin = end + 1;
      }
      out += "\n";
    }
    const size_t count = diagnostics.size();
    out += count == 0 ? "no faults" : std::to_string(count) + (count == 1 ? " fault" : " faults");
    answer = TextAnswer(std::move(out));
  } else {
    JsonWriter json;
    json.BeginObject().Key("diagnostics").BeginArray();
    for (const auto& [part, d] : diagnostics) {
      json.BeginObject()
          .Field("line", d.line)
          .Field("column", d.column)
          .Field("length", d.length)
          .Field("message", d.message)
          .Field("hint", d.hint);
      if (part != "columns") json.Field("text", part);  // a text that the program uses
      json.EndObject();
    }
    json.EndArray().EndObject();
    answer = JsonAnswer(json.Take());
  }
  answer.faults = !diagnostics.empty();
  return answer;
}

Error FaultyProgram(const std::vector<feature::DatasetDiagnostic>& diagnostics) {
  const auto& [part, first] = diagnostics[0];
  std::string message = part == "columns" ? "the program"
                        : part == "row"   ? "--row"
                                          : "\"" + part + "\"";
  message += ", line " + std::to_string(first.line) + ", column " + std::to_string(first.column) +
             ": " + first.message;
  if (diagnostics.size() > 1)
    message += " (and " + std::to_string(diagnostics.size() - 1) + " more)";
  return BadInput(std::move(message),
                  first.hint.empty() ? "wherefore feature check shows all" : first.hint);
}

// A null is shown: an empty field would look like an empty text.
std::string TextOf(const TableColumn& column, size_t row) {
  return column.valid[row] == 0 ? "-" : Printable(CellText(column, row));
}

// One row reads best from top to bottom, several as a table.
std::string TableText(const DatasetTable& table, size_t first) {
  if (first == table.columns.size()) return "no columns: end a pipeline with | RecordAs(\"name\")";
  if (table.rows() == 1) {
    TextTable text({"column", "value"}, {});
    for (size_t c = first; c < table.columns.size(); ++c)
      text.Row({table.columns[c].definition.name, TextOf(table.columns[c], 0)});
    return text.Print(TextWidth(), 1);
  }
  std::vector<std::string> heads;
  std::vector<size_t> right;
  for (size_t c = first; c < table.columns.size(); ++c) {
    const ColumnDefinition& definition = table.columns[c].definition;
    heads.push_back(definition.name);
    if (definition.type == ColumnType::kInt || definition.type == ColumnType::kDouble)
      right.push_back(c - first);
  }
  TextTable text(heads, right);
  for (size_t row = 0; row < table.rows(); ++row) {
    std::vector<std::string> cells;
    for (size_t c = first; c < table.columns.size(); ++c)
      cells.push_back(TextOf(table.columns[c], row));
    text.Row(std::move(cells));
  }
  return text.Print(TextWidth(), 0);
}

Result<Answer> RunAnswer(const AnswerContext& context, const Question& question,
                         const ProgramText& text) {
  const auto id_text = question.params.Get("trace");
  if (!id_text) {
    return BadInput("feature run: --trace is missing", "wherefore traces lists what is there");
  }
  WF_ASSIGN(const TraceId id, ParseTraceId(*id_text));
  const feature::DatasetPlan::Compiled compiled =
      CompileProgram(context, text, question.params.Get("row").value_or(""));
  if (!compiled.plan) return FaultyProgram(compiled.diagnostics);
  WF_ASSIGN(const EventBatch events, context.store.ReadTrace(context.tenant, id));
  if (events.empty()) {
    return NotFound("trace " + ToHex(id) + ": not in this store",
                    "wherefore traces lists what is there");
  }
  BuildOptions build;
  build.now_ns = context.now;
  WF_ASSIGN(const HostClocks clocks, pipeline::ClocksFor(context.store, context.tenant, events));
  build.clocks = &clocks;
  const Trace trace = BuildTrace(events, build);
  if (!trace.usable()) {
    return NotFound("trace " + ToHex(id) + ": it violates an invariant of the model (" +
                        std::string(InvariantName(trace.violations[0].invariant)) +
                        "); no features are taken from it",
                    "wherefore trace " + ToHex(id) + " shows it");
  }
  DatasetTable table = compiled.plan->NewTable();
  const feature::ExtractOutcome outcome = compiled.plan->Extract(trace, table);
  if (outcome.kind == feature::ExtractOutcome::Kind::kOverBudget) {
    return BadInput("trace " + ToHex(id) + ": the program exceeds the work limit of one trace",
                    "filter before Map and Where, so that they process fewer items");
  }
  if (outcome.rows_dropped > 0) {
    return BadInput("trace " + ToHex(id) + ": the program gives " +
                        std::to_string(outcome.rows + outcome.rows_dropped) + " rows, more than " +
                        std::to_string(feature::kMaxRowsPerTrace),
                    "filter the rows");
  }
  const size_t fixed = FixedDatasetColumns().size();
  if (WantsText(question)) return TextAnswer(TableText(table, fixed));
  JsonWriter json;
  json.BeginObject();
  WriteRowsJson(table, json, fixed);
  json.EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace

Result<Answer> AnswerFeatureCheck(const AnswerContext& context, const Question& question) {
  WF_ASSIGN(const ProgramText text, ReadProgram(question, "check"));
  return CheckAnswer(question, text, CompileProgram(context, text, "").diagnostics);
}

Result<Answer> AnswerFeatureRun(const AnswerContext& context, const Question& question) {
  WF_ASSIGN(const ProgramText text, ReadProgram(question, "run"));
  return RunAnswer(context, question, text);
}

}  // namespace wf::answer
