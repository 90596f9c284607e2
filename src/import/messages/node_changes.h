// NodeChanges: the user's corrections of nodes, applied to sightings as they are read: other names, and
// offsets of clocks.
//
// Thread safety: none.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "model/sighting.h"

namespace wf::messages {

// Lines `old new`; `#` and empty lines are skipped. Errors name file and line.
Result<std::unordered_map<std::string, std::string>> ReadRenames(const std::string& path);

class NodeChanges {
 public:
  // `skew` is by new name. `nodes` must outlive it.
  NodeChanges(std::unordered_map<std::string, std::string> renames,
              std::map<std::string, Nanos> skew, StringTable& nodes);

  // Renames, then moves the time if the node sighted by its own clock.
  void Apply(Sighting& sighting);

  Nanos least_shift() const { return least_shift_; }  // ≤ 0
  // Nodes named in `skew` that sighted nothing by their own clock.
  std::vector<std::string> Unmoved() const;

 private:
  struct Node {
    NodeId now = 0;
    Nanos shift = 0;
    bool known = false, moved = false;
  };
  Node& Of(NodeId node);

  bool anything_;
  std::unordered_map<std::string, std::string> renames_;
  std::map<std::string, Nanos> skew_;
  StringTable& nodes_;
  std::vector<Node> known_;  // by the name as read
  Nanos least_shift_ = 0;
};

}  // namespace wf::messages
