#include "store/resource_rows.h"

#include <iterator>

#include "store/match.h"

namespace wf::store {
namespace {

constexpr size_t kSlackRows = 4096;  // copied once for so many taken in vain

}  // namespace

ResourceRows::ResourceRows(const std::string& tenant, const ResourceQuery& query) : query_(query) {
  kept_.tenant = tenant;
}

bool ResourceRows::MayTake(Nanos start) const {
  if (query_.limit == 0 || (query_.cursor && start < query_.cursor->start_ns)) return false;
  return first_.size() <= query_.limit || start <= first_.rbegin()->first.start_ns;
}

void ResourceRows::Offer(const EventBatch& batch) {
  RowCopier copier(batch, kept_);
  for (size_t row = 0; row < batch.size(); ++row) {
    if (!MayTake(batch.start_ns[row]) || !RowMatches(batch, row, query_)) continue;
    const ResourceCursor place{batch.start_ns[row], batch.trace_id(row), batch.id1[row],
                               ContentHash(batch, row)};
    if (query_.cursor && !(*query_.cursor < place)) continue;
    const auto [it, added] = first_.emplace(place, kept_.size());
    if (!added) continue;
    if (first_.size() > query_.limit + 1) {
      const bool last = std::next(it) == first_.end();
      first_.erase(std::prev(first_.end()));
      if (last) continue;
    }
    copier.Copy(row);
  }
  if (kept_.size() > 2 * query_.limit + kSlackRows) Compact();
}

void ResourceRows::Compact() {
  EventBatch fresh;
  fresh.tenant = kept_.tenant;
  RowCopier copier(kept_, fresh);
  for (auto& [place, row] : first_) {
    copier.Copy(row);
    row = fresh.size() - 1;
  }
  kept_ = std::move(fresh);
}

ResourcePage ResourceRows::Finish() {
  ResourcePage page;
  const bool more = first_.size() > query_.limit;
  if (more) first_.erase(std::prev(first_.end()));
  if (more && !first_.empty()) page.next = first_.rbegin()->first;
  Compact();
  page.rows = std::move(kept_);
  return page;
}

}  // namespace wf::store
