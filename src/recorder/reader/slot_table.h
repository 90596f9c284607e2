// Files of slots (`record --slots`): which snapshots are there, and the bytes of those that follow each other
// without a gap. The recorder may be writing: a slot that it reuses meanwhile is not returned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "recorder/format/records.h"
#include "recorder/reader/chunk_reader.h"

namespace wf::recorder {

struct SlotTable {
  SharedHead head{};
  std::vector<SlotEntry> entries;  // by place in the file

  // Numbers of slots that were not released, ascending; the last may still be in writing.
  std::vector<uint32_t> Numbers() const;
  // The index in the file; empty if it is not there, or was released.
  std::optional<uint32_t> PlaceOf(uint32_t number) const;
  // The last number of each sequence without a gap.
  std::vector<uint32_t> LastOfRuns() const;
};

// Empty if the file is not a file of slots.
Result<std::optional<SlotTable>> ReadSlotTable(const ReadAt& read, const std::string& name);

struct SlotBytes {
  SlotEntry entry{};
  std::string bytes;
};
// The slots up to this number that follow each other without a gap, in order. Empty if it no longer exists.
Result<std::vector<SlotBytes>> ReadRun(const ReadAt& read, const SlotTable& table, uint32_t last);

// Lets the recorder reuse the slot. NotFound if there is no such snapshot.
Status ReleaseSlot(const std::string& path, uint32_t number);

// Writes a separate file with everything that answers about this snapshot need.
Status CopySnapshot(const std::string& path, uint32_t number, const std::string& to);

}  // namespace wf::recorder
