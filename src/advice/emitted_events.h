// Events as the emit plan sends them: what a program reads at its tracepoints, under a causal id, behind the ids of
// what happened before. Where branches rejoin without an event, a link stands for both: an event without a tracepoint.
//
// One event after the other, so that events of several threads are put together by appending them:
//   varint place (0: link; else the number of the tracepoint, from 1, in EmittedPlaces), fixed64 id, signed time_ns,
//   varint number of ids before, each fixed64, and at a tracepoint the values of EmittedPlace::variables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advice/program.h"
#include "advice/value.h"

namespace wf::advice {

// Stands among the ids before an event of which part of the past was lost on the way: no event has it.
inline constexpr uint64_t kLostPast = 0;

struct EmittedEvent {
  uint64_t id = 0;
  int64_t time_ns = 0;
  uint32_t place = 0;           // 0: a link
  std::vector<uint64_t> after;  // ids
  std::vector<Value> values;    // of the place's variables
};

// A tracepoint of the program, and the exports that are read there. The defaults are the process's and the event's.
struct EmittedPlace {
  std::string tracepoint;
  std::vector<std::string> variables;
};
// By name: the same wherever the program is.
std::vector<EmittedPlace> EmittedPlaces(const Program& program);

void AppendEvent(const EmittedEvent& event, std::string& out);
// False if `bytes`, all of them, are not events of these places. Work and memory are bounded by their size.
bool DecodeEvents(std::string_view bytes, const std::vector<EmittedPlace>& places,
                  std::vector<EmittedEvent>& out);

}  // namespace wf::advice
