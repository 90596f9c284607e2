// What only the embedded store has: its directory, its log, its segments.
#include "store/duckdb/duckdb_store.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "store/conformance.h"
#include "store/directory.h"
#include "store/rows_builder.h"
#include "test_places.h"

namespace wf::store::duckdb {
namespace {

namespace fs = std::filesystem;

class DuckdbStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "wherefore-duckdb-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    store_.reset();
    fs::remove_all(directory_);
  }
  void Open(DuckdbStoreOptions options = {}) {
    store_.reset();
    auto opened = OpenDuckdbStore(directory_, options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
  }
  Error OpenFails() {
    store_.reset();
    auto opened = OpenDuckdbStore(directory_);
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? Error{} : opened.error();
  }
  static EventBatch Span(uint64_t n, const std::string& tenant = "default") {
    return BatchBuilder(tenant)
        .Span({MixBits(n), n}, n + 1, 0, kT0 + static_cast<Nanos>(n), 10)
        .Text("n", std::to_string(n))
        .Take();
  }
  void Append(uint64_t n) { ASSERT_TRUE(store_->AppendAndWait(Span(n)).ok()); }
  size_t Size(uint64_t n) { return store_->ReadTrace("default", {MixBits(n), n})->size(); }
  std::vector<fs::path> Files(const char* folder) {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(directory_ + "/" + folder))
      out.push_back(entry.path());
    return out;
  }
  static std::string Slurp(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void Spill(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(DuckdbStoreTest, SecondOpenerIsToldWhy) {
  Open();
  auto second = OpenDuckdbStore(directory_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(second.error().message.find("another process"), std::string::npos);
}

TEST_F(DuckdbStoreTest, NewerFormatIsRefusedAndLeftAlone) {
  Open();
  store_.reset();
  Spill(directory_ + "/format", "wherefore store 2\n");
  const Error error = OpenFails();
  EXPECT_NE(error.message.find("newer"), std::string::npos);
  EXPECT_EQ(Slurp(directory_ + "/format"), "wherefore store 2\n");
  Spill(directory_ + "/format", "something else\n");
  EXPECT_NE(OpenFails().message.find("not a store"), std::string::npos);
}

TEST_F(DuckdbStoreTest, TornTailIsCutAndCounted) {
  Open();
  Append(1), Append(2);
  store_.reset();
  const auto logs = Files("wal");
  ASSERT_EQ(logs.size(), 1u);
  const std::string whole = Slurp(logs[0]);
  for (size_t cut : {size_t{1}, size_t{40}, whole.size() / 4}) {
    Spill(logs[0], whole.substr(0, whole.size() - cut));
    Open();
    EXPECT_EQ(Size(1), 1u);
    EXPECT_EQ(Size(2), 0u);
    EXPECT_GT(store_->ReadStatus("default")->counters["log_torn_bytes"], 0);
  }
}

TEST_F(DuckdbStoreTest, DamageInTheMiddleIsAnErrorThatNamesThePlace) {
  Open();
  Append(1), Append(2), Append(3);
  store_.reset();
  const auto logs = Files("wal");
  ASSERT_EQ(logs.size(), 1u);
  std::string bytes = Slurp(logs[0]);
  bytes[100] ^= 1;
  Spill(logs[0], bytes);
  const Error error = OpenFails();
  EXPECT_NE(error.message.find(logs[0].filename().string()), std::string::npos);
  EXPECT_NE(error.message.find("offset 16"), std::string::npos);
}

TEST_F(DuckdbStoreTest, LogsAreDeletedOnceApplied) {
  Open();
  for (uint64_t n = 0; n < 10; ++n) Append(n);
  EXPECT_EQ(Files("wal").size(), 1u);
  ASSERT_TRUE(store_->Flush().ok());
  EXPECT_TRUE(Files("wal").empty());
  EXPECT_EQ(store_->ReadStatus("default")->pending_rows, 0);
}

TEST_F(DuckdbStoreTest, ACommittedLogThatWasNotDeletedIsNotAppliedTwice) {
  Open();
  Append(1);
  const auto log = Files("wal").at(0);
  const std::string bytes = Slurp(log);
  ASSERT_TRUE(store_->Flush().ok());
  store_.reset();
  Spill(log, bytes);  // as if the process had ended between commit and deletion
  Open();
  EXPECT_EQ(store_->ReadStatus("default")->spans, 1);
  EXPECT_TRUE(Files("wal").empty());
}

// A commit needs DuckDB's log beside the part: a folder of its name lets the transaction fail after the index record
// was written.
TEST_F(DuckdbStoreTest, AFailedTransactionLeavesNoBytesInTheIndexFile) {
  Open();
  Append(1);
  ASSERT_TRUE(store_->Flush().ok());
  const fs::path index = directory_ + "/parts/000001.index";
  const fs::path blocker = directory_ + "/parts/000001.duckdb.wal";
  const auto size = fs::file_size(index);
  ASSERT_GT(size, 0u);
  fs::remove(blocker);
  fs::create_directory(blocker);
  Append(2);
  ASSERT_FALSE(store_->Flush().ok());
  EXPECT_EQ(Size(2), 1u) << "still in memory and in the log";
  // The flusher tries again every second, and has its record there while it does.
  for (int i = 0; i < 1000 && fs::file_size(index) != size; ++i) usleep(10'000);
  EXPECT_EQ(fs::file_size(index), size);
  fs::remove(blocker);
  ASSERT_TRUE(store_->Flush().ok());
  Open();
  EXPECT_EQ(Size(1), 1u);
  EXPECT_EQ(Size(2), 1u);
}

TEST_F(DuckdbStoreTest, IndexBytesOfACrashBeforeTheCommitAreCutOff) {
  Open();
  Append(1);
  ASSERT_TRUE(store_->Flush().ok());
  store_.reset();
  const fs::path index = directory_ + "/parts/000001.index";
  const std::string whole = Slurp(index);
  Spill(index, whole + whole);  // a second record that no segment names
  Open();
  EXPECT_TRUE(Slurp(index) == whole);
  EXPECT_EQ(Size(1), 1u);
  Append(2);
  ASSERT_TRUE(store_->Flush().ok());
  Open();
  EXPECT_EQ(Size(1), 1u);
  EXPECT_EQ(Size(2), 1u);
}

TEST_F(DuckdbStoreTest, ManySmallImportsMakeFewSegments) {
  for (uint64_t n = 0; n < 24; ++n) {
    Open();
    Append(n);
    ASSERT_TRUE(store_->Flush().ok());
  }
  EXPECT_LE(Files("parts").size(), 2u);
  for (uint64_t n = 0; n < 24; ++n) EXPECT_EQ(Size(n), 1u) << n;
  EXPECT_EQ(store_->ReadStatus("default")->traces, 24);
  TraceQuery query;
  query.limit = 100;
  EXPECT_EQ(store_->Search("default", query)->traces.size(), 24u);
}

TEST_F(DuckdbStoreTest, FullPartsAreFollowedByNewOnes) {
  DuckdbStoreOptions options;
  options.segment_rows = 1;  // every batch is a segment; none is small against the next
  Open(options);
  for (uint64_t n = 0; n < 40; ++n) {
    BatchBuilder b;
    for (uint64_t i = 0; i < 3; ++i)
      b.Span({MixBits(n), n}, i + 1, 0, kT0 + static_cast<Nanos>(n), 5);
    ASSERT_TRUE(store_->AppendAndWait(b.Take()).ok());
  }
  ASSERT_TRUE(store_->Flush().ok());
  EXPECT_GE(Files("parts").size(), 3u * 2);
  for (uint64_t n = 0; n < 40; ++n) EXPECT_EQ(Size(n), 3u);
  Open(options);
  EXPECT_EQ(store_->ReadStatus("default")->spans, 120);
  TraceQuery query;
  query.limit = 7;
  size_t found = 0;
  while (true) {
    const SearchPage page = *store_->Search("default", query);
    found += page.traces.size();
    if (!page.next) break;
    query.cursor = page.next;
  }
  EXPECT_EQ(found, 40u);
}

// Rows of datasets may take a quarter of the bytes allowed: beyond it the oldest go, and events stay.
TEST_F(DuckdbStoreTest, RetentionByBytesTrimsDatasetsBeforeTheyPushEventsOut) {
  Open();
  std::mt19937_64 random(1);
  for (int part = 0; part < 8; ++part) {
    RowsBuilder rows({{"noise", ColumnType::kText}});
    for (uint64_t i = 0; i < 4096; ++i) {
      std::string noise;
      for (int c = 0; c < 64; ++c) noise += ToHex64(random());
      rows.Row({random(), random()}, Now() - (8 - part) * kHour, "", {noise});
    }
    ASSERT_TRUE(store_->WriteRows("default", "large", rows.table()).ok());
  }
  RowsBuilder few({{"n", ColumnType::kInt}});
  few.Row({1, 1}, kT0, "", {int64_t{7}});
  ASSERT_TRUE(store_->WriteRows("default", "small", few.table()).ok());
  Append(1);
  ASSERT_TRUE(store_->Flush().ok());
  const int64_t before = DirectoryBytes(directory_);
  ASSERT_GT(before, 16 << 20);
  ASSERT_TRUE(store_->Retain({std::nullopt, before / 2}).ok());
  EXPECT_LE(DirectoryBytes(directory_), before / 2);
  EXPECT_EQ(Size(1), 1u);
  const auto datasets = *store_->ReadDatasets("default");
  ASSERT_EQ(datasets.size(), 2u);
  EXPECT_GT(datasets[0].rows, 0);
  EXPECT_LT(datasets[0].rows, 8 * 4096 / 3);
  EXPECT_LT(Now() - datasets[0].oldest_ns, 5 * kHour) << "the oldest go";
  EXPECT_EQ(datasets[1].rows, 1);
  EXPECT_EQ(store_->ReadStatus("default")->counters["dataset_rows_trimmed"],
            8 * 4096 - datasets[0].rows);
}

// Attachments, then a span, then attachments: when the directory is too large, the oldest attachments go and the
// directory shrinks by them; the span and what came after it stay.
TEST_F(DuckdbStoreTest, RetentionByBytesTrimsAttachmentsOldestFirst) {
  Open();
  std::mt19937_64 random(1);
  const auto attach = [&](uint64_t first) {
    for (uint64_t n = first; n < first + 8; ++n) {
      Attachment attachment{{1, n}, "recording", {}};
      for (int chunk = 0; chunk < 4; ++chunk) {
        std::string bytes(256 << 10, '\0');
        for (char& c : bytes) c = static_cast<char>(random());
        attachment.chunks.push_back(std::move(bytes));
      }
      ASSERT_TRUE(store_->PutAttachment("default", attachment).ok());
    }
  };
  const auto there = [&](uint64_t n) {
    const auto found = *store_->ReadAttachments("default", {1, n});
    return found.size() == 1 && found[0].chunks.size() == 4;
  };
  attach(0);
  ASSERT_TRUE(store_->AppendMessages("default", {{kT0, "call", "a", "b", "1"}}).ok());
  ASSERT_TRUE(
      store_->AppendAndWait(BatchBuilder().Received(Now()).Span({9, 9}, 1, 0, kT0, 5).Take()).ok());
  ASSERT_TRUE(store_->Flush().ok());
  attach(8);
  const int64_t before = DirectoryBytes(directory_), limit = before / 4 * 3;
  ASSERT_GT(before, 16 << 20);
  ASSERT_TRUE(store_->Retain({std::nullopt, limit}).ok());
  EXPECT_LE(DirectoryBytes(directory_), limit);
  EXPECT_GE(DirectoryBytes(directory_), before / 2) << "no more than needed";
  EXPECT_FALSE(there(0));
  for (uint64_t n = 7; n < 16; ++n) EXPECT_TRUE(there(n)) << n;
  EXPECT_EQ(store_->ReadTrace("default", {9, 9})->size(), 1u);
  EXPECT_GT(store_->ReadStatus("default")->counters["side_rows_retired"], 0);

  // The file in its place is written to, and opened again.
  attach(16);
  Open();
  EXPECT_TRUE(there(15));
  EXPECT_TRUE(there(23));
  EXPECT_EQ(store_->ReadMessages("default", {})->size(), 1u);
  ASSERT_TRUE(store_->Retain({std::nullopt, limit}).ok());
  EXPECT_LE(DirectoryBytes(directory_), limit);
  EXPECT_TRUE(there(23));
  EXPECT_TRUE(store_->ReadTrace("default", {9, 9})->empty()) << "older than what is kept";
}

// Clocks lie in the same file and are never deleted: they are read while it is replaced.
TEST_F(DuckdbStoreTest, ReadersSeeSideTablesWhileTheirFileIsWrittenAnew) {
  Open();
  ASSERT_TRUE(store_->WriteClocks("default", {{"host", kT0, 5, 1}}).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::thread reader([&] {
    for (; !stop; ++reads) {
      const auto clocks = store_->ReadClocks("default", {});
      ASSERT_TRUE(clocks.ok()) << clocks.error().message;
      ASSERT_EQ(clocks->size(), 1u);
    }
  });
  for (uint64_t round = 0; round < 8; ++round) {
    const Attachment attachment{{2, round}, "capture", {std::string(64 << 10, 'x')}};
    ASSERT_TRUE(store_->PutAttachment("default", attachment).ok());
    EXPECT_EQ(store_->ReadAttachments("default", {2, round})->size(), 1u);
    ASSERT_TRUE(store_->Retain({0, std::nullopt}).ok());
    EXPECT_TRUE(store_->ReadAttachments("default", {2, round})->empty());
    for (const int before = reads; reads < before + 3 && !HasFailure();) usleep(100);
  }
  stop = true;
  reader.join();
}

TEST_F(DuckdbStoreTest, TracesOfLongTextsAreReadThoughDuckdbMayHoldFewAtOnce) {
  // 64-bit ids, as Zipkin has them. A writer that takes most of what DuckDB may have leaves a reader as little as this.
  Open();
  std::mt19937_64 random(1);
  std::vector<TraceId> ids;
  BatchBuilder builder;
  for (uint64_t n = 0; n < 2000; ++n) {
    std::string text;
    while (text.size() < 20'000) text += ToHex64(random());
    ids.push_back({0, n + 1});
    builder.Span(ids.back(), n + 1, 0, kT0 + static_cast<Nanos>(n), 10).Text("body", text);
  }
  ASSERT_TRUE(store_->AppendAndWait(builder.Take()).ok());
  ASSERT_TRUE(store_->Flush().ok());
  DuckdbStoreOptions little;
  little.memory_limit = "20MB";
  Open(little);
  const auto all = store_->ReadTraces("default", ids);
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(all->size(), ids.size());
  ids.resize(40);
  EXPECT_EQ(store_->ReadTraces("default", ids)->size(), 40u);
}

TEST_F(DuckdbStoreTest, OverloadKeepsNothingOfTheRefusedBatch) {
  DuckdbStoreOptions options;
  options.max_queue_bytes = 1;  // one batch waits at a time
  Open(options);
  std::atomic<int> accepted{0}, refused{0};
  std::atomic<int> open{0};
  for (uint64_t n = 0; n < 300; ++n) {
    ++open;
    store_->Append(Span(n), [&](Status status) {
      if (status.ok()) {
        ++accepted;
      } else {
        EXPECT_EQ(status.error().code, ErrorCode::kOverloaded);
        ++refused;
      }
      --open;
    });
  }
  while (open != 0) usleep(1000);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(store_->ReadStatus("default")->spans, accepted);
  EXPECT_EQ(store_->ReadStatus("default")->counters["batches_refused"], refused);
}

TEST_F(DuckdbStoreTest, ReadersSeeEverythingWhileSegmentsAreWritten) {
  DuckdbStoreOptions options;
  options.segment_rows = 2000;
  options.sync = SyncMode::kNoSync;
  Open(options);
  std::atomic<uint64_t> written{0};
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    uint64_t looked = 0;
    while (!stop) {
      const uint64_t have = written;
      if (have == 0) continue;
      const uint64_t n = looked++ % have;
      ASSERT_EQ(Size(n), 20u) << n << " of " << have;
      if (looked % 50 == 0) {
        std::set<uint64_t> seen;
        ASSERT_TRUE(store_
                        ->Scan("default", {},
                               [&](EventBatch b) {
                                 for (uint64_t lo : b.trace_lo) seen.insert(lo);
                                 return true;
                               })
                        .ok());
        ASSERT_GE(seen.size(), have);
      }
    }
  });
  for (uint64_t n = 0; n < 1500; ++n) {
    BatchBuilder b;
    for (uint64_t i = 0; i < 20; ++i)
      b.Span({MixBits(n), n}, i + 1, i, kT0 + static_cast<Nanos>(n * 20 + i), 5);
    Status status = store_->AppendAndWait(b.batch());
    ASSERT_TRUE(status.ok());
    written = n + 1;
  }
  stop = true;
  reader.join();
  EXPECT_EQ(store_->ReadStatus("default")->spans, 1500 * 20);
}

// A store of format 1, written when that was new, must open for ever.
TEST_F(DuckdbStoreTest, OpensTheFixtureOfFormat1) {
  const fs::path fixture = fs::path(WHEREFORE_SOURCE_DIR) / "tests" / "fixtures" / "store-v1";
  if (std::getenv("WHEREFORE_MAKE_FIXTURE") != nullptr) {
    fs::remove_all(fixture);
    fs::create_directories(fixture);
    auto made = OpenDuckdbStore(fixture.string());
    ASSERT_TRUE(made.ok());
    BatchBuilder b;
    b.Received(kT0).Process("shop", "node-1", {{"zone", "eu"}});
    for (uint64_t n = 0; n < 50; ++n) {
      b.Span({MixBits(n / 5), n / 5}, n + 1, n % 5 == 0 ? 0 : n, kT0 + static_cast<Nanos>(n * 1000),
             500, "op" + std::to_string(n % 3));
      b.Text("user", "u" + std::to_string(n % 7)).Int("code", 200).Text("id", "00000000000000ff");
    }
    ASSERT_TRUE((*made)->AppendAndWait(b.Take()).ok());
    ASSERT_TRUE((*made)->Flush().ok());
    ASSERT_TRUE((*made)->AppendAndWait(Span(1000)).ok());  // stays in the log
    made->reset();
    fs::remove_all(fixture / "tmp");
    fs::remove(fixture / "lock");
  }
  fs::copy(fixture, directory_, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  Open();
  const StoreStatus status = *store_->ReadStatus("default");
  EXPECT_EQ(status.spans, 51);
  EXPECT_EQ(status.traces, 11);
  EXPECT_EQ(Size(3), 5u);
  EXPECT_EQ(Size(1000), 1u);
  TraceQuery query;
  query.service = "shop";
  query.attributes = {{"user", "u3"}, {"zone", "eu"}, {"code", "200"}, {"id", "00000000000000ff"}};
  EXPECT_EQ(store_->Search("default", query)->traces.size(), 7u);
}

}  // namespace
}  // namespace wf::store::duckdb
