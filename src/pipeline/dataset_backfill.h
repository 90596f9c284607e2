// Runs stored traces through a dataset: all of a time range into its rows (backfill), or the newest few to
// see the result and the cost (trial). Thread safety: each call by one thread; the store is shared.
#pragma once

#include <functional>
#include <string>

#include "pipeline/dataset_extractor.h"

namespace wf::pipeline {

constexpr size_t kTrialTraces = 1000;  // matching traces
// Max traces examined: a filter that accepts one in twenty still finds its thousand.
constexpr size_t kTrialLookedAt = 20 * kTrialTraces;

// Traces that start in `time`, oldest part of the store first. Earlier rows of each are replaced, so a
// repeated backfill changes nothing. `progress` receives the number of traces so far; if it returns false the
// backfill stops, and rows already written stay.
using BackfillProgress = std::function<bool(int64_t traces)>;
Status BackfillDataset(store::Store& store, const std::string& tenant, store::TimeRange time,
                       DatasetExtractor& extractor, const BackfillProgress& progress);

// Runs the newest traces through the extractor until kTrialTraces matched; nothing is written.
Status TryDataset(store::Store& store, const std::string& tenant, DatasetExtractor& extractor);

}  // namespace wf::pipeline
