// The thunks of one sub-computation, whatever their source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "recorder/control/coverage_reader.h"
#include "recorder/control/operation_reader.h"
#include "recorder/control/pt_reader.h"
#include "recorder/control/thunk.h"

namespace wf::recorder {

// "qemu"
std::string_view NameOf(BranchSource source);

struct ThunkQuestion {
  uint64_t index = 0;      // of the sub-computation in its thread
  uint64_t opened_at = 0;  // its first instruction, after the call that opened it; 0 if unknown
  CodeAt code;
};

// Pass it the payloads of the thread's kBranches chunks in the order of the file, then call Finish. Not
// thread safe.
class ThunkReader {
 public:
  ThunkReader(ThunkQuestion question, ThunkSink sink)
      : question_(std::move(question)), sink_(std::move(sink)) {}

  void Read(std::string_view payload);
  void Finish();

  std::optional<BranchSource> source() const {
    return source_;
  }  // empty: nothing was recorded for the thread
  // Number of places where this sub-computation has, or may have, missing data.
  uint64_t gaps() const;

 private:
  bool Start(BranchSource source);

  ThunkQuestion question_;
  ThunkSink sink_;
  std::optional<BranchSource> source_;
  uint64_t position_ = 0;  // in the stream
  std::string rest_;       // the beginning of an operation that the next piece continues
  uint64_t foreign_ = 0;   // payloads that are invalid
  std::variant<std::monostate, OperationReader, CoverageReader, PtReader> reader_;
};

}  // namespace wf::recorder
