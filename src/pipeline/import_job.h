// ImportJob: files → events → store, once. Every row is looked up first, so a repeated import changes
// nothing. Then the imported traces are modeled, so that the report can list repairs. For live traffic see
// src/server.
//
// Rows of small files are collected and stored together: a look-up and an append per file would take longer
// than reading it, and a database that makes a part of every insert accepts only a few per second.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/detect/importer.h"
#include "pipeline/blacklist.h"
#include "store/store.h"

namespace wf::pipeline {

struct ImportReport {
  int64_t files = 0;
  int64_t traces = 0;      // distinct, in all input
  int64_t spans = 0;       // stored: not there before
  int64_t events = 0;      // stored, of all types
  int64_t duplicates = 0;  // already stored, or twice in the input
  int64_t rejected = 0;
  int64_t messages = 0;                    // of black boxes, from whose paths traces were inferred
  std::map<std::string, int64_t> repairs;  // of decoding and of modeling
  std::map<std::string, int64_t> reasons;  // of what was rejected
  std::string first_fault;         // place of the first value that is not in the file's format
  std::vector<TraceId> trace_ids;  // the first 100
  store::TimeRange time{
      INT64_MAX,
      INT64_MIN};  // of the stored rows, by the recorded clocks; from > until if there are none
};

class ImportJob {
 public:
  // `limits`: events of a trace beyond them are counted (trace_too_long) and not stored, like received ones.
  ImportJob(store::Store& store, std::string tenant, decode::DecodeOptions decode,
            TraceLimits limits = {});

  // Progress in bytes of the source as it is on disk. Returning false stops the import (Ctrl-C): rows already
  // accepted stay, and the error says so.
  using Progress = std::function<bool(size_t bytes)>;
  Status AddFile(const std::string& path, const Progress& progress);
  // The content of one uploaded file, compressed or not.
  Status AddContent(std::string_view name, std::string_view content,
                    std::optional<detect::FileContinuation> continues = std::nullopt);

  // Rows made elsewhere: paths inferred from messages.
  Status AddBatch(EventBatch&& batch);
  void AddMessages(int64_t files, int64_t messages, const std::map<std::string, int64_t>& repairs);

  // Traces imported by other jobs, to be modeled by this one's Finish.
  void AddTraces(const std::vector<TraceId>& ids);
  const std::set<TraceId>& traces() const { return traces_; }
  // Models the imported traces; only then everything is durable, modeled and visible. kLater leaves the
  // modeling to another job and reports every trace id: a trace may be spread over several files, and is
  // complete only after the last.
  enum class Modeling { kNow, kLater };
  Result<ImportReport> Finish(Modeling modeling = Modeling::kNow);

 private:
  detect::ImportOptions Options() const;
  Status Count(const std::string& name, const Result<detect::ImportResult>& result);
  Status Take(EventBatch batch);
  Status KeepGathered();
  Status KeepNew(EventBatch batch);
  void WidenTime(Nanos start);
  bool Refuses(TraceId id, int64_t stored);
  void Refuse(TraceId id);  // from now on, from any source
  Status Keep(const EventBatch& batch);
  Status Model();

  store::Store& store_;
  std::string tenant_;
  decode::DecodeOptions decode_;
  TraceLimits limits_;
  ImportReport report_;
  decode::DecodeReport decoded_;
  EventBatch gathered_;  // rows of small files, not stored yet
  std::set<TraceId> traces_;
  bool times_unknown_ = false;  // for traces that other jobs imported
};

std::string ImportReportJson(const ImportReport& report);
Result<ImportReport> ParseImportReport(std::string_view json);
// Adds everything except traces and trace_ids, which several files may share.
void AddImportReport(const ImportReport& one, ImportReport& total);
std::string ImportReportText(const ImportReport& report);

}  // namespace wf::pipeline
