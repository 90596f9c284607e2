// `wherefore paths INPUT…`: causal paths from messages alone.
#include "cli/paths_verb.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "analysis/paths/paths_inference.h"
#include "answer/paths/assignments_file.h"
#include "answer/paths/paths_output.h"
#include "cli/progress.h"
#include "cli/question_flags.h"
#include "cli/sighting_flags.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "net/decoding_reader.h"

namespace wf::cli {
namespace {

struct PathsFlags {
  SightingFlags input;
  std::string assignments, truth;
  answer::Params asked;  // what the question has flags for, as given
  uint64_t window = 0;
  uint32_t candidates = 0;
  bool deskew = false, raw_clocks = false;
  paths::NestingOptions nesting;
  std::string skew_window, smoothing, after_reply = "1s";
  paths::ConvolutionOptions convolution;
  std::string quantum, variance, max_delay;

  // Whether anything was asked that only files have.
  bool of_files() const {
    return !assignments.empty() || !truth.empty() || candidates != 0 || window != 0 || deskew ||
           raw_clocks || !skew_window.empty() || !smoothing.empty() || !quantum.empty() ||
           !variance.empty() || !max_delay.empty() || !input.rename.empty() ||
           !input.nodes.empty() || !input.skew.empty() || !input.drop.empty() || input.lenient;
  }
};

// Else -1 is the largest number there is.
std::string NotBelowZero(const std::string& text) {
  return text.rfind('-', 0) == 0 ? text + " is below 0" : std::string();
}

Result<std::string> ReadFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto failed = [&] {
    const std::string why = fmt::format("{}: {}", path, std::strerror(errno));
    const char* const next = "--truth takes a file of assignments, or the word path";
    return errno == ENOENT ? BadInput(why, next) : EnvironmentError(why, next);
  };
  if (fd < 0) return failed();
  net::DecodingReader reader([&](char* buffer, size_t size) -> Result<size_t> {
    const ssize_t got = ::read(fd, buffer, size);
    if (got < 0) return failed();
    return static_cast<size_t>(got);
  });
  std::string text;
  Result<size_t> got = size_t{0};
  do {
    constexpr size_t kPiece = size_t{1} << 20;
    const size_t had = text.size();
    text.resize(had + kPiece);
    got = reader.Read(text.data() + had, kPiece);
    text.resize(had + (got.ok() ? *got : 0));
  } while (got.ok() && *got > 0);
  ::close(fd);
  if (!got.ok()) return got.error();
  return text;
}

// A duration flag that may be left out.
Status ReadDuration(const char* flag, const std::string& text, Nanos& to) {
  if (text.empty()) return {};
  const Result<Nanos> parsed = ParseDuration(text);
  if (!parsed.ok())
    return BadInput(fmt::format("{} {}: {}", flag, text, parsed.error().message),
                    parsed.error().hint);
  to = *parsed;
  return {};
}

Result<paths::PathsRequest> ToRequest(const PathsFlags& flags) {
  paths::PathsRequest request;
  for (const paths::PathAlgorithm algorithm :
       {paths::PathAlgorithm::kAuto, paths::PathAlgorithm::kNesting,
        paths::PathAlgorithm::kConvolution, paths::PathAlgorithm::kLinking})
    if (flags.asked.Get("algorithm") == paths::NameOf(algorithm)) request.algorithm = algorithm;
  request.candidates = flags.candidates;
  if (flags.deskew && flags.raw_clocks)
    return BadInput("--deskew and --raw-clocks exclude each other", "give one of them");
  if (flags.deskew) request.deskew = paths::Deskew::kAlways;
  if (flags.raw_clocks) request.deskew = paths::Deskew::kNever;
  request.keep_rows = !flags.assignments.empty();
  request.nesting = flags.nesting;
  request.nesting_window = flags.window;
  request.convolution = flags.convolution;
  WF_TRY(ReadDuration("--skew-window", flags.skew_window, request.nesting.skew_window));
  WF_TRY(ReadDuration("--after-reply", flags.after_reply, request.nesting.after_reply));
  if (!flags.smoothing.empty()) {
    char* end = nullptr;
    const double bins = std::strtod(flags.smoothing.c_str(), &end);
    if (*end != '\0' || !(bins >= 0 && bins <= 100))
      return BadInput("--smoothing " + flags.smoothing + ": not a number of bins",
                      "from 0 (off) to 100; a bin is 5% of a delay");
    request.nesting.smoothing = bins;
  }
  WF_TRY(ReadDuration("--quantum", flags.quantum, request.convolution.quantum_ns));
  WF_TRY(ReadDuration("--variance", flags.variance, request.convolution.variance_ns));
  WF_TRY(ReadDuration("--max-delay", flags.max_delay, request.convolution.max_delay_ns));
  if (!flags.skew_window.empty()) {
    request.linking.skew_window = request.nesting.skew_window;
    request.linking_window_given = true;
    request.convolution.skew_window_ns = request.nesting.skew_window;
  }
  if (flags.truth == "path") {
    request.truth_source = paths::TruthSource::kPathKeys;
  } else if (!flags.truth.empty()) {
    request.truth_source = paths::TruthSource::kRows;
    WF_ASSIGN(const std::string text, ReadFile(flags.truth));
    WF_ASSIGN(request.truth, answer::ParseTruth(text, flags.truth));
  }
  return request;
}

// Of the store's messages; only what the server's question has can be asked.
Status AskStore(const PathsFlags& flags, const CommonFlags& common) {
  if (flags.of_files())
    return BadInput(
        "paths: no INPUT, so the store's messages are meant, and this flag is for files",
        "name the file, or leave all flags out but --since, --until, --algorithm, "
        "--top, --sort and --format");
  WF_ASSIGN(const auto access, StoreAccess::Open(common.store));
  answer::Question question{"paths", "", flags.asked};
  AddFormat(common.format, question.params);
  WF_ASSIGN(const answer::Answer answer, access->Ask(question));
  return Print(answer.body);
}

Status RunPaths(const PathsFlags& flags, const CommonFlags& common) {
  if (flags.input.inputs.empty()) return AskStore(flags, common);
  if (flags.asked.Get("since") || flags.asked.Get("until"))
    return BadInput("--since, --until: of the store's messages, and an INPUT is given",
                    "leave one of them out");
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("paths");
  WF_TRY(answer::CheckFlags(asks, asks.kinds.front(), {"paths", "", flags.asked}, Now()));
  WF_ASSIGN(const auto top, flags.asked.Integer("top"));
  WF_ASSIGN(paths::PathsRequest request, ToRequest(flags));
  WF_ASSIGN(const detect::SightingOptions options, SightingOptionsOf(flags.input));
  StringTable names;
  WF_ASSIGN(const auto input, detect::SightingInput::Open(flags.input.inputs, options, names));
  ProgressBar progress("reading", static_cast<int64_t>(input->bytes_total()), common.format);
  ProgressCount count("reading", common.format, "messages");
  request.on_sightings = [&](uint64_t sightings) {
    if (input->bytes_total() > 0)
      progress.Show(input->bytes_read());
    else
      count.Show(static_cast<int64_t>(sightings));
  };
  WF_ASSIGN(paths::PathsFindings findings, paths::InferPaths(*input, names, request));
  if (input->bytes_total() > 0)
    progress.Finish();
  else
    count.Finish();
  if (findings.convolution) PrintNotes(*input);
  if (!flags.assignments.empty()) {
    const answer::PlaceForm form =
        input->inputs() == 1 ? answer::PlaceForm::kLine : answer::PlaceForm::kInputAndLine;
    WF_TRY(answer::WriteAssignments(findings.rows, form, flags.candidates > 0, flags.assignments));
  }
  answer::PathsOutput output;
  output.format = common.format;
  output.order = flags.asked.Get("sort") == "count" ? paths::PatternOrder::kCount
                                                    : paths::PatternOrder::kTotalLatency;
  if (top) output.top = static_cast<size_t>(*top);
  output.duplicates = input->counts().duplicates;
  output.notes = input->Notes();
  return Print(answer::WritePaths(findings, names, output).body);
}

void AddNestingFlags(CLI::App& app, PathsFlags& flags) {
  app.add_option("--skew-window", flags.skew_window,
                 "by how much clocks may differ: loosens what counts as nested");
  app.add_option("--smoothing", flags.smoothing,
                 "nesting: deviation, in bins of 5%, of the curve that delays are smoothed with "
                 "(0: off; 4 with a skew window)");
  app.add_option("--overlap-penalty,--x", flags.nesting.overlap_penalty,
                 "nesting: power of the penalty for overlapping children")
      ->capture_default_str();
  app.add_option("--same-penalty,--y", flags.nesting.same_penalty,
                 "nesting: power of the penalty for children to the same node")
      ->capture_default_str();
  app.add_option("--any-penalty,--z", flags.nesting.any_penalty,
                 "nesting: power of the penalty for any children")
      ->capture_default_str();
  app.add_option("--after-reply", flags.after_reply,
                 "nesting: how long after the reply a call may belong to it (0s: never)")
      ->capture_default_str();
  app.add_option(
         "--window", flags.window,
         "nesting: calls in memory at a time (0: 1,048,576); a shorter trace is taken whole")
      ->check(NotBelowZero);
}

void AddConvolutionFlags(CLI::App& app, PathsFlags& flags) {
  app.add_option("--quantum", flags.quantum,
                 "convolution: the unit of time (default: by the data)");
  app.add_option("--variance", flags.variance,
                 "convolution: delays that differ by no more match (default: by the spike)");
  app.add_option("--max-delay", flags.max_delay,
                 "convolution: the longest delay looked for (default: by the data)");
  app.add_option("--noise", flags.convolution.noise,
                 "convolution: the part of a node's messages that a spike must hold")
      ->capture_default_str();
  app.add_option("--root", flags.convolution.roots,
                 "convolution: a node where paths begin; may be given again")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--spike-high,-N", flags.convolution.high,
                 "convolution: deviations above the mean that make a spike")
      ->capture_default_str();
  app.add_option("--spike-low,-S", flags.convolution.low,
                 "convolution: deviations that a point between two spikes is below")
      ->capture_default_str();
}

}  // namespace

Status PrintPathsOf(const std::vector<std::string>& inputs, const CommonFlags& common) {
  PathsFlags flags;
  flags.input.inputs = inputs;
  return RunPaths(flags, common);
}

Verb AddPaths(CLI::App& root) {
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("paths");
  Verb verb = MakeQuestionVerb(root, asks);
  const auto flags = std::make_shared<PathsFlags>();
  AddSightingFlags(*verb.app, flags->input);
  verb.app->add_option("--assignments", flags->assignments,
                       "a file to write each request's parent to, as JSON lines");
  verb.app
      ->add_option("--candidates", flags->candidates,
                   "so many other parents of each request beside the chosen one")
      ->check(NotBelowZero);
  verb.app->add_option("--truth", flags->truth,
                       "a file of true parents, or `path`: the key path= of the messages; says how "
                       "right the paths are");
  verb.app->add_flag("--deskew", flags->deskew,
                     "estimate and remove the skew of the nodes' clocks for nesting too (linking "
                     "does it anyway); keeps all calls in memory");
  verb.app->add_flag("--raw-clocks", flags->raw_clocks, "take the nodes' clocks as they are");
  AddNestingFlags(*verb.app, *flags);
  AddConvolutionFlags(*verb.app, *flags);
  verb.run = [flags, common = verb.common, app = verb.app, &asks] {
    flags->asked = GivenFlags(*app, asks);
    return RunPaths(*flags, *common);
  };
  return verb;
}

}  // namespace wf::cli
