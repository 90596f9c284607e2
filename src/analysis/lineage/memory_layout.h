// Where threads and pages should be on a machine whose memory is not equally near to all cores (INSPECTOR
// §VIII): each page on the node that uses it most, threads that share pages on one node, and the same number
// of threads on each node.
//
// One use is one sub-computation that touches one page; its cost is the distance between the two nodes. The
// search starts from the order in which threads were created and exchanges threads between nodes while the
// cost falls; pages follow their threads. So the proposal is never worse than first touch or interleaving
// with threads placed in order, which it is compared with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/lineage/page_matrix.h"
#include "base/result.h"

namespace wf::lineage {

struct Distances {
  uint32_t nodes = 0;
  std::vector<double> between;  // nodes × nodes
  double At(uint32_t from, uint32_t to) const { return between[from * nodes + to]; }

  static Distances Uniform(uint32_t nodes);  // 10 at home, 20 away, the values that Linux reports
  // Lines of numbers, as `cat /sys/devices/system/node/node*/distance` prints them. BadInput names the line.
  static Result<Distances> Parse(const std::string& text, uint32_t nodes, const std::string& name);
};

struct Placement {
  std::vector<uint32_t> threads;  // node of each thread
  std::vector<uint32_t> rows;     // node of each row of the matrix, and so of all pages in the row
  bool interleaved = false;       // page p is on node p mod nodes, whatever `rows` says
};

struct PlacementCost {
  double remote_share = 0;   // share of uses whose page is on another node
  double mean_distance = 0;  // over all uses
};

struct MemoryLayout {
  Placement proposed;
  PlacementCost first_touch, interleaved, proposed_cost;
};

MemoryLayout ProposeLayout(const std::vector<PageRow>& matrix, size_t threads,
                           const Distances& distances);
PlacementCost CostOf(const std::vector<PageRow>& matrix, const Placement& placement,
                     const Distances& distances);

}  // namespace wf::lineage
