#include "live/blind_joins.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace wf::live {
namespace {

bool Unpacks(const advice::Advice& advice, uint32_t slot) {
  return std::any_of(advice.steps.begin(), advice.steps.end(), [&](const advice::Step& step) {
    const auto* unpack = std::get_if<advice::Unpack>(&step);
    return unpack != nullptr && unpack->slot == slot;
  });
}

}  // namespace

std::vector<std::string> BlindJoins(const advice::Program& program,
                                    const std::set<std::string>& woven,
                                    const std::set<std::string>& compiled_in) {
  const auto only = [](const std::string& name, const std::set<std::string>& here,
                       const std::set<std::string>& there) {
    return here.count(name) != 0 && there.count(name) == 0;
  };
  std::vector<std::string> sentences;
  for (const advice::Advice& packing : program.advice) {
    const auto* pack = std::get_if<advice::Pack>(&packing.steps.back());
    if (pack == nullptr) continue;
    for (const advice::Advice& unpacking : program.advice) {
      if (!Unpacks(unpacking, pack->slot)) continue;
      for (const std::string& from : packing.tracepoints) {
        for (const std::string& to : unpacking.tracepoints) {
          if (!only(from, compiled_in, woven) || !only(to, woven, compiled_in)) continue;
          sentences.push_back(fmt::format(
              "{} packs tuples that {} cannot read: one is compiled in, the other woven "
              "by eBPF, which does not see baggage; compile both in, or weave both",
              from, to));
        }
      }
    }
  }
  return sentences;
}

}  // namespace wf::live
