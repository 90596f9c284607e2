#include "pipeline/dataset_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::pipeline {
namespace {

std::string Refusal(const std::string& yaml) {
  const auto parsed = ParseDataset(yaml, "x.yaml");
  return parsed.ok() ? "accepted" : parsed.error().message;
}

TEST(DatasetDefinition, ReadsEveryKey) {
  const auto parsed = ParseDataset(
      "dataset: pages\nowner: web\nfilter: Trace | Exists\nrow: Blocks\ncolumns: |\n  Row | Name | "
      "RecordAs(\"n\")\n"
      "include: [traces, calls]\noutput: {table: true, parquet: true}\n"
      "retention: {age: 60d, subsample: 10d, keep: 1/20}\n",
      "x.yaml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->name, "pages");
  EXPECT_EQ(parsed->owner, "web");
  EXPECT_EQ(parsed->filter_line, 3);
  EXPECT_EQ(parsed->columns, "Row | Name | RecordAs(\"n\")\n");
  EXPECT_EQ(parsed->columns_line, 6);
  EXPECT_THAT(parsed->include, ::testing::ElementsAre("traces", "calls"));
  EXPECT_TRUE(parsed->parquet);
  EXPECT_EQ(parsed->retention.max_age_ns, 60 * kDay);
  EXPECT_EQ(parsed->retention.subsample_after_ns, 10 * kDay);
  EXPECT_EQ(parsed->retention.keep_one_in, 20);
}

TEST(DatasetDefinition, HasDefaults) {
  const auto parsed = ParseDataset("dataset: x\n", "x.yaml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->owner, "default");
  EXPECT_TRUE(parsed->table);
  EXPECT_FALSE(parsed->parquet);
  EXPECT_EQ(parsed->retention.max_age_ns, kDefaultRowAge);
  EXPECT_FALSE(parsed->retention.subsample_after_ns);
  EXPECT_FALSE(ParseDataset("dataset: x\nretention: forever\n", "x")->retention.max_age_ns);
}

TEST(DatasetDefinition, RefusesWithTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a dataset"},
      {"owner: x\n", "x.yaml: no name"},
      {"dataset: ../x\n", "not a valid name"},
      {"dataset: x\nowner: \"a b\"\n", "not a valid name"},
      {"dataset: x\ncolums: y\n", "x.yaml: line 2: \"colums\" is not a key of a dataset"},
      {"dataset: x\ncolumns: [a]\n", "x.yaml: line 2: columns: expected a text"},
      {"dataset: x\nretention: soon\n", "x.yaml: line 2: retention: \"soon\" is not a duration"},
      {"dataset: x\nretention: {keep: 10}\n", "is not a share"},
      {"dataset: x\nretention: {keep: 1/1}\n", "is not a share"},
      {"dataset: x\nretention: -5d\n", "is not a duration"},
      {"dataset: x\noutput: {table: false}\n", "no output chosen"},
      {"dataset: x\noutput: {csv: true}\n", "\"csv\" is not a key of output"},
      {"dataset: x\noutput: {parquet: /etc}\n", "expected true or false"},
      {"dataset: x\ninclude: [[a]]\n", "expected names"},
  };
  for (const auto& [yaml, words] : cases)
    EXPECT_THAT(Refusal(yaml), ::testing::HasSubstr(words)) << yaml;
}

}  // namespace
}  // namespace wf::pipeline
