// The catalogue, extraction and backfill over a store in memory.
#include "pipeline/dataset_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "pipeline/dataset_backfill.h"
#include "store/conformance.h"
#include "store/open/open_store.h"
#include "store/rows_builder.h"

namespace wf::pipeline {
namespace {

constexpr char kPages[] =
    "dataset: pages\nrow: Trace\ncolumns: |\n  Trace | Duration | RecordAs(\"latency_ns\")\n"
    "  Blocks | Count | RecordAs(\"blocks\")\n";

class DatasetCatalogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "wherefore-catalog-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    auto opened = store::OpenStore(directory_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }
  void Save(const std::string& name, const std::string& yaml) {
    ASSERT_TRUE(store_->PutDocument("default", kDatasetKind, name, yaml).ok());
  }
  DatasetCatalog Load() {
    auto catalog = DatasetCatalog::Load(*store_, "default");
    EXPECT_TRUE(catalog.ok());
    return std::move(*catalog);
  }
  // Trace n: a root of n + 1 ms with one child, starting n minutes after kT0.
  void AppendTraces(uint64_t from, uint64_t until) {
    store::BatchBuilder b;
    b.Process("web");
    for (uint64_t n = from; n < until; ++n) {
      const Nanos start = store::kT0 + static_cast<Nanos>(n) * kMinute;
      b.Span({1, n + 1}, 1, 0, start, static_cast<Nanos>(n + 1) * kMilli, "root")
          .Kind(SpanKind::kServer);
      b.Span({1, n + 1}, 2, 1, start + 10, 20, "child");
    }
    ASSERT_TRUE(store_->AppendAndWait(b.Take()).ok());
  }
  ExtractCounts Fill(const std::string& name, store::TimeRange time = {}) {
    const DatasetCatalog catalog = Load();
    auto definition = catalog.Get(name);
    auto plan = catalog.Compile(*definition, name);
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    DatasetExtractor extractor(*definition, *plan);
    const Status filled =
        BackfillDataset(*store_, "default", time, extractor, [](int64_t) { return true; });
    EXPECT_TRUE(filled.ok()) << filled.error().message;
    return extractor.counts();
  }
  std::vector<std::string> Rows(const std::string& name, std::vector<std::string> columns) {
    DatasetQuery query;
    query.columns = std::move(columns);
    query.order = {{query.columns[0], SortDirection::kAscending}};
    auto rows = store_->QueryRows("default", name, query);
    return rows.ok() ? store::Lines(rows->table) : std::vector<std::string>{rows.error().message};
  }

  std::string directory_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(DatasetCatalogTest, StandingDatasetsCompile) {
  const DatasetCatalog catalog = Load();
  EXPECT_TRUE(catalog.faults().empty());
  std::vector<std::string> names;
  for (const DatasetDefinition& definition : catalog.definitions()) {
    names.push_back(definition.name);
    EXPECT_TRUE(definition.standing);
    const auto plan = catalog.Compile(definition, definition.name);
    EXPECT_TRUE(plan.ok()) << plan.error().message;
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"calls", "critical_path", "repairs", "traces"}));
}

TEST_F(DatasetCatalogTest, SavedOnesWinAndFaultsStayVisible) {
  Save("traces", "dataset: traces\ncolumns: Trace | Duration | RecordAs(\"d\")\n");
  Save("broken", "dataset: [\n");
  Save("calls", "");
  const DatasetCatalog catalog = Load();
  EXPECT_FALSE(catalog.Find("traces")->standing);
  EXPECT_EQ(catalog.Find("calls"), nullptr);
  ASSERT_EQ(catalog.faults().size(), 1u);
  EXPECT_EQ(catalog.faults()[0].first, "broken");
  EXPECT_THAT(catalog.Get("trace").error().hint, ::testing::HasSubstr("traces"));
}

TEST_F(DatasetCatalogTest, IncludesColumnsButNotItself) {
  Save("pages", kPages);
  Save("more",
       "dataset: more\ninclude: pages\ncolumns: Trace | Label(service) | RecordAs(\"s\")\n");
  Save("round", "dataset: round\ninclude: [again]\n");
  Save("again", "dataset: again\ninclude: [round]\n");
  const DatasetCatalog catalog = Load();
  const auto plan = catalog.Compile(*catalog.Find("more"), "more");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::vector<std::string> names;
  for (const ColumnDefinition& column : plan->columns()) names.push_back(column.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("latency_ns", "blocks", "s"));
  EXPECT_THAT(catalog.Compile(*catalog.Find("round"), "round").error().message,
              ::testing::HasSubstr("includes itself"));
}

TEST_F(DatasetCatalogTest, BackfillTakesWholeTracesOfTheRangeOnce) {
  Save("pages", kPages);
  AppendTraces(0, 50);
  ASSERT_TRUE(store_->Flush().ok());
  AppendTraces(50, 60);  // still in memory
  const ExtractCounts some = Fill("pages", {store::kT0 + 10 * kMinute, store::kT0 + 20 * kMinute});
  EXPECT_EQ(some.rows, 10);
  // The range begins between the root's and the child's start: the child's trace started before it.
  EXPECT_EQ(Fill("pages", {store::kT0 + 5, store::kT0 + 15}).rows, 0);
  EXPECT_EQ(Fill("pages").rows, 60);
  EXPECT_EQ(Fill("pages").rows, 60);
  const auto rows = Rows("pages", {"latency_ns", "blocks"});
  ASSERT_EQ(rows.size(), 60u);
  EXPECT_EQ(rows[0], "1000000|2");
  EXPECT_EQ(rows[59], "60000000|2");
}

TEST_F(DatasetCatalogTest, ATraceThatGrewReplacesItsRow) {
  Save("pages", kPages);
  AppendTraces(0, 2);
  Fill("pages");
  store::BatchBuilder late;
  late.Process("web");
  late.Span({1, 1}, 3, 1, store::kT0 + 20, 30, "late");
  ASSERT_TRUE(store_->AppendAndWait(late.Take()).ok());
  Fill("pages");
  EXPECT_THAT(Rows("pages", {"latency_ns", "blocks"}),
              ::testing::ElementsAre("1000000|3", "2000000|2"));
}

TEST_F(DatasetCatalogTest, ATrialWritesNothing) {
  Save("pages", kPages);
  AppendTraces(0, 30);
  const DatasetCatalog catalog = Load();
  DatasetExtractor extractor(*catalog.Find("pages"), *catalog.Compile(*catalog.Find("pages"), "x"));
  ASSERT_TRUE(TryDataset(*store_, "default", extractor).ok());
  EXPECT_EQ(extractor.counts().matched, 30);
  EXPECT_EQ(extractor.counts().rows, 30);
  EXPECT_TRUE(store_->ReadDatasets("default")->empty());
}

TEST_F(DatasetCatalogTest, ParquetFilesHoldTheHoursThatChanged) {
  Save("pages", std::string(kPages) + "output: {parquet: true}\n");
  AppendTraces(0, 90);
  const DatasetCatalog catalog = Load();
  DatasetExtractor extractor(*catalog.Find("pages"), *catalog.Compile(*catalog.Find("pages"), "x"));
  ASSERT_TRUE(
      BackfillDataset(*store_, "default", {}, extractor, [](int64_t) { return true; }).ok());
  const std::string folder = directory_ + "/parquet";
  const Status written = extractor.WriteParquet(*store_, "default", folder);
  ASSERT_TRUE(written.ok()) << written.error().message;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/pages")) {
    ++files;
    EXPECT_GT(std::filesystem::file_size(entry.path()), 500u);
    EXPECT_EQ(entry.path().extension(), ".parquet");
  }
  EXPECT_EQ(files, 2u);  // kT0 is 13 minutes past an hour: 90 minutes touch two
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(extractor.WriteParquet(*store_, "default", folder).ok());
  EXPECT_FALSE(std::filesystem::exists(folder + "/pages"));  // nothing changed since
}

TEST_F(DatasetCatalogTest, RepairsAreFeatures) {
  store::BatchBuilder b;
  b.Process("web");
  b.Span({1, 1}, 1, 0, store::kT0, kMilli, "root");
  b.Span({1, 1}, 2, 77, store::kT0 + 10, 20, "orphan");
  b.Span({1, 2}, 1, 0, store::kT0, kMilli, "whole");
  ASSERT_TRUE(store_->AppendAndWait(b.Take()).ok());
  Fill("repairs");
  EXPECT_THAT(Rows("repairs", {"missing_parent", "lost_parents", "stand_ins", "late"}),
              ::testing::ElementsAre("1|1|1|0"));
}

}  // namespace
}  // namespace wf::pipeline
