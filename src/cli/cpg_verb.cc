// `wherefore cpg F ACTION`: questions about a recording that `wherefore record` wrote. A local file, so there is no
// question to a server here.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>

#include "answer/recording/recording_answer.h"
#include "answer/recording/recording_questions.h"
#include "base/nanos.h"
#include "cli/input_file.h"
#include "cli/question_flags.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "recorder/launch/snapshot_request.h"
#include "recorder/reader/slot_table.h"

namespace wf::cli {
namespace {

struct CpgFlags {
  std::string file, action;
  std::vector<std::string> arguments;
  answer::Params asked;  // what the questions have flags for, as given
  // What only files have.
  std::string window, distances, output;
  std::optional<uint32_t> snapshot;
  uint32_t pid = 0;
};

// What can be done with a file besides the questions of the table.
struct FileAction {
  std::string_view name;
  size_t arguments;
};
constexpr FileAction kFileActions[] = {{"snapshots", 0}, {"release", 1}, {"thunks", 1}};

// Names of sub-computations or of a snapshot, behind the action.
std::optional<size_t> ArgumentsOf(const std::string& action) {
  for (const FileAction& one : kFileActions) {
    if (one.name == action) return one.arguments;
  }
  if (answer::FindAction(answer::QuestionVerbOf("cpg"), action) == nullptr) return std::nullopt;
  return action == "order" ? 2 : 0;
}

std::string AllActions() {
  std::string names;
  for (const answer::QuestionKind& kind : answer::QuestionVerbOf("cpg").kinds)
    names.append(names.empty() ? "" : ", ").append(kind.action);
  for (const FileAction& one : kFileActions) names.append(", ").append(one.name);
  return names;
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

// The flags as a stored recording would be asked, and the file that only this verb reads.
Result<answer::RecordingQuestion> MakeQuestion(const CpgFlags& flags, const std::string& format) {
  answer::RecordingQuestion question{flags.action, flags.asked};
  answer::Params& params = question.params;
  if (flags.action == "order") {
    params.Add("a", flags.arguments[0]);
    params.Add("b", flags.arguments[1]);
  }
  if (!flags.window.empty()) {
    WF_ASSIGN(const auto window, ParseWindow(flags.window));
    params.Add("from_ns", std::to_string(window.first));
    params.Add("until_ns", std::to_string(window.second));
  }
  if (flags.action == "layout" && !params.Get("nodes"))
    return BadInput("layout: --nodes is missing", "give the number of memory nodes");
  AddFormat(format, params);
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("cpg");
  WF_TRY(answer::CheckFlags(asks, *answer::FindAction(asks, flags.action),
                            {"cpg", flags.file, params}, Now()));
  if (flags.action == "layout" && !flags.distances.empty()) {
    question.distances_name = flags.distances;
    WF_ASSIGN(question.distances,
              ReadInputFile(flags.distances, "give a file with a line of distances for each node"));
  }
  return question;
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
  const std::optional<size_t> arguments = ArgumentsOf(flags.action);
  if (!arguments)
    return BadInput(!flags.action.empty()                     ? flags.action + ": unknown action"
                    : ::access(flags.file.c_str(), F_OK) != 0 ? flags.file + ": no such file"
                                                              : flags.file + ": no action given",
                    "actions: " + AllActions() + "; and wherefore cpg snapshot --pid P -o S.cpg");
  if (flags.arguments.size() != *arguments)
    return BadInput(fmt::format("{}: takes {} arguments, and {} are given", flags.action,
                                *arguments, flags.arguments.size()),
                    *arguments == 2             ? "name two sub-computations, as in 0.3 1.2"
                    : flags.action == "release" ? "name a snapshot by its number"
                    : *arguments == 1           ? "name a sub-computation, as in 1.2"
                                                : "wherefore cpg --help describes the flags");
  const answer::PieceSink sink = [](std::string_view piece) { return Print(std::string(piece)); };
  const bool of_table = answer::FindAction(answer::QuestionVerbOf("cpg"), flags.action) != nullptr;
  if (of_table) {
    WF_ASSIGN(const answer::RecordingQuestion question, MakeQuestion(flags, common.format));
    WF_ASSIGN(const std::unique_ptr<answer::OpenedRecording> opened, Open(flags));
    return answer::AnswerRecording(*opened, question, sink);
  }
  if (common.format != "text" && common.format != "json")
    return BadInput(flags.action + ": has no format " + common.format, "it has text and json");
  const answer::RecordingFormat format =
      common.format == "json" ? answer::RecordingFormat::kJson : answer::RecordingFormat::kText;
  if (flags.action == "release") return Release(flags, common);
  if (flags.action == "snapshots") {
    WF_ASSIGN(const std::string answer, answer::AnswerSnapshots(flags.file, format));
    return Print(answer);
  }
  WF_ASSIGN(const std::unique_ptr<answer::OpenedRecording> opened, Open(flags));
  return answer::AnswerThunks(*opened, flags.arguments[0], format, sink);
}

}  // namespace

Verb AddCpg(CLI::App& root) {
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("cpg");
  Verb verb = MakeQuestionVerb(root, asks);
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
      ->check(CLI::IsMember(answer::FormatsOfVerb(asks)));
  verb.app->add_option("--window", flags->window,
                       "graph: what runs between two times since the beginning, as in 10ms-12ms");
  verb.app->add_option("--distances", flags->distances,
                       "layout: a file with the distances between nodes, a line for each");
  verb.app->add_option("--pid", flags->pid, "snapshot: of this program, which is being recorded");
  verb.app->add_option("-o,--output", flags->output, "snapshot: the file to make of it");
  verb.app->add_option("--snapshot", flags->snapshot, "of the recording up to this snapshot");
  verb.run = [flags, common = verb.common, app = verb.app, &asks] {
    flags->asked = GivenFlags(*app, asks);
    return RunCpg(*flags, *common);
  };
  return verb;
}

}  // namespace wf::cli
