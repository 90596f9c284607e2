#include "scenario/message_generator_truth.h"

#include <charconv>

namespace wf::scenario {
namespace {

constexpr uint64_t kNeverShown = UINT64_MAX;

void AppendNumber(uint64_t number, std::string& out) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

void GeneratedTruth::Write(uint64_t line, uint64_t parent) {
  out_ += "{\"call\":";
  AppendNumber(line, out_);
  out_ += ",\"parent\":";
  if (parent == kNeverShown) {
    out_ += "null";
  } else {
    AppendNumber(parent, out_);
  }
  out_ += "}\n";
}

void GeneratedTruth::WriteReady() {
  while (!waiting_.empty()) {
    const Row& row = waiting_.front();
    const uint64_t parent = row.parent == kNoMessage ? kNeverShown : row.run->lines[row.parent];
    if (parent == 0) return;
    Write(row.line, parent);
    generator_.Release(*row.run);
    waiting_.pop_front();
  }
}

void GeneratedTruth::Show(TraceletRun& run, uint32_t request, uint64_t line) {
  run.lines[request] = line;
  const uint32_t parent = run.tracelet->messages[request].parent;
  const uint64_t parent_line = parent == kNoMessage ? kNeverShown : run.lines[parent];
  WriteReady();
  if (waiting_.empty() && parent_line != 0) {
    Write(line, parent_line);
    return;
  }
  generator_.Hold(run);
  waiting_.push_back({line, &run, parent});
}

void GeneratedTruth::Lose(TraceletRun& run, uint32_t request) {
  run.lines[request] = kNeverShown;
  WriteReady();
}

}  // namespace wf::scenario
