#include "recorder/control/coverage_paths.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_set>

#include "recorder/control/instruction_flow.h"

namespace wf::recorder {
namespace {

// Between two calls there are a few dozen instructions; a function that was not compiled so can have any number.
constexpr size_t kMaxInstructions = 4096;

// A place reached in the search, and how: steps refer to the one before them.
struct Step {
  uint64_t address;
  int before;  // -1: the beginning
  std::optional<Thunk> thunk;
};

std::vector<Thunk> WayTo(const std::vector<Step>& steps, int at) {
  std::vector<Thunk> way;
  for (; at >= 0; at = steps[static_cast<size_t>(at)].before)
    if (const auto& thunk = steps[static_cast<size_t>(at)].thunk) way.push_back(*thunk);
  std::reverse(way.begin(), way.end());
  return way;
}

}  // namespace

std::optional<CoveragePaths::Callee> CoveragePaths::CalleeBefore(uint64_t return_address) const {
  const auto near = code_(return_address - 5);
  if (near.size() >= 5 && static_cast<uint8_t>(near[0]) == 0xE8) {
    int32_t distance = 0;
    std::memcpy(&distance, near.data() + 1, 4);
    return Callee{return_address + static_cast<uint64_t>(int64_t{distance}), std::nullopt};
  }
  const auto through = code_(return_address - 6);
  if (through.size() >= 6 && static_cast<uint8_t>(through[0]) == 0xFF &&
      static_cast<uint8_t>(through[1]) == 0x15) {
    int32_t distance = 0;
    std::memcpy(&distance, through.data() + 2, 4);
    return Callee{std::nullopt, return_address + static_cast<uint64_t>(int64_t{distance})};
  }
  return std::nullopt;
}

const CoveragePaths::Way& CoveragePaths::Between(uint64_t from, uint64_t to) {
  const auto [place, fresh] = known_.try_emplace({from, to});
  if (fresh) place->second = Search(from, to);
  return place->second;
}

// Breadth first over basic blocks, so that of several ways the one with the fewest branches is found.
CoveragePaths::Way CoveragePaths::Search(uint64_t from, uint64_t to) const {
  const bool to_tail = to == 0;
  const auto trace_call = CalleeBefore(to_tail ? from : to);
  if (!trace_call) return std::nullopt;
  std::vector<Step> steps = {{from, -1, std::nullopt}};
  std::unordered_set<uint64_t> seen = {from};
  Way by_table;
  const auto go = [&](uint64_t address, int before, std::optional<Thunk> thunk) {
    if (seen.insert(address).second) steps.push_back({address, before, thunk});
  };
  size_t instructions = 0;
  for (size_t next = 0; next < steps.size(); ++next) {
    const int here = static_cast<int>(next);
    uint64_t address = steps[next].address;
    std::string_view text = code_(address);
    for (bool on = true; on && !text.empty() && ++instructions <= kMaxInstructions;) {
      const auto found = elf::DecodeInstruction(text, address);
      if (!found) break;
      const uint64_t following = address + found->length;
      switch (FlowOf(found->kind)) {
        case Flow::kCall:
          if (following == to) return WayTo(steps, here);
          if (Callee{found->target, found->slot} == *trace_call) on = false;  // another block
          break;
        case Flow::kConditional:
          go(following, here, Thunk{following, address, false});
          if (found->target) go(*found->target, here, Thunk{*found->target, address, true});
          on = false;
          break;
        case Flow::kJump:
          if (Callee{found->target, found->slot} == *trace_call) {
            if (to_tail) return WayTo(steps, here);
            on = false;
            break;
          }
          if (found->target) go(*found->target, here, std::nullopt);
          // A jump through a fixed slot goes to another function.
          if (!found->target && !found->slot && !by_table && !to_tail) {
            by_table = WayTo(steps, here);
            by_table->push_back({to - (trace_call->target ? 5 : 6), address, true});
          }
          on = false;
          break;
        case Flow::kEnd:
          on = false;
          break;
        case Flow::kNext:
          break;
      }
      address = following;
      text.remove_prefix(std::min<size_t>(text.size(), found->length));
    }
  }
  return by_table;
}

}  // namespace wf::recorder
