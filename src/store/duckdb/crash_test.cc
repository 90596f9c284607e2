// An acknowledged batch survives kill -9: a child appends under load and tells each acknowledged batch through a pipe;
// it is killed at a random moment; every batch it told of must be there, each span once.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <random>
#include <thread>

#include "store/conformance.h"
#include "store/duckdb/duckdb_store.h"

namespace wf::store::duckdb {
namespace {

constexpr uint64_t kSpansPerBatch = 64;

DuckdbStoreOptions SmallSegments() {
  DuckdbStoreOptions options;
  options.segment_rows = 4096;  // so that kills fall into every step of writing a segment
  return options;
}

// Batch n: 64 spans of 8 traces; a trace's spans lie in two batches. Every batch is sent twice.
EventBatch BatchNumber(uint64_t n) {
  BatchBuilder b;
  b.Process("service", "host");
  for (uint64_t i = 0; i < kSpansPerBatch; ++i) {
    const uint64_t trace = n / 2 * 8 + i % 8;
    b.Span({MixBits(trace), trace}, n * kSpansPerBatch + i + 1, 0, kT0 + static_cast<Nanos>(n), 10)
        .Int("batch", static_cast<int64_t>(n));
  }
  return b.Take();
}

[[noreturn]] void AppendUntilKilled(const std::string& directory, uint64_t first, int pipe) {
  auto store = OpenDuckdbStore(directory, SmallSegments());
  if (!store.ok()) _exit(3);
  std::mutex mutex;
  for (uint64_t n = first;; ++n) {
    for (int copy = 0; copy < 2; ++copy) {
      (*store)->Append(BatchNumber(n), [n, pipe, &mutex](Status status) {
        std::lock_guard lock(mutex);
        if (status.ok() && write(pipe, &n, sizeof n) != sizeof n) _exit(4);
      });
    }
    if (n % 8 == 0) usleep(200);
  }
}

void CheckRound(const std::string& directory, const std::set<uint64_t>& acknowledged) {
  auto opened = OpenDuckdbStore(directory, SmallSegments());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  std::map<uint64_t, uint64_t> spans;  // batch → spans found
  std::set<uint64_t> ids;
  const Status scanned = (*opened)->Scan("default", {}, [&](EventBatch batch) {
    for (size_t i = 0; i < batch.size(); ++i) {
      EXPECT_TRUE(ids.insert(batch.id1[i]).second) << "span " << batch.id1[i] << " twice";
      ++spans[(batch.id1[i] - 1) / kSpansPerBatch];
    }
    return true;
  });
  ASSERT_TRUE(scanned.ok()) << scanned.error().message;
  for (uint64_t n : acknowledged)
    ASSERT_EQ(spans[n], kSpansPerBatch) << "batch " << n << " was acknowledged";
  EXPECT_EQ((*opened)->ReadStatus("default")->spans, static_cast<int64_t>(ids.size()));
}

void KillAgainAndAgain(int rounds) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "wherefore-crash-XXXXXX").string();
  const std::string directory = mkdtemp(pattern.data());
  std::mt19937_64 random(std::random_device{}());
  std::set<uint64_t> acknowledged;
  uint64_t next = 0;
  for (int round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      AppendUntilKilled(directory, next, ends[1]);
    }
    close(ends[1]);
    // Counted from the first acknowledgement, so that opening a growing store takes no part of it.
    uint64_t n = 0;
    if (read(ends[0], &n, sizeof n) == sizeof n)
      acknowledged.insert(n), next = std::max(next, n + 1);
    const auto microseconds = random() % 150'000;
    std::thread killer([&] {
      usleep(static_cast<useconds_t>(microseconds));
      kill(child, SIGKILL);
    });
    while (read(ends[0], &n, sizeof n) == sizeof n)
      acknowledged.insert(n), next = std::max(next, n + 1);
    killer.join();
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[0]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    SCOPED_TRACE("killed after " + std::to_string(microseconds) + " µs");
    CheckRound(directory, acknowledged);
    next += 1000;  // unacknowledged batches may be there; their numbers are not used again
  }
  EXPECT_GT(acknowledged.size(), static_cast<size_t>(rounds));
  if (!::testing::Test::HasFailure()) std::filesystem::remove_all(directory);
}

TEST(Crash, AcknowledgedBatchesSurviveTenKills) { KillAgainAndAgain(10); }
TEST(Crash, AcknowledgedBatchesSurviveAHundredKills_slow) { KillAgainAndAgain(100); }

}  // namespace
}  // namespace wf::store::duckdb
