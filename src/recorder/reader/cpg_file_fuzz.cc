// A file that claims to be a recording: everything that reads it, and its clocks.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wf::recorder;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto read = [](const std::string& text) {
    const auto recording =
        ReadRecording(FromMemory(text), "fuzz.cpg", {ReadOptions::Branches::kKeep});
    if (!recording.ok()) return;
    const Clocks clocks = Clocks::Compute(*recording);
    for (SubId s = 0; s < recording->subs.size(); ++s) {
      const SubComputation& sub = recording->subs[s];
      if (recording->Find(sub.thread, sub.index) != s) __builtin_trap();
      if (clocks.At(s, sub.thread) != sub.index + 1) __builtin_trap();
    }
  };
  read(bytes);
  // A checksum is not guessed: the same bytes once more as the payload of a chunk.
  FileHead head{{}, kVersion, kSchedule | kData, 0, 0, 0, sizeof(FileHead)};
  __builtin_memcpy(head.magic, kMagic, sizeof kMagic);
  std::string file(reinterpret_cast<const char*>(&head), sizeof head);
  const size_t half = size / 2;
  for (const std::string_view payload :
       {std::string_view(bytes).substr(0, half), std::string_view(bytes).substr(half)}) {
    const ChunkHead chunk{kChunkMark,
                          ChunkKind::kThread,
                          payload.size() == half ? 0u : 1u,
                          Codec::kNone,
                          static_cast<uint32_t>(payload.size()),
                          static_cast<uint32_t>(payload.size()),
                          ChecksumOf(payload)};
    file.append(reinterpret_cast<const char*>(&chunk), sizeof chunk).append(payload);
  }
  read(file);
  return 0;
}
