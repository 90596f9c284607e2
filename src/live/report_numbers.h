// Which results of live queries have been received. A process sends a report again when it got no answer, but
// the first report may have arrived all the same, or may arrive after the second. Each result has a number,
// and results are sent in ascending order, beginning with the oldest that was not acknowledged. So a result
// whose number is not above the last one received is a duplicate.
//
// Numbers belong to one run of a sender, which has a random name. Beyond kMost runs, those that were quiet
// for longest are forgotten.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace wf::live {

class ReportNumbers {
 public:
  static constexpr size_t kMost = 20'000;

  // False: this result is a duplicate.
  bool Take(const std::string& run, uint64_t number);
  size_t runs() const { return by_use_.size(); }

 private:
  using Runs = std::list<std::pair<std::string, uint64_t>>;  // most recently used first
  Runs by_use_;
  std::unordered_map<std::string, Runs::iterator> runs_;
};

}  // namespace wf::live
