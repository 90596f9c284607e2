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

namespace wf {

// Where a piece stands: everything before it in its partition came earlier.
struct BusPosition {
  int32_t partition = 0;
  int64_t offset = 0;
};

class BusPublisher {
 public:
  virtual ~BusPublisher() = default;

  // Splits the batch by trace id. `done` is called once, from any thread, when every piece is kept by the bus (or one was
  // not: then the sender sends all of it again). kOverloaded: nothing was kept, come again later.
  using Done = std::function<void(Status)>;
  virtual void Publish(EventBatch batch, Done done) = 0;
  // Waits for what is under way; an error when something still is after `patience`.
  virtual Status Drain(Nanos patience) = 0;
};

struct BusPiece {
  BusPosition at;
  std::shared_ptr<const EventBatch> events;
};

// One member of the group of readers.
class BusReader {
 public:
  virtual ~BusReader() = default;

  // Pieces in order of their partitions, at least one unless `patience` is over. A piece that cannot be decoded is
  // counted and kept aside (BusStatus::poisoned), never a reason to stop.
  virtual Result<std::vector<BusPiece>> Read(Nanos patience) = 0;
  // Everything of the partition up to and including `done.offset` is needed no longer. Not of this reader any more: ignored.
  virtual Status Commit(const std::vector<BusPosition>& done) = 0;
};

// What a reader is told while it reads, on the reading thread. `lost` returns when this member has finished with the
// partitions, or given up their work: whoever gets them begins where the last commit stands.
struct BusHandover {
  std::function<void(const std::vector<int32_t>&)> gained, lost;
};

struct BusStatus {
  int64_t lag =
      0;  // pieces that were published and not committed, over the partitions of this reader
  int64_t unsent = 0;      // pieces published here that the bus has not confirmed
  int64_t poisoned = 0;    // pieces that could not be decoded
  int64_t partitions = 0;  // of this reader
};

class Bus {
 public:
  virtual ~Bus() = default;

  virtual Result<std::unique_ptr<BusPublisher>> Publisher() = 0;
  virtual Result<std::unique_ptr<BusReader>> Join(const std::string& group,
                                                  BusHandover handover) = 0;
  // Whether the bus can be reached now.
  virtual Status Check() = 0;
  virtual BusStatus ReadStatus() const = 0;
};

}  // namespace wf
