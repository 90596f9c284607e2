// The true causes of generated messages: a row for every request that is shown, in the order of the lines
// that show them.
#pragma once

#include <deque>
#include <string>

#include "scenario/message_generator.h"

namespace wf::scenario {

// Rows wait until their parent's line is known: where clocks differ, a child may be shown before its parent.
class GeneratedTruth {
 public:
  GeneratedTruth(MessageGenerator& generator, std::string& out)
      : generator_(generator), out_(out) {}

  // `line` is the first to show the request. Calls are in the order of lines.
  void Show(TraceletRun& run, uint32_t request, uint64_t line);
  // The request will never be shown.
  void Lose(TraceletRun& run, uint32_t request);

 private:
  struct Row {
    uint64_t line;
    TraceletRun* run;
    uint32_t parent;
  };
  void WriteReady();
  void Write(uint64_t line, uint64_t parent);

  MessageGenerator& generator_;
  std::string& out_;
  std::deque<Row> waiting_;
};

}  // namespace wf::scenario
