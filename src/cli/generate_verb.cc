// `wherefore generate CONFIG.yaml --seed S --out F --truth F`: messages of a system that exists only in a config, and the
// truth about what caused what, to measure inference with.
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "scenario/message_generator_otlp.h"
#include "scenario/message_generator_pcap.h"
#include "scenario/message_generator_text.h"
#include "scenario/scenario.h"

namespace wf::cli {
namespace {

struct GenerateFlags {
  std::string config, out, truth, as = "text", start;
  uint64_t seed = 1;
};

// A file that has its name only when it is whole. What is no regular file (a pipe, /dev/null) is written as it is.
class WholeFile {
 public:
  ~WholeFile() {
    if (file_ == nullptr || file_ == stdout) return;
    std::fclose(file_);
    if (renamed()) std::remove(written_to_.c_str());
  }

  Status Open(const std::string& path) {
    path_ = written_to_ = path;
    struct stat there = {};
    if (path == "-") {
      file_ = stdout;
      return {};
    }
    if (::stat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode)) written_to_ += ".part";
    file_ = std::fopen(written_to_.c_str(), "wb");
    if (file_ == nullptr) return Failed();
    return {};
  }
  Status Write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) return Failed();
    return {};
  }
  Status Finish() {
    if (file_ == nullptr) return {};
    if (std::fflush(file_) != 0) return Failed();
    if (file_ == stdout) return {};
    std::FILE* file = std::exchange(file_, nullptr);
    if (std::fclose(file) != 0) return Failed();
    if (renamed() && std::rename(written_to_.c_str(), path_.c_str()) != 0) return Failed();
    return {};
  }
  const std::string& written_to() const { return written_to_; }
  bool renamed() const { return written_to_ != path_; }

 private:
  Error Failed() const {
    return EnvironmentError(written_to_ + ": " + std::strerror(errno),
                            "is the folder writable, and is there room?");
  }
  std::string path_, written_to_;
  std::FILE* file_ = nullptr;
};

Result<scenario::GeneratorConfig> ReadConfig(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return BadInput(path + ": cannot be read, or is empty", "name a file as in config/generate/");
  return scenario::ReadGeneratorConfig(text.str(), path);
}

std::string Summary(const scenario::GeneratedTrace& done, const GenerateFlags& flags,
                    const std::string& format) {
  const scenario::GeneratorCounts& counts = done.counts;
  if (format == "json") {
    JsonWriter json;
    json.BeginObject().Field("seed", flags.seed).Field("messages", counts.messages);
    json.Field("calls", counts.calls).Field("paths", counts.paths).Field("lines", done.lines);
    json.Field("lost_messages", counts.lost).Field("cut_paths", counts.paths_cut);
    json.EndObject();
    return json.Take() + "\n";
  }
  std::string text = fmt::format("{} messages of {} paths in {}\n", counts.messages - counts.lost,
                                 counts.paths, flags.out);
  if (counts.lost > 0) {
    text += fmt::format("{} messages of {} paths were dropped by the sniffer\n", counts.lost,
                        counts.paths_cut);
  }
  if (!flags.truth.empty()) text += fmt::format("true assignments in {}\n", flags.truth);
  return text;
}

Status CheckInterrupted() {
  if (!Interrupted()) return {};
  return EnvironmentError("interrupted", "partial files are removed; run it again");
}

Result<scenario::GeneratedTrace> WriteText(const GenerateFlags& flags,
                                           const scenario::GeneratorConfig& config,
                                           const scenario::GeneratorRequest& request,
                                           WholeFile& out, const scenario::TextSink& truth,
                                           ProgressCount& progress) {
  int64_t bytes = 0;
  const auto write = [&](std::string_view text) -> Status {
    WF_TRY(CheckInterrupted());
    progress.Show(bytes += static_cast<int64_t>(text.size()));
    return out.Write(text);
  };
  return flags.as == "otlp" ? scenario::GenerateOtlp(config, request, write, truth)
                            : scenario::GenerateText(config, request, write, truth);
}

// Through the library of captures, which opens files by name: the one that `out` has made.
Result<scenario::GeneratedTrace> WritePcap(const scenario::GeneratorConfig& config,
                                           const scenario::GeneratorRequest& request,
                                           const WholeFile& out, const scenario::TextSink& truth,
                                           ProgressCount& progress) {
  WF_ASSIGN(const auto capture,
            pcap::CaptureWriter::Create(out.written_to(), pcap::LinkType::kRawIp));
  WF_ASSIGN(
      const scenario::GeneratedTrace done,
      scenario::GeneratePcap(config, request, *capture, truth, [&](uint64_t packets) -> Status {
        progress.Show(static_cast<int64_t>(packets));
        return CheckInterrupted();
      }));
  WF_TRY(capture->Close());
  return done;
}

Status RunGenerate(const GenerateFlags& flags, const CommonFlags& common) {
  if (flags.out.empty())
    return BadInput("generate: --out is missing", "name the file to write; - is standard output");
  if (flags.truth == flags.out && flags.out != "/dev/null")
    return BadInput("generate: --truth and --out are the same file", "give it a file of its own");
  scenario::GeneratorRequest request;
  request.seed = flags.seed;
  request.start = scenario::kScenarioStart;
  if (!flags.start.empty()) {
    WF_ASSIGN(request.start, ParseInstant(flags.start, Now()));
  }
  WF_ASSIGN(const scenario::GeneratorConfig config, ReadConfig(flags.config));

  StopOnInterrupt();
  WholeFile out, truth;
  WF_TRY(out.Open(flags.out));
  scenario::TextSink truth_sink;
  if (!flags.truth.empty()) {
    WF_TRY(truth.Open(flags.truth));
    truth_sink = [&](std::string_view text) { return truth.Write(text); };
  }
  ProgressCount progress("generating", common.format, flags.as == "pcap" ? "packets" : "bytes");
  const Result<scenario::GeneratedTrace> done =
      flags.as == "pcap" ? WritePcap(config, request, out, truth_sink, progress)
                         : WriteText(flags, config, request, out, truth_sink, progress);
  progress.Finish();
  if (!done.ok()) return done.error();
  WF_TRY(truth.Finish());
  WF_TRY(out.Finish());
  if (flags.as == "pcap" && out.renamed()) {
    WholeFile names;
    WF_TRY(names.Open(flags.out + ".nodes"));
    WF_TRY(names.Write(scenario::GeneratedNodeNames(config)));
    WF_TRY(names.Finish());
  }
  // Where the messages go, nothing else does.
  if (flags.out == "-" || flags.truth == "-") return {};
  return Print(Summary(*done, flags, common.format));
}

}  // namespace

Verb AddGenerate(CLI::App& root) {
  Verb verb =
      MakeVerb(root, "generate", "Generate messages of a simulated system, with their true causes");
  const auto flags = std::make_shared<GenerateFlags>();
  verb.app->add_option("CONFIG", flags->config, "a YAML file of tracelets; see config/generate/")
      ->required();
  verb.app->add_option("--seed", flags->seed, "the same seed gives the same bytes")
      ->capture_default_str();
  verb.app->add_option("--out", flags->out, "the file of messages to write; - is standard output");
  verb.app->add_option("--truth", flags->truth, "the file of true assignments to write");
  verb.app->add_option("--as", flags->as, "output format: text, pcap or otlp")
      ->check(CLI::IsMember({"text", "pcap", "otlp"}))
      ->capture_default_str();
  verb.app->add_option("--start", flags->start,
                       "time of the first message: 3h (ago), RFC 3339 or Unix ns");
  verb.run = [flags, common = verb.common] { return RunGenerate(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
