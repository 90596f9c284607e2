// BusTailer: a tailer that reads its events from a bus, as one of a group: read → append to the store → tail → commit.
//
// One read is a round. Rounds are numbered, and everything made from a round keeps a hold on its number
// (progress_ledger.h). When no round up to n is held, their events are durable in the store, each of their
// traces has its rows or is in the delayed queue, and their offsets are committed, so that the bus may drop
// them. So a crash loses nothing: the next owner of the partitions reads uncommitted events again, the store
// removes duplicates, and rows of traces that may already have some are replaced.
//
// A hand-over of partitions ends one generation and begins the next, with a new tailer. The old generation
// writes no rows after `lost` returned. A process that was stopped for long and has not noticed that it lost
// its partitions writes none either: rows are written only if the bus was read within the lease.
//
// Which traces may have rows: those with an event that was on the bus before this generation, or that came in
// its first seconds, or that lack their root while the generation is young, or that began before it. They are
// processed from the store, like delayed traces, and replace their rows; all others are processed from the
// cache.
//
// Back-pressure: the bytes that are read but not yet durable and cached are bounded; beyond the bound reading
// pauses, and the bus keeps the rest. Thread safety: all calls, from any thread.
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
  size_t bytes = 64u << 20;  // max bytes read but not yet durable and cached
  Nanos lease = 10 * kSecond;
  Nanos doubt = 15 * kSecond;   // batches of one trace from different senders arrive within this
  Nanos rooted = 10 * kMinute;  // how long a generation is young
  Nanos retry = 200 * kMilli;   // before the store is tried again
  Nanos commit_period = kSecond;
};

struct BusTailerStatus {
  TailerStatus tailer;             // of this generation
  int64_t pieces = 0, events = 0;  // read
  int64_t retries = 0;             // appends that the store did not accept at first
  int64_t set_aside = 0;           // pieces that the store rejected for good
  int64_t pauses = 0;              // how often reading paused because the store was slow
  int64_t generations = 0;
  int64_t rounds_open = 0;  // read but not committed
  size_t waiting_bytes = 0;
  // Writes of rows held back because the bus had not been read within the lease.
  int64_t fenced = 0;
};

class BusTailer {
 public:
  // Borrowed for the tailer's life. `folder`: for files that may be lost with the machine.
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
  // Writes extracted rows, commits what is done, and leaves the group. kAbandoned leaves the state that a
  // kill would leave.
  enum class End : uint8_t { kFinished, kAbandoned };
  void Stop(End end = End::kFinished);

  BusTailerStatus ReadStatus() const;

  // Acts as if the bus had last been read long ago; for tests of the lease.
  void ForgetReading();
  // Runs one round of everything; for TailerOptions::Threads::kNone.
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
