// Rows are written whole or not at all: a child replaces the rows of a few traces again and again and is killed at a
// random moment; every trace must then have both its rows, of one generation, and none older than what was acknowledged.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <thread>

#include "store/duckdb/duckdb_store.h"
#include "store/rows_builder.h"

namespace wf::store::duckdb {
namespace {

constexpr uint64_t kTraces = 20;
constexpr Nanos kT0 = 1'700'000'000 * kSecond;

DatasetTable Generation(uint64_t n) {
  // Every third generation has a column more, so that kills fall into changes of the schema too.
  std::vector<ColumnDefinition> columns = {{"generation", ColumnType::kInt}};
  if (n % 3 == 0) columns.push_back({"extra" + std::to_string(n), ColumnType::kText});
  RowsBuilder b(columns);
  for (uint64_t trace = 0; trace < kTraces; ++trace) {
    for (const char* key : {"a", "b"}) {
      std::vector<RowsBuilder::Value> values = {static_cast<int64_t>(n)};
      if (n % 3 == 0) values.emplace_back(std::string("x"));
      b.Row({7, trace + 1}, kT0, key, values);
    }
  }
  return b.table();
}

RowReplacement All() {
  RowReplacement replace;
  for (uint64_t trace = 0; trace < kTraces; ++trace) replace.traces.push_back({7, trace + 1});
  replace.time = {kT0 - kDay, kT0 + kDay};
  return replace;
}

[[noreturn]] void WriteUntilKilled(const std::string& directory, uint64_t first, int pipe) {
  auto store = OpenDuckdbStore(directory);
  if (!store.ok()) _exit(3);
  for (uint64_t n = first;; ++n) {
    if (!(*store)->WriteRows("default", "pages", Generation(n), All()).ok()) _exit(4);
    if (write(pipe, &n, sizeof n) != sizeof n) _exit(5);
    // Rewriting the file is the other moment at which rows could be lost.
    if (n % 7 == 0 && !(*store)->RetainRows("default", "pages", {100'000 * kDay, kDay, 2}).ok())
      _exit(6);
  }
}

TEST(DatasetCrash, RowsAreReplacedWholeUnderKills) {
  std::string pattern = (std::filesystem::temp_directory_path() / "wherefore-rows-XXXXXX").string();
  const std::string directory = mkdtemp(pattern.data());
  std::mt19937_64 random(std::random_device{}());
  uint64_t acknowledged = 0;
  for (int round = 0; round < 5 && !::testing::Test::HasFailure(); ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      WriteUntilKilled(directory, acknowledged + 1, ends[1]);
    }
    close(ends[1]);
    uint64_t n = 0;
    ASSERT_EQ(read(ends[0], &n, sizeof n), static_cast<ssize_t>(sizeof n));
    acknowledged = n;
    const auto microseconds = random() % 150'000;
    std::thread killer([&] {
      usleep(static_cast<useconds_t>(microseconds));
      kill(child, SIGKILL);
    });
    while (read(ends[0], &n, sizeof n) == sizeof n) acknowledged = n;
    killer.join();
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[0]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    SCOPED_TRACE("killed after " + std::to_string(microseconds) + " µs");
    auto store = OpenDuckdbStore(directory);
    ASSERT_TRUE(store.ok()) << store.error().message;
    DatasetQuery query;
    query.columns = {"generation", "trace_id", "row_key"};
    const auto rows = (*store)->QueryRows("default", "pages", query);
    if (acknowledged == 0 && !rows.ok()) continue;  // killed before the first rows were there
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    std::set<int64_t> generations(rows->table.columns[0].numbers.begin(),
                                  rows->table.columns[0].numbers.end());
    ASSERT_EQ(generations.size(), 1u);
    EXPECT_GE(*generations.begin(), static_cast<int64_t>(acknowledged));
    acknowledged = static_cast<uint64_t>(*generations.begin());
    // Rows of 2023 are old: after a rewrite about half of them stand for all; each is there once.
    std::set<std::string> keys;
    for (const std::string& line : Lines(rows->table))
      EXPECT_TRUE(keys.insert(line).second) << line;
    if (acknowledged % 7 != 0) {
      EXPECT_EQ(keys.size(), 2 * kTraces);
    }
  }
  if (!::testing::Test::HasFailure()) std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace wf::store::duckdb
