// What linking decides at one node: the calls into it (parents) and out of it (children), by the node's own
// times, and for each child the possible parents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/paths/call.h"

namespace wf::paths {

// The position of a call among those that one request makes to a node.
enum Standing : uint8_t {
  kFirstToArrive = 1,
  kLastToArrive = 2,
  kFirstToReply = 4,
  kLastToReply = 8
};

struct LinkParent {
  uint32_t call = 0;
  uint32_t kind = 0;  // by caller; parents of equal kind are expected to behave alike
  Nanos opened = 0, replied = 0;
  bool returned = true;
  uint64_t thread = 0, conn = 0;
  uint8_t standing = 0;  // bits of Standing; 0: the request makes no other call here
  uint32_t first_sibling = 0, sibling_count = 0;  // in NodeProblem::siblings; itself included
  bool whole = true;  // the problem covers its whole time, so all of its calls
};

struct LinkChild {
  uint32_t call = 0;
  uint32_t kind = 0;  // by callee
  Nanos sent = 0, ended = 0;
  bool returned = true;
  uint64_t thread = 0, conn = 0;
  uint64_t first_candidate = 0;  // in NodeProblem::candidates, by rising arrival
  uint32_t candidate_count = 0;
};

struct NodeProblem {
  std::vector<LinkParent> parents;   // by opened, then line
  std::vector<LinkChild> children;   // by sent, then line
  std::vector<uint32_t> candidates;  // indices of parents
  std::vector<uint32_t> siblings;    // parents of one request, where it has several here
  uint32_t parent_kinds = 0, child_kinds = 0;
  Nanos slack = 0;          // times may be off by this much
  std::vector<Nanos> late;  // per child kind: how long after its parent's reply a child may be sent
  Nanos latest = 0;         // max of `late`
  Nanos longest = 0;        // a parent without a return is given up after the longest one seen
  uint64_t cut = 0;         // candidates left out

  std::span<const uint32_t> CandidatesOf(uint32_t child) const {
    return {candidates.data() + children[child].first_candidate, children[child].candidate_count};
  }
  std::span<const uint32_t> SiblingsOf(uint32_t parent) const {
    return {siblings.data() + parents[parent].first_sibling, parents[parent].sibling_count};
  }
  Nanos ClosesAt(const LinkParent& parent) const {
    return (parent.returned ? parent.replied : parent.opened + longest) + slack;
  }
  // Whether the parent may have sent the child.
  bool Allows(uint32_t parent, uint32_t child) const {
    const LinkParent& p = parents[parent];
    const LinkChild& c = children[child];
    return p.call != c.call && p.opened <= c.sent + slack && c.sent <= ClosesAt(p) + late[c.kind];
  }
  // The possible children of a parent are within [first, second).
  std::pair<uint32_t, uint32_t> ChildrenOf(uint32_t parent) const;
};

// `incoming` and `outgoing` are indices of calls into and out of one node, in line order. Candidates are
// counted but not yet listed: in a long trace only the part being solved lists them (CutOf).
NodeProblem MakeNodeProblem(std::span<const Call> calls, std::span<const uint32_t> incoming,
                            std::span<const uint32_t> outgoing, Nanos skew_window);

// Lists the candidates of all children.
void FindCandidates(NodeProblem& problem);

// Mean per child; 0 if there are no children.
double MeanCandidates(const NodeProblem& problem);
// How long parents are open, on average; parents that never reply count with the time they are given.
double MeanOpen(const NodeProblem& problem);
// Whether most parents reply; replies say much about what parents did.
bool MostReply(const NodeProblem& problem);
// Whether there are so many candidates that assignments made call by call say nothing, while replies do.
bool IsCrowded(const NodeProblem& problem);

// Finds for each parent the others that belong to the same request: `request_of` is by call.
void FindSiblings(NodeProblem& problem, std::span<const uint32_t> request_of);

// The part of the problem with these children, with their candidates. Ranges are in rising order. Kinds keep
// their numbers.
struct ChildRange {
  size_t from = 0, to = 0;
};
NodeProblem CutOf(const NodeProblem& problem, std::span<const ChildRange> ranges);

// Some stretches of the problem, spread over it, with about `children` children in all: enough to learn from.
// Kinds keep their numbers.
NodeProblem SampleOf(const NodeProblem& problem, size_t children, size_t stretches);

}  // namespace wf::paths
