#include "recorder/reader/recording.h"

#include <fmt/format.h>

#include <cstring>

#include "recorder/reader/empty_cuts.h"
#include "recorder/reader/recording_builder.h"
#include "recorder/reader/slot_table.h"

namespace wf::recorder {

namespace {

// Decompressed; 32-bit places into the arrays hold that much, whatever the records are.
constexpr uint64_t kMostBytes = uint64_t{32} << 30;

std::optional<uint32_t> Number(std::string_view text) {
  if (text.empty() || text.size() > 10 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  if (value >= kNone) return std::nullopt;
  return static_cast<uint32_t>(value);
}

}  // namespace

SubId Recording::Find(uint32_t thread, uint32_t index) const {
  if (thread >= threads.size() || index < threads[thread].first_index ||
      index >= threads[thread].count())
    return kNone;
  return threads[thread].Place(index);
}

std::string SubName(const SubComputation& sub) {
  return fmt::format("{}.{}", sub.thread, sub.index);
}

std::optional<std::pair<uint32_t, uint32_t>> ParseSubName(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto thread = Number(text.substr(0, dot)), index = Number(text.substr(dot + 1));
  if (!thread || !index) return std::nullopt;
  return std::make_pair(*thread, *index);
}

namespace {

// Of a file of slots: those up to the one asked for, without a gap.
Result<Recording> ReadSlots(const ReadAt& read, const SlotTable& table, const std::string& name,
                            const ReadOptions& options) {
  Recording recording;
  recording.file = name;
  recording.version = table.head.head.version;
  recording.depth = table.head.head.depth | kSchedule;
  recording.started_unix_ns = table.head.head.started_unix_ns;
  recording.pid = table.head.head.pid;
  recording.slots = table.head.slots;
  recording.only_snapshot = table.head.only_snapshot;
  const std::vector<uint32_t> numbers = table.Numbers();
  std::vector<SlotBytes> run;
  if (!numbers.empty()) {
    WF_ASSIGN(run, ReadRun(read, table, options.snapshot.value_or(numbers.back())));
  }
  if (options.snapshot && run.empty())
    return NotFound(fmt::format("{}: no snapshot {}", name, *options.snapshot),
                    "wherefore cpg F snapshots lists them");
  RecordingBuilder builder;
  builder.ExpectSlots(run.empty() || run.front().entry.number == 1
                          ? RecordingBuilder::Before::kNothing
                          : RecordingBuilder::Before::kOthers);
  uint64_t damaged = 0;
  for (const SlotBytes& slot : run) {
    ChunkReader reader = ChunkReader::Within(table.head.head, FromMemory(slot.bytes));
    for (;;) {
      Chunk chunk;
      WF_ASSIGN(const bool more, reader.Next(chunk));
      if (!more) break;
      builder.Add(chunk);
    }
    recording.complete = reader.complete();
    damaged += reader.damaged();
    if (reader.position() < slot.bytes.size()) ++damaged;
  }
  builder.Finish(recording);
  if (table.head.overwritten > 0) recording.lost["overwritten_snapshots"] = table.head.overwritten;
  if (table.head.trouble != 0)
    recording.lost[fmt::format("all after writing failed: {}",
                               std::strerror(static_cast<int>(table.head.trouble)))] = 1;
  if (damaged > 0) recording.lost["damaged_chunks"] += damaged;
  return recording;
}

}  // namespace

Result<Recording> ReadRecording(ReadAt read, const std::string& name, const ReadOptions& options) {
  WF_ASSIGN(const std::optional<SlotTable> slots, ReadSlotTable(read, name));
  WF_ASSIGN(ChunkReader reader, ChunkReader::Open(read, name));
  if (slots) return ReadSlots(read, *slots, name, options);
  Recording recording;
  recording.only_snapshot = reader.only_snapshot();
  recording.file = name;
  recording.version = reader.head().version;
  recording.depth = reader.head().depth | kSchedule;
  recording.started_unix_ns = reader.head().started_unix_ns;
  recording.pid = reader.head().pid;
  RecordingBuilder builder;
  uint64_t bytes = 0;
  for (;;) {
    Chunk chunk;
    WF_ASSIGN(const bool more, reader.Next(chunk));
    if (!more) break;
    bytes += chunk.payload.size();
    if (bytes > kMostBytes)
      return BadInput(fmt::format("{}: has more than {} GiB of records", name, kMostBytes >> 30),
                      "record less of the program, or ask about a snapshot of it");
    builder.Add(chunk);
    if (chunk.kind == ChunkKind::kBranches && options.branches == ReadOptions::Branches::kKeep)
      recording.branches.push_back({chunk.thread, std::string(chunk.payload)});
  }
  builder.Finish(recording);
  LeaveOutEmptyCuts(recording);
  recording.complete = reader.complete();
  if (reader.trouble() != 0)
    recording.lost[fmt::format("all after writing failed: {}",
                               std::strerror(static_cast<int>(reader.trouble())))] = 1;
  if (reader.damaged() > 0) recording.lost["damaged_chunks"] += reader.damaged();
  return recording;
}

Result<Recording> ReadRecording(const std::string& path, const ReadOptions& options) {
  WF_ASSIGN(ReadAt read, FromFile(path));
  return ReadRecording(std::move(read), path, options);
}

}  // namespace wf::recorder
