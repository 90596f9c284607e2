// `wherefore import PATH…`: files and folders into the store, format by content.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "answer/transfer/import_answer.h"
#include "cli/client_settings.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "import/detect/file_splitter.h"
#include "import/detect/format_detector.h"
#include "import/detect/sighting_input.h"
#include "import/messages/message_text.h"
#include "import/recording/recording_events.h"
#include "pipeline/finish_import.h"
#include "pipeline/message_import.h"
#include "pipeline/pipeline.h"
#include "pipeline/store_datasets.h"
#include "security/hash_key.h"
#include "store/open/open_store.h"

namespace wf::cli {
namespace {

namespace fs = std::filesystem;

// Files in name order, folders walked; hidden files are not data.
Result<std::vector<std::string>> ListFiles(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ec;
    const fs::file_status status = fs::status(path, ec);
    if (!fs::exists(status)) return BadInput(path + ": no such file or folder", "check the path");
    if (!fs::is_directory(status)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator
             it(path, fs::directory_options::skip_permission_denied, ec),
         end;
         it != end; it.increment(ec)) {
      const std::string name = it->path().filename().string();
      if (!name.empty() && name[0] == '.') {
        if (it->is_directory(ec)) it.disable_recursion_pending();
        continue;
      }
      if (it->is_regular_file(ec)) found.push_back(it->path().string());
    }
    if (ec) return EnvironmentError(path + ": " + ec.message(), "is the folder readable?");
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty())
    return BadInput("no files to import", "give files, or folders that contain some");
  return files;
}

int64_t TotalBytes(const std::vector<std::string>& files) {
  int64_t total = 0;
  for (const std::string& file : files) {
    struct stat facts;
    if (::stat(file.c_str(), &facts) == 0) total += facts.st_size;
  }
  return total;
}

struct ImportFlags {
  std::vector<std::string> paths, rules;
  std::optional<int64_t> max_events_per_trace;
};

// Files of messages are read together, as if they were one: a call may be seen in one and its return in another.
struct ImportFiles {
  std::vector<std::string> messages, traces;
};

ImportFiles Sorted(const std::vector<std::string>& files) {
  ImportFiles sorted;
  for (const std::string& file : files) {
    // One that cannot be read is left to the importer of events, which says why.
    const auto found = detect::DetectFileAt(file);
    const bool messages = found.ok() && found->holds_messages();
    (messages ? sorted.messages : sorted.traces).push_back(file);
  }
  return sorted;
}

// What `wherefore messages` prints of them.
Result<std::string> MergedMessages(const std::vector<std::string>& files) {
  detect::SightingOptions options;
  options.texts = detect::SightingTexts::kKeep;
  StringTable nodes;
  WF_ASSIGN(const auto input, detect::SightingInput::Open(files, options, nodes));
  std::string text;
  SightingLine line;
  while (true) {
    WF_ASSIGN(const bool more, input->Next(line));
    if (!more) return text;
    messages::AppendMessageLine(line, nodes.At(line.sighting.sender),
                                nodes.At(line.sighting.receiver), text);
  }
}

constexpr size_t kTracesModeled = 100'000;  // by one request: 3 MB of ids, seconds of work

// Where the tailer keeps its queue during this import: in the store's directory, which is ours alone. Over a store that
// others have open too, in a folder that goes with us: what was received meanwhile is their tailers' work.
class TailerFolder {
 public:
  TailerFolder(const store::Store& store, const std::string& files)
      : path_(files + "/tailer"), passing_(store.Traits().shared) {
    if (passing_) path_ += "-" + std::to_string(::getpid());
  }
  TailerFolder(const TailerFolder&) = delete;
  TailerFolder& operator=(const TailerFolder&) = delete;
  ~TailerFolder() {
    std::error_code ignored;
    if (passing_) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const bool passing_;
};

// Rows of datasets are extracted here, by the same code as a server's.
Result<pipeline::ImportReport> ImportHere(StoreAccess& access, const ImportFlags& flags,
                                          const decode::DecodeOptions& decode,
                                          const ImportFiles& files, ProgressBar& progress) {
  store::Store& store = access.local();
  const TailerFolder folder(store, access.files());
  pipeline::StoreDatasets datasets(store, access.files() + "/parquet");
  pipeline::TailerOptions options;
  if (flags.max_events_per_trace) options.cache.max_events_per_trace = *flags.max_events_per_trace;
  options.threads = pipeline::TailerOptions::Threads::kNone;
  WF_ASSIGN(const auto tailer,
            pipeline::Tailer::Start({store, datasets, datasets, folder.path()}, options));
  tailer->Step();  // what a server left undone is noted before new events come
  pipeline::ImportJob job(store, TheClientSettings().LocalTenant(), decode, tailer->Limits());
  size_t done = 0;
  if (!files.messages.empty()) {
    size_t read = 0;
    WF_TRY(pipeline::ImportMessageFiles(files.messages, TheClientSettings().LocalTenant(), store,
                                        job, [&](size_t bytes) {
                                          read = bytes;
                                          progress.Show(bytes);
                                          return !Interrupted();
                                        }));
    done += read;
  }
  for (const std::string& file : files.traces) {
    size_t in_file = 0;
    WF_TRY(job.AddFile(file, [&](size_t bytes) {
      in_file = bytes;
      progress.Show(done + bytes);
      return !Interrupted();
    }));
    done += in_file;
  }
  WF_ASSIGN(const pipeline::ImportReport report,
            pipeline::FinishImport(job, store, TheClientSettings().LocalTenant(), tailer.get()));
  WF_TRY(
      datasets.WriteFiles(TheClientSettings().LocalTenant(), pipeline::StoreDatasets::When::kNow));
  return report;
}

// A served store takes each file as an upload, a large one in pieces, then the ids of all their traces, to be modeled
// together.
Result<pipeline::ImportReport> ImportThere(StoreAccess& access, const ImportFiles& files,
                                           ProgressBar& progress) {
  pipeline::ImportReport total;
  std::set<TraceId> traces;
  const auto send = [&](const answer::Params& params,
                        std::string_view content) -> Result<pipeline::ImportReport> {
    WF_ASSIGN(const answer::Answer answer, access.Upload(params, content));
    return pipeline::ParseImportReport(answer.body);
  };
  const auto stopped = [] {
    return EnvironmentError("import: stopped; records sent so far are stored",
                            "run it again: no duplicates are stored");
  };
  if (!files.messages.empty()) {
    WF_ASSIGN(const std::string text, MergedMessages(files.messages));
    answer::Params params({{"name", files.messages.size() == 1 ? files.messages[0] : "messages"},
                           {"model", "later"}});
    WF_ASSIGN(const pipeline::ImportReport one, send(params, text));
    pipeline::AddImportReport(one, total);
    traces.insert(one.trace_ids.begin(), one.trace_ids.end());
  }
  size_t done = 0;
  for (const std::string& file : files.traces) {
    std::ifstream in(file, std::ios::binary);
    if (!in) return EnvironmentError(file + ": cannot be read", "check its permissions");
    // One that is too large for a request is sent as the events it becomes; then the server has no pages of it to show.
    char magic[8] = {};
    const bool recorded =
        in.read(magic, sizeof(magic)) &&
        detect::DetectFile({magic, sizeof(magic)}, detect::HeadExtent::kBeginning, file).format ==
            detect::ImportFormat::kRecording;
    if (recorded &&
        TotalBytes({file}) > static_cast<int64_t>(detect::FileSplitterOptions().whole_bytes)) {
      WF_ASSIGN(const recorder::Recording recording, recorder::ReadRecording(file));
      WF_TRY(recording::RecordingToEvents(recording, [&](const std::string& body) -> Status {
        if (Interrupted()) return stopped();
        WF_ASSIGN(const pipeline::ImportReport one,
                  send(answer::Params({{"name", file}, {"model", "later"}}), body));
        pipeline::AddImportReport(one, total);
        traces.insert(one.trace_ids.begin(), one.trace_ids.end());
        return {};
      }));
      continue;
    }
    in.clear();
    in.seekg(0);
    detect::FileSplitter pieces(
        [&](char* buffer, size_t size) -> Result<size_t> {
          in.read(buffer, static_cast<std::streamsize>(size));
          if (in.bad()) return EnvironmentError(file + ": cannot be read", "is it a file?");
          done += static_cast<size_t>(in.gcount());
          return static_cast<size_t>(in.gcount());
        },
        file);
    while (true) {
      if (Interrupted()) return stopped();
      WF_ASSIGN(const std::optional<detect::FilePiece> piece, pieces.Next());
      if (!piece) break;
      answer::Params params({{"name", file}, {"model", "later"}});
      if (piece->continues) params.Add("continues", answer::FormatContinuation(*piece->continues));
      WF_ASSIGN(const pipeline::ImportReport one, send(params, piece->content));
      pipeline::AddImportReport(one, total);
      traces.insert(one.trace_ids.begin(), one.trace_ids.end());
      progress.Show(done);
    }
  }
  // The server counted pieces.
  total.files = static_cast<int64_t>(files.messages.size() + files.traces.size());
  answer::Params model_only;
  model_only.Add("model", "only");
  total.traces = static_cast<int64_t>(traces.size());
  for (auto next = traces.begin(); next != traces.end();) {
    std::string ids;
    for (size_t n = 0; n < kTracesModeled && next != traces.end(); ++n, ++next)
      ids += ToHex(*next) + "\n";
    WF_ASSIGN(const pipeline::ImportReport modeled, send(model_only, ids));
    pipeline::AddImportReport(modeled, total);
    if (total.trace_ids.empty()) total.trace_ids = modeled.trace_ids;
  }
  return total;
}

Status RunImport(const ImportFlags& flags, const CommonFlags& common) {
  decode::DecodeOptions decode;
  for (const std::string& rule : flags.rules) {
    WF_ASSIGN(auto parsed, ParseAttributeRule(rule));
    decode.rules.push_back(std::move(parsed));
  }
  WF_ASSIGN(const auto files, ListFiles(flags.paths));
  WF_ASSIGN(const auto access, StoreAccess::Open(common.store));
  if (access->served() && !flags.rules.empty()) {
    return BadInput("--attribute-rule: this store belongs to a running server, whose rules apply",
                    "give the rules to wherefore serve");
  }
  if (access->served() && flags.max_events_per_trace) {
    return BadInput(
        "--max-events-per-trace: this store belongs to a running server, whose limit applies",
        "give the limit to wherefore serve");
  }
  if (!flags.rules.empty()) {
    WF_ASSIGN(decode.hash_key, access->local().Traits().shared
                                   ? security::SharedHashKey(access->local())
                                   : security::LoadHashKey(common.store));
  }
  StopOnInterrupt();
  ProgressBar progress("importing", TotalBytes(files), common.format);
  const ImportFiles sorted = Sorted(files);
  auto report = access->served() ? ImportThere(*access, sorted, progress)
                                 : ImportHere(*access, flags, decode, sorted, progress);
  progress.Finish();
  if (!report.ok()) return report.error();
  return Print(common.format == "json" ? pipeline::ImportReportJson(*report)
                                       : pipeline::ImportReportText(*report));
}

}  // namespace

Verb AddImport(CLI::App& root) {
  Verb verb = MakeVerb(root, "import", "Import files and folders; the format is detected");
  const auto flags = std::make_shared<ImportFlags>();
  verb.app
      ->add_option(
          "PATH", flags->paths,
          "OTLP JSON or protobuf, Zipkin v2, Jaeger JSON, HTrace JSON; messages of black boxes: "
          "text, captures (pcap), mail; recorded programs (.cpg); gzip and zstd too")
      ->required();
  verb.app
      ->add_option("--attribute-rule", flags->rules,
                   "drop or hash attributes before storing: \"ACTION [PLACE] KEY\"; repeatable")
      ->take_all();
  verb.app
      ->add_option("--max-events-per-trace", flags->max_events_per_trace,
                   "max events stored per trace (1000000)")
      ->check(CLI::PositiveNumber);
  verb.run = [flags, common = verb.common] { return RunImport(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
