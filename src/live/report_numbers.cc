#include "live/report_numbers.h"

namespace wf::live {

bool ReportNumbers::Take(const std::string& run, uint64_t number) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) {
    by_use_.emplace_front(run, number);
    runs_.emplace(run, by_use_.begin());
    if (by_use_.size() > kMost) {
      runs_.erase(by_use_.back().first);
      by_use_.pop_back();
    }
    return true;
  }
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  if (number <= found->second->second) return false;
  found->second->second = number;
  return true;
}

}  // namespace wf::live
