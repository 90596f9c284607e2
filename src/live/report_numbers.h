// Which results of live queries have been taken. A process sends a report again when it got no answer; the report may
// have arrived all the same, or arrive late, beside the second one. Each result has a number, and they are sent in
// ascending order, the oldest that was not acknowledged first: so whatever is not above the last one taken came before.
//
// Numbers are of one run of a sender, which names itself by something random; of senders that were not heard of for the
// longest time, past kMost, we know nothing any more.
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

  // False: it has been taken before.
  bool Take(const std::string& run, uint64_t number);
  size_t runs() const { return by_use_.size(); }

 private:
  using Runs = std::list<std::pair<std::string, uint64_t>>;  // the last heard of first
  Runs by_use_;
  std::unordered_map<std::string, Runs::iterator> runs_;
};

}  // namespace wf::live
