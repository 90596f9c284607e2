#include "recorder/reader/slot_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/file_descriptor.h"

namespace wf::recorder {
namespace {

constexpr uint64_t kMostUsed = kSlotBytes - kSlotHead;

bool Readable(const SlotEntry& entry) {
  return entry.number != 0 && entry.released != entry.number && entry.used <= kMostUsed;
}

uint64_t EntryOffset(uint32_t place) { return sizeof(SharedHead) + place * sizeof(SlotEntry); }

Status ReadWhole(const ReadAt& read, uint64_t offset, size_t size, std::string& to) {
  to.resize(size);
  size_t done = 0;
  while (done < size) {
    WF_ASSIGN(const size_t got, read(offset + done, to.data() + done, size - done));
    if (got == 0) break;
    done += got;
  }
  to.resize(done);
  return {};
}

Status WriteWhole(int fd, const std::string& path, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return EnvironmentError(fmt::format("{}: {}", path, std::strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(wrote));
    offset += static_cast<uint64_t>(wrote);
  }
  return {};
}

std::string_view BytesOf(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Error NoSuchSnapshot(const std::string& path, uint32_t number) {
  return NotFound(fmt::format("{}: no snapshot {}", path, number),
                  "wherefore cpg F snapshots lists them");
}

// A file that grows, as far as it is written; the snapshot is told by its record.
Status CopyPlain(const ReadAt& read, int out, const std::string& to, uint32_t number) {
  std::string piece;
  uint64_t at = 0;
  do {
    WF_TRY(ReadWhole(read, at, 4 << 20, piece));
    if (at == 0 && piece.size() >= sizeof(SharedHead)) {
      SharedHead head;
      std::memcpy(&head, piece.data(), sizeof head);
      head.only_snapshot = number;
      std::memcpy(piece.data(), &head, sizeof head);
    }
    WF_TRY(WriteWhole(out, to, piece, at));
    at += piece.size();
  } while (!piece.empty());
  return {};
}

Status CopySlots(const ReadAt& read, const SlotTable& table, int out, const std::string& path,
                 const std::string& to, uint32_t number) {
  WF_ASSIGN(const std::vector<SlotBytes> run, ReadRun(read, table, number));
  if (run.empty()) return NoSuchSnapshot(path, number);
  SharedHead head = table.head;
  head.slots = static_cast<uint32_t>(run.size());
  head.overwritten = 0;
  head.only_snapshot = number;
  WF_TRY(WriteWhole(out, to, std::string(kSlotHead, '\0'), 0));
  WF_TRY(WriteWhole(out, to, BytesOf(head), 0));
  for (uint32_t i = 0; i < run.size(); ++i) {
    WF_TRY(WriteWhole(out, to, BytesOf(run[i].entry), EntryOffset(i)));
    WF_TRY(WriteWhole(out, to, run[i].bytes, i * kSlotBytes + kSlotHead));
  }
  return {};
}

}  // namespace

std::vector<uint32_t> SlotTable::Numbers() const {
  std::vector<uint32_t> out;
  for (const SlotEntry& entry : entries) {
    if (Readable(entry)) out.push_back(entry.number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<uint32_t> SlotTable::PlaceOf(uint32_t number) const {
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].number == number && Readable(entries[i])) return i;
  }
  return std::nullopt;
}

std::vector<uint32_t> SlotTable::LastOfRuns() const {
  const std::vector<uint32_t> numbers = Numbers();
  std::vector<uint32_t> out;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i + 1 == numbers.size() || numbers[i + 1] != numbers[i] + 1) out.push_back(numbers[i]);
  }
  return out;
}

Result<std::optional<SlotTable>> ReadSlotTable(const ReadAt& read, const std::string& name) {
  std::string bytes;
  WF_TRY(ReadWhole(read, 0, kSlotHead, bytes));
  SlotTable table;
  if (bytes.size() < sizeof(SharedHead) || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return std::optional<SlotTable>();
  std::memcpy(&table.head, bytes.data(), sizeof table.head);
  if (table.head.head.head_size < sizeof(SharedHead) || table.head.slots == 0)
    return std::optional<SlotTable>();
  if (table.head.slots > kMostSlots || bytes.size() < EntryOffset(table.head.slots))
    return BadInput(fmt::format("{}: its head says that it has {} slots", name, table.head.slots),
                    "give a .cpg file that wherefore record wrote");
  table.entries.resize(table.head.slots);
  for (uint32_t i = 0; i < table.head.slots; ++i)
    std::memcpy(&table.entries[i], bytes.data() + EntryOffset(i), sizeof(SlotEntry));
  return std::optional<SlotTable>(std::move(table));
}

// From the last to the first: the recorder takes the oldest one next, which then is the end of it.
Result<std::vector<SlotBytes>> ReadRun(const ReadAt& read, const SlotTable& table, uint32_t last) {
  std::vector<SlotBytes> run;
  for (uint32_t number = last; number > 0; --number) {
    const auto place = table.PlaceOf(number);
    if (!place) break;
    SlotBytes slot;
    slot.entry = table.entries[*place];
    WF_TRY(ReadWhole(read, *place * kSlotBytes + kSlotHead, slot.entry.used, slot.bytes));
    std::string now;
    WF_TRY(ReadWhole(read, EntryOffset(*place), sizeof(SlotEntry), now));
    SlotEntry entry{};
    if (now.size() == sizeof entry) std::memcpy(&entry, now.data(), sizeof entry);
    if (entry.number != number) break;
    run.push_back(std::move(slot));
  }
  std::reverse(run.begin(), run.end());
  return run;
}

Status ReleaseSlot(const std::string& path, uint32_t number) {
  WF_ASSIGN(const ReadAt read, FromFile(path));
  WF_ASSIGN(const std::optional<SlotTable> table, ReadSlotTable(read, path));
  if (!table)
    return BadInput(path + ": has no slots to release", "record with --slots or --snapshot-every");
  const auto place = table->PlaceOf(number);
  // A slot that is being written is not a snapshot yet.
  if (!place || table->entries[*place].use == SlotUse::kWriting)
    return NoSuchSnapshot(path, number);
  const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return EnvironmentError(fmt::format("{}: {}", path, std::strerror(errno)));
  // It names the snapshot, so a slot that the recorder takes in this moment is not released by it.
  return WriteWhole(fd.get(), path, BytesOf(number),
                    EntryOffset(*place) + offsetof(SlotEntry, released));
}

Status CopySnapshot(const std::string& path, uint32_t number, const std::string& to) {
  WF_ASSIGN(const ReadAt read, FromFile(path));
  WF_ASSIGN(const std::optional<SlotTable> table, ReadSlotTable(read, path));
  struct stat from {
  }, there{};
  if (::stat(path.c_str(), &from) == 0 && ::stat(to.c_str(), &there) == 0 &&
      from.st_dev == there.st_dev && from.st_ino == there.st_ino)
    return BadInput(to + ": is the recording itself", "give another file to -o");
  const std::string part = to + ".part";
  const FileDescriptor out(::open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!out.valid()) return EnvironmentError(fmt::format("{}: {}", part, std::strerror(errno)));
  Status done = table ? CopySlots(read, *table, out.get(), path, to, number)
                      : CopyPlain(read, out.get(), to, number);
  if (done.ok() && ::rename(part.c_str(), to.c_str()) != 0)
    done = EnvironmentError(fmt::format("{}: {}", to, std::strerror(errno)));
  if (!done.ok()) ::unlink(part.c_str());
  return done;
}

}  // namespace wf::recorder
