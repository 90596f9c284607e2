// Files of slots (`record --slots`): which snapshots are there, and the bytes of those that follow each other without a
// gap. The recorder may be writing: a slot that it takes meanwhile is not handed out.
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

  // Of slots that were not released, ascending; the last may still be written.
  std::vector<uint32_t> Numbers() const;
  // Where in the file; nothing if it is not there, or was released.
  std::optional<uint32_t> PlaceOf(uint32_t number) const;
  // The last number of each sequence without a gap.
  std::vector<uint32_t> LastOfRuns() const;
};

// Nothing if the file is not one of slots.
Result<std::optional<SlotTable>> ReadSlotTable(const ReadAt& read, const std::string& name);

struct SlotBytes {
  SlotEntry entry{};
  std::string bytes;
};
// The slots up to this number that follow each other without a gap, in order. Empty if it is not there any more.
Result<std::vector<SlotBytes>> ReadRun(const ReadAt& read, const SlotTable& table, uint32_t last);

// Says to the recorder that the slot may be used again. NotFound if there is no such snapshot.
Status ReleaseSlot(const std::string& path, uint32_t number);

// A file of its own of all that answers about this snapshot need.
Status CopySnapshot(const std::string& path, uint32_t number, const std::string& to);

}  // namespace wf::recorder
