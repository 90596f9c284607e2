// Questions about datasets, changes of them, and programs of the feature language.
#include "answer/dataset/dataset_answer.h"
#include "answer/dataset/feature_answer.h"
#include "answer/questions/flags.h"
#include "answer/questions/questions.h"

namespace wf::answer {
namespace {

constexpr QuestionArgument kDataset = {"DATASET", ArgumentUse::kRequired, "a dataset's name"};
std::vector<std::string_view> RowFormats() { return {"text", "json", "csv", "parquet"}; }

QuestionFlag WhereFlag() {
  return TextFlag("where", "only rows that meet these conditions, as in 'latency_ns > 250ms'")
      .Value("CONDITIONS")
      .Repeatable();
}

QuestionKind QueryKind() {
  return {.action = "query",
          .summary = "Rows of a dataset, filtered; or one row a group, with aggregates",
          .argument = kDataset,
          .flags =
              {WhereFlag(),
               TextFlag("group_by", "one result row for each value of these columns")
                   .Value("COLUMNS")
                   .Repeatable(),
               TextFlag("agg", "count, sum(C), mean(C), min(C), max(C), pNN(C), distinct(C)")
                   .Value("AGGREGATES")
                   .Repeatable(),
               DurationFlag("bucket", "… and for each span of time of this length, as in 1m"),
               TextFlag("order", "by this result column, asc or desc").Value("COLUMN").Repeatable(),
               TextFlag("columns", "only these columns of the rows").Value("COLUMNS").Repeatable(),
               IntegerFlag("limit", 1, 1'000'000, "at most N rows").Unit("rows").Default("1000"),
               SinceFlag(), UntilFlag()},
          .formats = RowFormats(),
          .answer = AnswerDatasetQuery};
}

QuestionKind CompareKind() {
  return {.action = "compare",
          .summary = "Which columns explain the difference between two populations",
          .argument = kDataset,
          .flags =
              {TextFlag("a", "the rows of the first population; rest: all but the second")
                   .Value("CONDITIONS")
                   .Required(),
               TextFlag("b", "the rows of the second; rest: all but the first")
                   .Value("CONDITIONS")
                   .Required(),
               TextFlag("metric", "the number whose difference is to be explained").Value("COLUMN"),
               ChoiceFlag("show", {"significant", "all"}, "significant differences, or all")
                   .Default("significant"),
               WhereFlag(), SinceFlag(), UntilFlag()},
          .answer = AnswerDatasetCompare};
}

QuestionKind ApplyKind() {
  return {.action = "apply",
          .summary = "Try a definition on the newest traces that match, and save it",
          .flags = {SwitchFlag("force", "also above the owner's share of CPU time"),
                    SwitchFlag("trial", "show rows and cost, save nothing"),
                    DurationFlag("share", "the owner's share of CPU time, for each trace")
                        .Default("10ms"),
                    TextFlag("name", "what errors call the definition").RequestsOnly()},
          .method = "POST",
          .right = QuestionRight::kWrite,
          .body = BodyUse::kRequired,
          .body_help = "the definition, YAML (docs/use/datasets.md)",
          .command = "dataset apply FILE",
          .answer = AnswerDatasetApply};
}

QuestionVerb DatasetVerb() {
  return {
      .verb = "dataset",
      .summary = "Tables of features: ask, compare, define, fill",
      .kinds = {{.action = "list",
                 .summary = "The datasets, with what is stored of each",
                 .answer = AnswerDatasetList},
                {.action = "columns",
                 .summary = "A dataset's columns, those that most queries used first",
                 .argument = kDataset,
                 .answer = AnswerDatasetColumns},
                QueryKind(),
                CompareKind(),
                {.action = "sql",
                 .summary = "One SELECT over datasets, in the engine's own SQL",
                 .flags = {TextFlag("sql", "the statement").RequestsOnly().Required()},
                 .formats = RowFormats(),
                 .command = "dataset sql STATEMENT",
                 .answer = AnswerDatasetSql},
                ApplyKind(),
                {.action = "backfill",
                 .summary = "Fill a dataset from stored traces; their earlier rows are replaced",
                 .argument = kDataset,
                 .flags = {SinceFlag(), UntilFlag()},
                 .method = "POST",
                 .right = QuestionRight::kWrite,
                 .answer = AnswerDatasetBackfill},
                {.action = "delete",
                 .summary = "Delete a dataset's definition and rows",
                 .argument = kDataset,
                 .method = "DELETE",
                 .right = QuestionRight::kWrite,
                 .answer = AnswerDatasetDelete}},
      .place = ActionPlace::kPath};
}

QuestionVerb FeatureVerb() {
  const QuestionFlag program =
      TextFlag("program", "the program, unless it is the body").Value("PROGRAM").RequestsOnly();
  const char* const body =
      "the program, or JSON {\"program\",\"library\":{NAME:TEXT}} with the texts it uses";
  return {.verb = "feature",
          .summary = "Check a feature program, or run it on a trace",
          .kinds = {{.action = "check",
                     .summary = "What is wrong with a program of the feature language",
                     .flags = {program},
                     .body = BodyUse::kOptional,
                     .body_help = body,
                     .command = "feature check FILE",
                     .answer = AnswerFeatureCheck},
                    {.action = "run",
                     .summary = "The rows that a program gives for one trace",
                     .flags = {program, TextFlag("trace", "on this trace").Value("ID").Required(),
                               TextFlag("row", "what makes a row, as in a dataset")
                                   .Value("PIPELINE")
                                   .Default("Trace")},
                     .body = BodyUse::kOptional,
                     .body_help = body,
                     .command = "feature run FILE",
                     .answer = AnswerFeatureRun}},
          .place = ActionPlace::kArgument};
}

}  // namespace

std::vector<QuestionVerb> DatasetQuestions() { return {DatasetVerb(), FeatureVerb()}; }

}  // namespace wf::answer
