// `dataset`: tables of features extracted from traces (Canopy §3.5, §4.5). One verb, several actions:
//
//   list, columns NAME, query NAME, compare NAME, sql      questions
//   apply, backfill NAME, delete NAME                      changes
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "answer/frame/answer.h"
#include "pipeline/dataset_backfill.h"

namespace wf::answer {

// question.argument is the dataset's name, of those that take one.
Result<Answer> AnswerDatasetList(const AnswerContext&, const Question&);
Result<Answer> AnswerDatasetColumns(const AnswerContext&, const Question&);
Result<Answer> AnswerDatasetQuery(const AnswerContext&, const Question&);
Result<Answer> AnswerDatasetCompare(const AnswerContext&, const Question&);
Result<Answer> AnswerDatasetSql(const AnswerContext&, const Question&);
Result<Answer> AnswerDatasetApply(const AnswerContext&, const Question&);
Result<Answer> AnswerDatasetBackfill(const AnswerContext&, const Question&);
Result<Answer> AnswerDatasetDelete(const AnswerContext&, const Question&);

// What all datasets of an owner may cost together, of CPU time a trace, unless a change is forced. A trace of some
// hundred events is built in about 1 ms; the owner of datasets should not cost ten times that.
constexpr Nanos kOwnerShare = 10 * kMilli;

// What the trial of `apply` measured, by dataset; those never applied have none.
struct DatasetCost {
  std::string owner;
  Nanos cost_ns = 0;  // of CPU time a trace
};
Result<std::map<std::string, DatasetCost>> ReadDatasetCosts(const AnswerContext& context);

// Backfill with progress, and its report.
Result<pipeline::ExtractCounts> Backfill(const AnswerContext& context, const std::string& dataset,
                                         store::TimeRange time,
                                         const pipeline::BackfillProgress& progress);
std::string BackfillReportJson(const std::string& dataset, const pipeline::ExtractCounts& counts);
std::string BackfillReportText(const std::string& dataset, const pipeline::ExtractCounts& counts);
Result<pipeline::ExtractCounts> ParseBackfillReport(std::string_view json);
Result<store::TimeRange> ParseTimeRange(const Params& params, Nanos now);  // since, until

}  // namespace wf::answer
