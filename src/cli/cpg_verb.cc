// `wherefore cpg F ACTION`: questions about a recording that `wherefore record` wrote. A local file, so there is no
// question to a server here.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>

#include "answer/recording/recording_answer.h"
#include "answer/recording/recording_graph.h"
#include "base/nanos.h"
#include "cli/input_file.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "recorder/launch/snapshot_request.h"
#include "recorder/reader/slot_table.h"

namespace wf::cli {
namespace {

struct CpgFlags {
  std::string file, action;
  std::vector<std::string> arguments;
  // graph
  bool pages = false;
  std::vector<uint32_t> threads;
  std::string window, around;
  // lineage
  std::string of, address, at, from;
  bool crash = false, ordered = false;
  // layout
  uint32_t nodes = 0;
  std::string distances;
  std::optional<uint32_t> snapshot;
  // snapshot
  uint32_t pid = 0;
  std::string output;
};

struct Action {
  const char* name;
  std::vector<std::string> formats;
  size_t arguments;
};

const std::vector<Action>& Actions() {
  static const std::vector<Action> actions = {
      {"graph", {"text", "json", "dot", "svg"}, 0},
      {"lineage", {"text", "json"}, 0},
      {"order", {"text", "json"}, 2},
      {"races", {"text", "json"}, 0},
      {"summary", {"text", "json"}, 0},
      {"pages", {"text", "json", "csv", "svg"}, 0},
      {"layout", {"text", "json"}, 0},
      {"snapshots", {"text", "json"}, 0},
      {"release", {"text", "json"}, 1},
      {"thunks", {"text", "json"}, 1},
  };
  return actions;
}

answer::RecordingFormat FormatOf(const std::string& name) {
  if (name == "json") return answer::RecordingFormat::kJson;
  if (name == "csv") return answer::RecordingFormat::kCsv;
  return name == "svg" ? answer::RecordingFormat::kSvg : answer::RecordingFormat::kText;
}

Result<int64_t> ParseTime(const std::string& text) {
  int64_t ns = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, ns);
  if (parsed.ec == std::errc() && parsed.ptr == end && ns >= 0) return ns;
  return ParseDuration(text);
}

Result<std::pair<int64_t, int64_t>> ParseWindow(const std::string& text) {
  const size_t dash = text.find('-');
  const char* const next = "write two times since the beginning, as in 10ms-12ms, or ns";
  if (dash == std::string::npos) return BadInput("--window " + text + ": is no window", next);
  const auto from = ParseTime(text.substr(0, dash)), until = ParseTime(text.substr(dash + 1));
  if (!from.ok() || !until.ok() || *from >= *until)
    return BadInput("--window " + text + ": is no window", next);
  return std::make_pair(*from, *until);
}

Status PrintGraph(answer::OpenedRecording& opened, const CpgFlags& flags,
                  const std::string& format) {
  answer::GraphSelection selection;
  selection.threads = flags.threads;
  if (!flags.window.empty()) {
    WF_ASSIGN(selection.window, ParseWindow(flags.window));
  }
  if (!flags.around.empty()) {
    WF_ASSIGN(selection.around, opened.FindSub(flags.around));
  }
  if (flags.pages) WF_TRY(opened.Require(recorder::kData));
  if (format == "json")
    return answer::WriteGraphJson(
        opened, selection, flags.pages ? answer::GraphPages::kLists : answer::GraphPages::kCounts,
        [](std::string_view piece) { return Print(std::string(piece)); });
  Result<std::string> answer = format == "dot"   ? answer::GraphDot(opened, selection)
                               : format == "svg" ? answer::GraphSvg(opened, selection)
                                                 : answer::GraphText(opened, selection);
  if (!answer.ok()) return answer.error();
  return Print(*answer);
}

Result<std::string> Ask(answer::OpenedRecording& opened, const CpgFlags& flags,
                        answer::RecordingFormat format) {
  const std::string& action = flags.action;
  if (action == "lineage") {
    answer::LineageQuestion question;
    const auto given = [](const std::string& text) {
      return text.empty() ? std::nullopt : std::optional<std::string>(text);
    };
    question.of = given(flags.of);
    question.address = given(flags.address);
    question.from = given(flags.from);
    question.crash = flags.crash;
    question.at = flags.at;
    question.steps = flags.ordered ? lineage::Steps::kOrderedOnly : lineage::Steps::kAlsoUnordered;
    return answer::AnswerLineage(opened, question, format);
  }
  if (action == "order")
    return answer::AnswerOrder(opened, flags.arguments[0], flags.arguments[1], format);
  if (action == "races") return answer::AnswerRaces(opened, format);
  if (action == "summary") return answer::AnswerSummary(opened, format);
  if (action == "pages") return answer::AnswerPages(opened, format);
  if (flags.nodes == 0)
    return BadInput("layout: --nodes is missing", "give the number of memory nodes");
  std::optional<std::string> distances;
  if (!flags.distances.empty()) {
    WF_ASSIGN(distances,
              ReadInputFile(flags.distances, "give a file with a line of distances for each node"));
  }
  return answer::AnswerLayout(opened, flags.nodes, distances, flags.distances, format);
}

// `cpg snapshot --pid P -o S.cpg`: the word stands where a file would.
Status TakeSnapshot(const CpgFlags& flags, const CommonFlags& common) {
  if (flags.pid == 0 || flags.output.empty())
    return BadInput("snapshot: needs a running program and a file",
                    "wherefore cpg snapshot --pid P -o S.cpg");
  WF_ASSIGN(const recorder::TakenSnapshot taken, recorder::RequestSnapshot(flags.pid));
  WF_TRY(recorder::CopySnapshot(taken.file, taken.number, flags.output));
  if (common.format == "json") {
    JsonWriter json;
    json.BeginObject().Field("n", uint64_t{taken.number}).Field("recording", taken.file);
    json.Field("file", flags.output).EndObject();
    return Print(json.Take() + "\n");
  }
  return Print(fmt::format("snapshot {} of {} in {}\n", taken.number, taken.file, flags.output));
}

Status Release(const CpgFlags& flags, const CommonFlags& common) {
  uint32_t number = 0;
  const std::string& text = flags.arguments[0];
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number == 0)
    return BadInput("release " + text + ": is no snapshot", "name one by its number, as in 3");
  WF_TRY(recorder::ReleaseSlot(flags.file, number));
  if (common.format == "json") return Print(fmt::format("{{\"released\":{}}}\n", number));
  return Print(fmt::format("snapshot {} released\n", number));
}

// The recording, or the part of it that was asked for.
Result<std::unique_ptr<answer::OpenedRecording>> Open(const CpgFlags& flags) {
  recorder::ReadOptions options;
  options.snapshot = flags.snapshot;
  WF_ASSIGN(recorder::Recording recording, recorder::ReadRecording(flags.file, options));
  const uint32_t only = recording.only_snapshot;
  auto opened = std::make_unique<answer::OpenedRecording>(std::move(recording));
  if (!flags.snapshot && only == 0) return opened;
  WF_ASSIGN(recorder::Recording part,
            answer::RestrictedToSnapshot(*opened, flags.snapshot.value_or(only)));
  return std::make_unique<answer::OpenedRecording>(std::move(part));
}

Status RunCpg(const CpgFlags& flags, CommonFlags common) {
  // Without --format a person at a terminal reads text, and a program JSON.
  if (common.format.empty()) common.format = ::isatty(STDOUT_FILENO) == 1 ? "text" : "json";
  if (flags.file == "snapshot" && flags.action.empty()) return TakeSnapshot(flags, common);
  const Action* action = nullptr;
  std::string names;
  for (const Action& one : Actions()) {
    if (flags.action == one.name) action = &one;
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  if (action == nullptr)
    return BadInput(!flags.action.empty()                     ? flags.action + ": unknown action"
                    : ::access(flags.file.c_str(), F_OK) != 0 ? flags.file + ": no such file"
                                                              : flags.file + ": no action given",
                    "actions: " + names + "; and wherefore cpg snapshot --pid P -o S.cpg");
  if (flags.arguments.size() != action->arguments)
    return BadInput(fmt::format("{}: takes {} arguments, and {} are given", action->name,
                                action->arguments, flags.arguments.size()),
                    action->arguments == 2      ? "name two sub-computations, as in 0.3 1.2"
                    : flags.action == "release" ? "name a snapshot by its number"
                    : action->arguments == 1    ? "name a sub-computation, as in 1.2"
                                                : "wherefore cpg --help describes the flags");
  std::string formats;
  bool known = false;
  for (const std::string& format : action->formats) {
    known = known || format == common.format;
    formats += (formats.empty() ? "" : ", ") + format;
  }
  if (!known)
    return BadInput(fmt::format("{}: has no format {}", action->name, common.format),
                    "it has " + formats);
  if (flags.action == "release") return Release(flags, common);
  if (flags.action == "snapshots") {
    WF_ASSIGN(const std::string answer,
              answer::AnswerSnapshots(flags.file, FormatOf(common.format)));
    return Print(answer);
  }
  WF_ASSIGN(const std::unique_ptr<answer::OpenedRecording> opened, Open(flags));
  if (flags.action == "graph") return PrintGraph(*opened, flags, common.format);
  if (flags.action == "thunks")
    return answer::AnswerThunks(*opened, flags.arguments[0], FormatOf(common.format),
                                [](std::string_view piece) { return Print(std::string(piece)); });
  WF_ASSIGN(const std::string answer, Ask(*opened, flags, FormatOf(common.format)));
  return Print(answer);
}

}  // namespace

Verb AddCpg(CLI::App& root) {
  Verb verb =
      MakeVerb(root, "cpg", "Questions about a recorded program: graph, lineage, order, races");
  const auto flags = std::make_shared<CpgFlags>();
  verb.app
      ->add_option("FILE", flags->file,
                   "a .cpg file that wherefore record wrote; or `snapshot`, with --pid and -o")
      ->required();
  verb.app->add_option("ACTION", flags->action,
                       "graph, lineage, order A B, races, summary, pages, layout, snapshots, "
                       "release N or thunks ID");
  verb.app->add_option(
      "ARGUMENTS", flags->arguments,
      "order: two sub-computations, as in 0.3 1.2; thunks: one; release: a snapshot");
  verb.app->remove_option(verb.app->get_option("--format"));
  verb.common->format.clear();
  verb.app
      ->add_option("--format", verb.common->format,
                   "text (on a terminal), json (else); graph also dot and svg, pages csv and svg")
      ->check(CLI::IsMember({"text", "json", "dot", "svg", "csv"}));
  verb.app->add_flag("--pages", flags->pages, "graph: list the pages, not only their numbers");
  verb.app->add_option("--thread", flags->threads, "graph: of this thread only; may be given again")
      ->allow_extra_args(false)
      ->take_all();
  verb.app->add_option("--window", flags->window,
                       "graph: what runs between two times since the beginning, as in 10ms-12ms");
  verb.app->add_option("--around", flags->around,
                       "graph: this sub-computation and its nearest along edges");
  verb.app->add_option("--of", flags->of, "lineage: where an output came from, OUTPUT[:a-b]");
  verb.app->add_option("--address", flags->address,
                       "lineage: where memory came from, HEX or SYMBOL[+off]");
  verb.app->add_option(
      "--at", flags->at,
      "lineage --address: at the end of this sub-computation (default: of the run)");
  verb.app->add_option("--from", flags->from, "lineage: what an input reached, INPUT[:a-b]");
  verb.app->add_flag("--crash", flags->crash,
                     "lineage: of what the sub-computation that crashed had read");
  verb.app->add_flag("--ordered", flags->ordered,
                     "lineage: without steps between what nothing orders");
  verb.app->add_option("--nodes", flags->nodes, "layout: so many memory nodes")
      ->check(CLI::Range(1, 1024));
  verb.app->add_option("--distances", flags->distances,
                       "layout: a file with the distances between them, a line for each");
  verb.app->add_option("--pid", flags->pid, "snapshot: of this program, which is being recorded");
  verb.app->add_option("-o,--output", flags->output, "snapshot: the file to make of it");
  verb.app->add_option("--snapshot", flags->snapshot, "of the recording up to this snapshot");
  verb.run = [flags, common = verb.common] { return RunCpg(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
