// Rows of a live query in a dataset: those of every interval are appended, with the interval's start as time_ns, no
// trace and the row's number as row_key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "live/query_intervals.h"
#include "store/store.h"

namespace wf::live {

// A name that may be used: well-formed, and not that of a dataset that is extracted from traces.
Status CheckQueryDataset(store::Store& store, const std::string& tenant,
                         const std::string& dataset);

// Remembers that rows of live queries go there, so that they are aged; before the first ones do.
Status KeepQueryDataset(store::DocumentStore& store, const std::string& tenant,
                        const std::string& dataset);
// Deletes their old rows: after 90 days, as those of a dataset whose definition says nothing else, or after `max_age` if
// that is less (serve --retention-age). What has a definition now is aged by it.
Status RetainQueryDatasets(store::Store& store, const std::string& tenant,
                           std::optional<Nanos> max_age);

// A column's type follows its values and only ever widens (bool, int, double, text), so that one odd interval does not
// begin a new version of the column with every change. Lists are kept as JSON text.
Status AppendQueryRows(store::DatasetStore& store, const std::string& tenant,
                       const std::string& dataset, const std::vector<std::string>& columns,
                       const ClosedInterval& interval);

}  // namespace wf::live
