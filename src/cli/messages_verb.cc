// `wherefore messages INPUT…`: any input as message text, in order of time, each sighting once.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/sighting_flags.h"
#include "cli/verbs.h"
#include "import/messages/message_text.h"
#include "json/json_writer.h"

namespace wf {
namespace {

struct MessagesFlags {
  SightingFlags sightings;
};

// Prints in large pieces. The first is held back until it is full, so that an input which turns out malformed leaves
// standard output empty, as it should, unless it is large.
class LinePrinter {
 public:
  Status Print(std::string_view line) {
    text_ += line;
    if (text_.size() < (printed_ ? kPiece : kHeldBack)) return {};
    return Flush();
  }
  Status Flush() {
    if (text_.empty()) return {};
    const Status status = wf::Print(text_);
    text_.clear();
    if (!std::exchange(printed_, true)) text_.shrink_to_fit();
    return status;
  }

 private:
  static constexpr size_t kPiece = 256 * 1024, kHeldBack = 32 * 1024 * 1024;
  std::string text_;
  bool printed_ = false;
};

void AppendMessageJson(const SightingLine& line, const StringTable& nodes, JsonWriter& json,
                       std::string& out) {
  json.BeginObject();
  json.Field("time_ns", line.sighting.time_ns);
  json.Field("op", OpName(line.sighting.kind, line.sighting.by));
  json.Field("sender", nodes.At(line.sighting.sender));
  json.Field("receiver", nodes.At(line.sighting.receiver));
  json.Key("id");
  if (line.sighting.id == 0) {
    json.Null();
  } else {
    json.String(line.id);
  }
  json.Field("keys", line.keys);
  json.EndObject();
  out += json.Take();
  if (out.empty() || out.back() != '\n') out += '\n';
}

Status RunMessages(const MessagesFlags& flags, const CommonFlags& common) {
  WF_ASSIGN(SightingOptions options, SightingOptionsOf(flags.sightings));
  options.texts = SightingTexts::kKeep;
  StringTable nodes;
  WF_ASSIGN(const auto input, SightingInput::Open(flags.sightings.inputs, options, nodes));
  LinePrinter printer;
  SightingLine line;
  std::string text;
  JsonWriter json;
  while (true) {
    WF_ASSIGN(const bool more, input->Next(line));
    if (!more) break;
    text.clear();
    if (common.format == "json") {
      AppendMessageJson(line, nodes, json, text);
    } else {
      AppendMessageLine(line, nodes.At(line.sighting.sender), nodes.At(line.sighting.receiver),
                        text);
    }
    WF_TRY(printer.Print(text));
  }
  WF_TRY(printer.Flush());
  PrintNotes(*input);
  return {};
}

}  // namespace

Verb AddMessages(CLI::App& root) {
  Verb verb = MakeVerb(root, "messages", "Captures, mail and message text as message text");
  const auto flags = std::make_shared<MessagesFlags>();
  AddSightingFlags(*verb.app, flags->sightings);
  verb.run = [flags, common = verb.common] { return RunMessages(*flags, *common); };
  return verb;
}

}  // namespace wf
