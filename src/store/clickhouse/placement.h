// On which shard a trace lies: by a hash of its id over the shards there are. So it lies elsewhere once there are more, and
// what was written before stays where it is: reads go to all shards, and what says that older rows of a trace do not count any
// more is written wherever such may lie. The store remembers how many shards it has had (ReadShardCounts).
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/result.h"
#include "store/clickhouse/client.h"

namespace wf::store::clickhouse {

class Placement {
 public:
  // `counts`: of shards, those that were and the one that is, which is the greatest.
  explicit Placement(std::set<size_t> counts) : counts_(std::move(counts)) {}

  // By the trace alone: whatever process receives its events, and whenever, they lie together.
  size_t Of(TraceId id) const { return At(id, *counts_.rbegin()); }
  // With where it lay when there were fewer shards.
  std::set<size_t> OfAllTimes(TraceId id) const {
    std::set<size_t> out;
    for (const size_t count : counts_) out.insert(At(id, count));
    return out;
  }

 private:
  static size_t At(TraceId id, size_t shards) { return MixBits(id.lo ^ MixBits(id.hi)) % shards; }
  std::set<size_t> counts_;
};

}  // namespace wf::store::clickhouse
