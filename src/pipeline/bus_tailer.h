// BusTailer: a tailer that reads its events from a bus, as one of a group: read → append to the store → tail → commit.
//
// What is read in one go is a round; rounds are numbered, and a hold on its number goes with everything that is made of
// a round (progress_ledger.h). When no round up to n is held any more, its events are durable in the store and each of
// its traces has its rows or stands in the delayed queue, and the bus may forget them: their offsets are committed. So
// a death loses nothing: whoever gets the partitions reads what was not committed again, the store removes doubles, and
// rows of traces that may have some are replaced.
//
// A hand-over ends one generation and begins the next, with a tailer of its own. The lost one's rows are not written
// after `lost` returned. A process that was stopped for long and does not know that it lost its partitions writes none
// either: rows are written only while the bus was read within the lease.
//
// Which traces may have rows: those with an event that was on the bus before this generation, or that came in its first
// seconds, or that lack their root while the generation is young, or that began before it. They are processed from the
// store, as delayed ones, and replace their rows; the others from the cache.
//
// Back-pressure: what is read and not yet durable and cached is bounded; beyond that reading pauses, and the bus keeps
// the rest. Thread safety: all calls, from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bus/bus.h"
#include "pipeline/delayed_notes.h"
#include "pipeline/pipeline.h"

namespace wf::pipeline {

struct BusTailerOptions {
  std::string group = "wherefore";
  TailerOptions tailer;
  size_t bytes = 64u << 20;  // read, and not yet durable and cached
  Nanos lease = 10 * kSecond;
  Nanos doubt = 15 * kSecond;   // senders' batches of one trace come within this
  Nanos rooted = 10 * kMinute;  // how long a generation is young
  Nanos retry = 200 * kMilli;   // before the store is asked again
  Nanos commit_period = kSecond;
};

struct BusTailerStatus {
  TailerStatus tailer;             // of this generation
  int64_t pieces = 0, events = 0;  // read
  int64_t retries = 0;             // appends that the store did not take at first
  int64_t set_aside = 0;           // pieces that the store refused for good
  int64_t pauses = 0;              // how often reading paused because the store was slow
  int64_t generations = 0;
  int64_t rounds_open = 0;  // read, and not committed
  size_t waiting_bytes = 0;
  int64_t fenced =
      0;  // writes of rows that were held back because the bus had not been read for long
};

class BusTailer {
 public:
  // Borrowed for the tailer's life. `folder`: for what may be lost with the machine.
  struct Surroundings {
    bus::Bus& bus;
    store::Store& store;
    DatasetSource& datasets;
    RowSink& rows;
    std::string folder;
  };
  static Result<std::unique_ptr<BusTailer>> Start(const Surroundings& surroundings,
                                                  BusTailerOptions options);
  ~BusTailer();  // stops
  // Writes what was extracted, commits what is done, and leaves the group. Abandoned: as a kill would leave it.
  enum class End : uint8_t { kFinished, kAbandoned };
  void Stop(End end = End::kFinished);

  BusTailerStatus ReadStatus() const;

  // As if the bus had last been read long ago; for tests of the lease.
  void ForgetReading();
  // One round of everything; for TailerOptions::Threads::kNone.
  void Step();

 private:
  struct Shared;
  struct Generation;
  struct Unstored;
  class FencedRows;

  BusTailer(const Surroundings& surroundings, BusTailerOptions options);
  Status Join();
  void JoinAgain();
  void Gain(const std::vector<int32_t>& partitions);
  void Lose();
  void ReadSome(Nanos patience);
  void Append(Unstored piece);
  void AppendAgain();
  void CommitDone();
  std::shared_ptr<Generation> generation() const;

  const Surroundings around_;
  const BusTailerOptions options_;
  const std::shared_ptr<Shared> shared_;
  std::unique_ptr<FencedRows> rows_;
  std::unique_ptr<bus::BusNotes> notes_;
  std::unique_ptr<bus::BusReader> reader_;
  std::mutex committing_;  // held while reader_ is used to commit, or replaced

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<Generation> generation_;
  bool stopping_ = false;

  bus::BusReader::Flow flow_ = bus::BusReader::Flow::kOpen;  // the reading thread's own
  std::thread reading_thread_, commit_thread_;
  std::atomic<bool> stopped_{false};
};

}  // namespace wf::pipeline
