// `wherefore export`: stored events into a file, Parquet or OTLP JSON lines. What it writes, import reads.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "answer/trace/span_table.h"
#include "answer/transfer/export_answer.h"
#include "cli/client_settings.h"
#include "cli/progress.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "store/parquet/parquet_file.h"

namespace wf::cli {
namespace {

struct ExportFlags {
  std::string to, out, since, until;
};

// Where exported batches go. One implementation a format.
class ExportFile {
 public:
  virtual ~ExportFile() = default;
  virtual Status Add(const EventBatch& batch) = 0;
  virtual Status Finish() = 0;
};

class OtlpJsonFile : public ExportFile {
 public:
  static Result<std::unique_ptr<ExportFile>> Open(const std::string& path) {
    std::unique_ptr<OtlpJsonFile> file(new OtlpJsonFile);
    file->path_ = path;
    file->file_ = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
    if (file->file_ == nullptr)
      return EnvironmentError(path + ": " + std::strerror(errno), "is the folder writable?");
    return std::unique_ptr<ExportFile>(std::move(file));
  }
  ~OtlpJsonFile() override {
    if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  }
  Status Add(const EventBatch& batch) override {
    text_.clear();
    answer::AppendOtlpLines(batch, text_);
    if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) return Failed();
    return {};
  }
  Status Finish() override {
    if (std::fflush(file_) != 0) return Failed();
    if (file_ != stdout) {
      FILE* file = std::exchange(file_, nullptr);
      if (std::fclose(file) != 0) return Failed();
    }
    return {};
  }

 private:
  Error Failed() const {
    return EnvironmentError(path_ + ": " + std::strerror(errno), "is the disk full?");
  }
  std::string path_, text_;
  FILE* file_ = nullptr;
};

class ParquetExport : public ExportFile {
 public:
  static Result<std::unique_ptr<ExportFile>> Open(const std::string& path) {
    std::vector<store::parquet::ParquetColumn> columns;
    for (const answer::SpanColumn& column : answer::SpanColumns()) {
      const bool text = column.type == answer::SpanColumnType::kText;
      columns.push_back({text ? store::parquet::ParquetColumn::Type::kText
                              : store::parquet::ParquetColumn::Type::kInt64,
                         std::string(column.name)});
    }
    std::unique_ptr<ParquetExport> out(new ParquetExport);
    WF_ASSIGN(out->file_, store::parquet::ParquetFile::Open(path, std::move(columns)));
    return std::unique_ptr<ExportFile>(std::move(out));
  }
  Status Add(const EventBatch& batch) override {
    answer::SpanTable table = answer::MakeSpanTable(batch);
    return file_->Add({std::move(table.texts), std::move(table.integers), table.rows});
  }
  Status Finish() override { return file_->Finish(); }

 private:
  std::unique_ptr<store::parquet::ParquetFile> file_;
};

// A served store answers in windows of receipt and of time; one that holds too much is halved until it fits.
struct Window {
  store::TimeRange received{0, INT64_MAX}, time;
};

Status FetchWindow(StoreAccess& access, const Window& window,
                   const std::function<Status(const EventBatch&)>& take) {
  answer::Question question{"export", "", {}};
  question.params.Add("to", "batches");
  question.params.Add("since", std::to_string(window.time.from));
  question.params.Add("until", std::to_string(window.time.until));
  question.params.Add("received_since", std::to_string(window.received.from));
  question.params.Add("received_until", std::to_string(window.received.until));
  WF_ASSIGN(const answer::Answer answer, access.Ask(question));
  WF_ASSIGN(const answer::ExportedBatches exported, answer::ParseExportedBatches(answer.body));
  if (exported.complete) {
    for (const EventBatch& batch : exported.batches) WF_TRY(take(batch));
    return {};
  }
  // By receipt first; rows of one import share it, then by their own time.
  const bool by_receipt = window.received.until - window.received.from > 1;
  Window first = window, second = window;
  store::TimeRange& earlier = by_receipt ? first.received : first.time;
  store::TimeRange& later = by_receipt ? second.received : second.time;
  const Nanos middle = std::midpoint(earlier.from, earlier.until);
  if (middle == earlier.from) {
    return EnvironmentError("export: too many events share one timestamp",
                            "stop the server and export from its directory");
  }
  earlier.until = later.from = middle;
  WF_TRY(FetchWindow(access, first, take));
  return FetchWindow(access, second, take);
}

Status RunExport(const ExportFlags& flags, const CommonFlags& common) {
  if (flags.out.empty())
    return BadInput("--out is missing", "name the file to write: --out traces.parquet");
  std::string to = flags.to;
  if (to.empty())
    to = flags.out.size() > 8 && flags.out.substr(flags.out.size() - 8) == ".parquet" ? "parquet"
                                                                                      : "otlp-json";
  if (to == "parquet" && flags.out == "-") {
    return BadInput("--out -: Parquet cannot be written to a pipe",
                    "name a file: --out traces.parquet");
  }
  const Nanos now = Now();
  store::ScanOptions scan;
  if (!flags.since.empty()) {
    WF_ASSIGN(scan.time.from, ParseInstant(flags.since, now));
  }
  if (!flags.until.empty()) {
    WF_ASSIGN(scan.time.until, ParseInstant(flags.until, now));
  }
  if (scan.time.from > scan.time.until) {
    return BadInput("--since is after --until", "swap them, or leave one out");
  }
  WF_ASSIGN(const auto access, StoreAccess::Open(common.store));
  WF_ASSIGN(const auto file,
            to == "parquet" ? ParquetExport::Open(flags.out) : OtlpJsonFile::Open(flags.out));
  int64_t events = 0;
  ProgressCount progress("exported", common.format);
  const auto take = [&](const EventBatch& batch) -> Status {
    events += static_cast<int64_t>(batch.size());
    progress.Show(events);
    return file->Add(batch);
  };
  if (access->served()) {
    Window everything;
    everything.time = scan.time;
    WF_TRY(FetchWindow(*access, everything, take));
  } else {
    Status failed;
    WF_TRY(access->local().Scan(TheClientSettings().LocalTenant(), scan, [&](EventBatch batch) {
      failed = take(batch);
      return failed.ok();
    }));
    WF_TRY(failed);
  }
  WF_TRY(file->Finish());
  progress.Finish();
  if (flags.out == "-") return {};
  if (common.format == "json") {
    JsonWriter json;
    json.BeginObject().Field("events", events).Field("file", flags.out).Field("to", to).EndObject();
    return Print(json.Take() + "\n");
  }
  return Print(std::to_string(events) + " events written to " + flags.out + "\n");
}

}  // namespace

Verb AddExport(CLI::App& root) {
  Verb verb = MakeVerb(root, "export", "Write stored events to a file: Parquet or OTLP JSON");
  const auto flags = std::make_shared<ExportFlags>();
  verb.app->add_option("--to", flags->to, "parquet or otlp-json (default: by the file name)")
      ->check(CLI::IsMember({"parquet", "otlp-json"}));
  verb.app->add_option("--out", flags->out, "the file to write; - for standard output (OTLP JSON)");
  verb.app->add_option("--since", flags->since, "start time: 15m (ago), RFC 3339 or Unix ns");
  verb.app->add_option("--until", flags->until, "end time, in the same forms");
  verb.run = [flags, common = verb.common] { return RunExport(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
