// Bus: ordered, partitioned transport of event batches from receivers to tailers.
//
// All events of a trace go to one partition, in the order they were published; a partition has one reader of
// the group at a time. Once a sender's events are accepted, they stay on the bus until a reader has committed
// them. A reader commits only what no longer needs the bus (events durable in the store, rows written or the
// trace in a persistent queue), so after a crash or a hand-over events may be read again, but are never
// missed. Reading twice changes nothing: the store removes duplicates.
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

// The position of a piece: everything before it in its partition was published earlier.
struct BusPosition {
  int32_t partition = 0;
  int64_t offset = 0;
};

class BusPublisher {
 public:
  virtual ~BusPublisher() = default;

  // Splits the batch by trace id. `done` is called once, from any thread, when the bus keeps every piece (or
  // when it did not keep one: then the sender sends all of it again). kOverloaded: try again later;
  // kBadInput: an event is too large to be sent.
  using Done = std::function<void(Status)>;
  virtual void Publish(EventBatch batch, Done done) = 0;
  // Waits for publishing in progress; an error when some is still in progress after `patience`.
  virtual Status Drain(Nanos patience) = 0;
};

struct BusPiece {
  BusPosition at;
  std::shared_ptr<const EventBatch> events;  // never null; empty where a piece could not be decoded
  // Published before this reader had the partition: another reader, or this one earlier, may have read it
  // without committing.
  enum class Before : uint8_t { kMaybeRead, kNotRead } before = Before::kMaybeRead;
};

// One member of the group of readers. Destroying it leaves the group; its partitions are first reported as
// lost.
class BusReader {
 public:
  virtual ~BusReader() = default;

  // Pieces in the order of their partitions, at least one unless `patience` is over. A piece that cannot be
  // decoded is counted, kept aside (BusStatus::poisoned) and returned as an empty one; it never stops the
  // reader. Call it regularly, also while paused: a member that does not read for long is removed from the
  // group.
  virtual Result<std::vector<BusPiece>> Read(Nanos patience) = 0;
  // Everything of the partition up to and including `done.offset` is no longer needed. Ignored if this reader
  // no longer has the partition.
  virtual Status Commit(const std::vector<BusPosition>& done) = 0;
  // While reading is paused, Read returns no pieces, and only reports partitions gained and lost.
  enum class Flow : uint8_t { kOpen, kPaused };
  virtual void SetFlow(Flow flow) = 0;
  // Keeps a piece aside that can be decoded but not used.
  virtual Status SetAside(const BusPiece& piece, const std::string& why) = 0;
};

// Called while a reader reads, on the reading thread. `lost` returns when this member has finished with the
// partitions, or given up their work: their next reader begins at the last commit.
struct BusHandover {
  std::function<void(const std::vector<int32_t>&)> gained, lost;
};

// A short text beside the pieces, in the partition of its trace: work that the reader of a partition
// postpones, and that the next reader of the partition must find.
struct BusNote {
  BusPosition at;
  std::string text;
};

// The notes of a group. A partition's notes have one reader at a time, the reader of its pieces: a member
// that gains a partition holds its notes too. Thread safety: all calls, from any thread.
class BusNotes {
 public:
  virtual ~BusNotes() = default;

  virtual int32_t partitions() const = 0;
  // The bus keeps them when it returns; on an error it may not keep some. `at.partition` selects the
  // partition.
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
