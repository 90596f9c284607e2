// Bus: ordered, partitioned transport of event batches from receivers to tailers.
//
// All events of a trace go to one partition, in the order they were published; a partition has one reader of the group
// at a time. What a sender was told is accepted is on the bus until a reader has committed it: a reader commits only what
// needs it no longer (events durable in the store, rows written or the trace in a persistent queue), so events come again
// after a crash or a hand-over, never not at all. Reading twice changes nothing: the store removes doubles.
//
// Thread safety: a publisher: all calls, from any thread; a reader: one thread reads, any thread commits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "model/event_batch.h"

namespace wf::bus {

// Where a piece stands: everything before it in its partition came earlier.
struct BusPosition {
  int32_t partition = 0;
  int64_t offset = 0;
};

class BusPublisher {
 public:
  virtual ~BusPublisher() = default;

  // Splits the batch by trace id. `done` is called once, from any thread, when every piece is kept by the bus (or one was
  // not: then the sender sends all of it again). kOverloaded: come again later; kBadInput: an event is too large to be sent.
  using Done = std::function<void(Status)>;
  virtual void Publish(EventBatch batch, Done done) = 0;
  // Waits for what is under way; an error when something still is after `patience`.
  virtual Status Drain(Nanos patience) = 0;
};

struct BusPiece {
  BusPosition at;
  std::shared_ptr<const EventBatch> events;  // never null; empty where a piece could not be decoded
  // Published before this reader had the partition: another, or this one earlier, may have read and not committed it.
  enum class Before : uint8_t { kMaybeRead, kNotRead } before = Before::kMaybeRead;
};

// One member of the group of readers. Destroying it leaves the group: its partitions are told to be lost first.
class BusReader {
 public:
  virtual ~BusReader() = default;

  // Pieces in order of their partitions, at least one unless `patience` is over. A piece that cannot be decoded is
  // counted, kept aside (BusStatus::poisoned) and comes as an empty one, never a reason to stop. Must be called again
  // and again, also while paused: who does not read for long is no member any more.
  virtual Result<std::vector<BusPiece>> Read(Nanos patience) = 0;
  // Everything of the partition up to and including `done.offset` is needed no longer. Not of this reader any more: ignored.
  virtual Status Commit(const std::vector<BusPosition>& done) = 0;
  // While reading is paused, Read gives no pieces, and only tells what is gained and lost.
  enum class Flow : uint8_t { kOpen, kPaused };
  virtual void SetFlow(Flow flow) = 0;
  // Keeps a piece aside that can be decoded, and cannot be used.
  virtual Status SetAside(const BusPiece& piece, const std::string& why) = 0;
};

// What a reader is told while it reads, on the reading thread. `lost` returns when this member has finished with the
// partitions, or given up their work: whoever gets them begins where the last commit stands.
struct BusHandover {
  std::function<void(const std::vector<int32_t>&)> gained, lost;
};

// A short text beside the pieces, in the partition of its trace: what the reader of a partition puts off, and whoever
// reads the partition next must find.
struct BusNote {
  BusPosition at;
  std::string text;
};

// The notes of a group. There is one reader of a partition's notes at a time, because there is one of its pieces: who
// gains a partition holds its notes too. Thread safety: all calls, from any thread.
class BusNotes {
 public:
  virtual ~BusNotes() = default;

  virtual int32_t partitions() const = 0;
  // Kept by the bus when it returns; an error: some may not be. `at.partition` says where.
  virtual Status Put(const std::vector<BusNote>& notes, Nanos patience) = 0;
  // From now on the notes of these partitions are read, from the last commit on, and no others.
  virtual Status Hold(const std::vector<int32_t>& partitions) = 0;
  // The next notes, at most `limit`, in the order of their partitions; does not wait for new ones.
  virtual Result<std::vector<BusNote>> Read(size_t limit) = 0;
  virtual Status Commit(const std::vector<BusPosition>& done) = 0;
  virtual int64_t waiting() const = 0;  // not committed, of the partitions held, as far as known
};

struct BusStatus {
  // Pieces that were published and not committed, over the partitions read here.
  int64_t lag = 0;
  int64_t unsent = 0;      // pieces published here that the bus has not confirmed
  int64_t poisoned = 0;    // pieces that could not be decoded
  int64_t set_aside = 0;   // pieces that could be decoded, and not used
  int64_t missed = 0;      // pieces that the bus deleted before they were read
  int64_t refused = 0;     // batches that found the queue full
  int64_t failed = 0;      // batches of which a piece was not confirmed
  int64_t handovers = 0;   // how often partitions were gained or lost
  int64_t partitions = 0;  // read here
};

// Outlives the publishers, readers and notes it gave.
class Bus {
 public:
  virtual ~Bus() = default;

  virtual Result<std::unique_ptr<BusPublisher>> Publisher() = 0;
  virtual Result<std::unique_ptr<BusReader>> Join(const std::string& group,
                                                  BusHandover handover) = 0;
  virtual Result<std::unique_ptr<BusNotes>> Notes(const std::string& group) = 0;
  // Whether the bus can be reached now.
  virtual Status Check() = 0;
  virtual BusStatus ReadStatus() const = 0;
};

}  // namespace wf::bus
