// Messages into the store: each is kept as it was seen, and the paths inferred from them become traces.
#pragma once

#include <string>
#include <vector>

#include "model/sighting.h"
#include "pipeline/import_job.h"
#include "store/store.h"

namespace wf::pipeline {

struct MessageImport {
  int64_t messages = 0;  // sightings read; the store keeps each once
  uint64_t unpaired_calls = 0, unpaired_returns = 0, msgs = 0;
  std::string algorithm, why;
  // Inferred; none by convolution, which gives delays and no single paths.
  uint64_t traces = 0, spans = 0;
};

// `source` gives texts too (SightingTexts::kKeep); `nodes` is the table it interns into.
Result<MessageImport> ImportMessages(SightingSource& source, const StringTable& nodes,
                                     const std::string& tenant, store::MessageStore& store,
                                     ImportJob& job);

// One file or several, merged: the job's report says what came of them.
Status ImportMessageFiles(const std::vector<std::string>& paths, const std::string& tenant,
                          store::MessageStore& store, ImportJob& job,
                          const ImportJob::Progress& progress);

// The same of an uploaded file's bytes.
Status ImportMessageContent(std::string_view name, std::string_view content,
                            const std::string& tenant, store::MessageStore& store, ImportJob& job);

}  // namespace wf::pipeline
