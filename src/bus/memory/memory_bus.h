// MemoryBus: a bus within one process, with the whole contract: partitions, groups, hand-over, commits, poisoned pieces.
// Nothing survives the process. For tests of bus readers, which can also simulate the failures of a real bus.
//
// Hand-over is eager, as on the Kafka bus: when a member joins or leaves, every member gives up all
// partitions on its next Read, and when all have, the partitions are assigned anew. Thread safety: all calls,
// from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bus/bus.h"
#include "bus/pieces.h"

namespace wf::bus::memory {

struct MemoryBusOptions {
  int32_t partitions = 4;
  size_t bytes = 256u << 20;  // not read by every group; more is refused
  PieceLimits limits;
  size_t read_pieces = 256;  // at once
};

class MemoryBus : public Bus {
 public:
  explicit MemoryBus(MemoryBusOptions options = {});
  ~MemoryBus() override;

  Result<std::unique_ptr<BusPublisher>> Publisher() override;
  Result<std::unique_ptr<BusReader>> Join(const std::string& group, BusHandover handover) override;
  Result<std::unique_ptr<BusNotes>> Notes(const std::string& group) override;
  Status Check() override;
  BusStatus ReadStatus() const override;

  // What happens to real ones. Away: nothing is taken, nothing given.
  enum class Reach : uint8_t { kThere, kAway };
  void SetReach(Reach reach);
  // Bytes that nobody encoded.
  void PutRaw(int32_t partition, std::string bytes);
  // Takes a member for dead, as a broker does whose heartbeats stay out. It finds out on its next Read, and joins again.
  void Expel(const BusReader& member);
  std::vector<std::string> Poisoned() const;
  int64_t Committed(const std::string& group, int32_t partition) const;  // the next offset to read

  struct State;  // memory_bus.cc

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace wf::bus::memory
