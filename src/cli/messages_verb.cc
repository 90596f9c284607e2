// `wherefore messages INPUT…`: any input as message text, in order of time, each sighting once.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "analysis/paths/call_pairing.h"
#include "analysis/paths/clock_skew.h"
#include "cli/sighting_flags.h"
#include "cli/verbs.h"
#include "import/messages/message_text.h"
#include "json/json_writer.h"

namespace wf::cli {
namespace {

struct MessagesFlags {
  SightingFlags sightings;
  bool deskew = false;
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
    const Status status = wf::cli::Print(text_);
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
  json.Field("op", messages::OpName(line.sighting.kind, line.sighting.by));
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

// One line after another, in whichever form was asked for.
class SightingPrinter {
 public:
  SightingPrinter(const StringTable& nodes, const CommonFlags& common)
      : nodes_(nodes), json_form_(common.format == "json") {}

  Status Print(const SightingLine& line) {
    text_.clear();
    if (json_form_) {
      AppendMessageJson(line, nodes_, json_, text_);
    } else {
      messages::AppendMessageLine(line, nodes_.At(line.sighting.sender),
                                  nodes_.At(line.sighting.receiver), text_);
    }
    return printer_.Print(text_);
  }
  Status Finish() { return printer_.Flush(); }

 private:
  const StringTable& nodes_;
  bool json_form_;
  JsonWriter json_;
  std::string text_;
  LinePrinter printer_;
};

// Whose clock it was; nobody's for plain lines.
std::optional<NodeId> WitnessOf(const Sighting& sighting) {
  if (sighting.by == SightedBy::kCommon) return std::nullopt;
  return sighting.by == SightedBy::kSender ? sighting.sender : sighting.receiver;
}

// How far clocks are off shows only in the whole, so the whole is held in memory.
Status PrintDeskewed(detect::SightingInput& input, const StringTable& nodes,
                     SightingPrinter& printer) {
  std::vector<SightingLine> lines;
  std::vector<paths::Call> calls;
  paths::CallPairing pairing({}, [&](const paths::Call& call) { calls.push_back(call); });
  SightingLine line;
  while (true) {
    WF_ASSIGN(const bool more, input.Next(line));
    if (!more) break;
    pairing.Add(line.sighting);
    lines.push_back(line);
  }
  pairing.Finish();
  std::sort(calls.begin(), calls.end(),
            [](const paths::Call& a, const paths::Call& b) { return a.place < b.place; });
  const paths::ClockSkew skew = paths::EstimateSkew(calls);
  for (SightingLine& moved : lines) {
    const std::optional<NodeId> witness = WitnessOf(moved.sighting);
    const auto offset = witness ? skew.offset_ns.find(*witness) : skew.offset_ns.end();
    if (offset != skew.offset_ns.end())
      moved.sighting.time_ns = SaturatingSub(moved.sighting.time_ns, offset->second);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const SightingLine& a, const SightingLine& b) {
    return a.sighting.time_ns < b.sighting.time_ns;
  });
  for (const SightingLine& moved : lines) WF_TRY(printer.Print(moved));
  for (const auto& [node, offset] : skew.offset_ns) {
    if (offset == 0) continue;
    std::fprintf(stderr, "wherefore: the clock of %s was %s %s; corrected\n",
                 std::string(nodes.At(node)).c_str(),
                 FormatDuration(offset < 0 ? -offset : offset).c_str(),
                 offset < 0 ? "behind" : "ahead");
  }
  return {};
}

Status RunMessages(const MessagesFlags& flags, const CommonFlags& common) {
  WF_ASSIGN(detect::SightingOptions options, SightingOptionsOf(flags.sightings));
  options.texts = detect::SightingTexts::kKeep;
  StringTable nodes;
  WF_ASSIGN(const auto input, detect::SightingInput::Open(flags.sightings.inputs, options, nodes));
  SightingPrinter printer(nodes, common);
  if (flags.deskew) {
    WF_TRY(PrintDeskewed(*input, nodes, printer));
  } else {
    SightingLine line;
    while (true) {
      WF_ASSIGN(const bool more, input->Next(line));
      if (!more) break;
      WF_TRY(printer.Print(line));
    }
  }
  WF_TRY(printer.Finish());
  PrintNotes(*input);
  return {};
}

}  // namespace

Verb AddMessages(CLI::App& root) {
  Verb verb = MakeVerb(root, "messages", "Convert captures, mail and message text to message text");
  const auto flags = std::make_shared<MessagesFlags>();
  AddSightingFlags(*verb.app, flags->sightings);
  verb.app->add_flag("--deskew", flags->deskew, "estimate and remove the clock skew of each node");
  verb.run = [flags, common = verb.common] { return RunMessages(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
