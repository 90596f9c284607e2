// What linking decides at one node: the calls into it (parents) and out of it (children), by the node's own times, and
// for each child the parents that come into question.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/paths/call.h"

namespace wf {

enum Standing : uint8_t { kFirstToArrive = 1, kLastToArrive = 2, kFirstToReply = 4, kLastToReply = 8 };

struct LinkParent {
  uint32_t call = 0;
  uint32_t kind = 0;  // by caller: of equal kind, the same behaviour is expected
  Nanos opened = 0, replied = 0;
  bool returned = true;
  uint64_t thread = 0, conn = 0;
  // Where it stands among the calls that its request makes to this node: a bit per Standing; 0 if there is no other.
  uint8_t standing = 0;
  uint32_t first_sibling = 0, sibling_count = 0;  // in NodeProblem::siblings; itself included
};

struct LinkChild {
  uint32_t call = 0;
  uint32_t kind = 0;  // by callee
  Nanos sent = 0, ended = 0;
  bool returned = true;
  uint64_t thread = 0, conn = 0;
  uint32_t first_candidate = 0, candidate_count = 0;  // in NodeProblem::candidates, by rising arrival
};

struct NodeProblem {
  std::vector<LinkParent> parents;   // by opened, then line
  std::vector<LinkChild> children;   // by sent, then line
  std::vector<uint32_t> candidates;  // indices of parents
  std::vector<uint32_t> siblings;    // parents of one request, where it has several here
  uint32_t parent_kinds = 0, child_kinds = 0;
  Nanos slack = 0;  // times may be off by so much
  Nanos first = 0, last = 0;
  uint64_t cut = 0;

  std::span<const uint32_t> CandidatesOf(uint32_t child) const {
    return {candidates.data() + children[child].first_candidate, children[child].candidate_count};
  }
  std::span<const uint32_t> SiblingsOf(uint32_t parent) const {
    return {siblings.data() + parents[parent].first_sibling, parents[parent].sibling_count};
  }
  // Whether the child may have been sent by the parent: sent while the parent was open.
  bool Allows(uint32_t parent, uint32_t child) const {
    const LinkParent& p = parents[parent];
    const Nanos sent = children[child].sent;
    return p.opened <= sent + slack && (!p.returned || sent <= p.replied + slack);
  }
};

// `incoming` and `outgoing` are indices of calls into and out of one node, in line order.
NodeProblem MakeNodeProblem(std::span<const Call> calls, std::span<const uint32_t> incoming,
                            std::span<const uint32_t> outgoing, Nanos skew_window);

}  // namespace wf
