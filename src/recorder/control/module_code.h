// The code of a recorded program, from the files that were mapped when it ran, as they are on disk now.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "recorder/reader/recording.h"

namespace wf::recorder {

class ModuleCode {
 public:
  // As mapped at `time_ns`. The recording must outlive this.
  ModuleCode(const Recording& recording, int64_t time_ns);
  ~ModuleCode();
  ModuleCode(const ModuleCode&) = delete;
  ModuleCode& operator=(const ModuleCode&) = delete;

  // The code up to the end of its mapping; empty if no mapping is known there.
  std::string_view At(uint64_t address);

 private:
  class File;
  const File& Open(uint32_t path);

  const Recording& recording_;
  std::map<uint64_t, const ModuleFacts*> by_begin_;
  std::map<uint32_t, std::unique_ptr<File>> files_;
};

}  // namespace wf::recorder
