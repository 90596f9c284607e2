// ResourceRows: of all rows offered, the first that a resource query asks for, in the order of its answer: (start,
// trace, id, content). It never holds more than about twice the limit, however many match, so engines offer what they
// find in any order and ask whether a later start can still matter. Thread safety: none.
#pragma once

#include <map>
#include <string>

#include "store/store.h"

namespace wf::store {

class ResourceRows {
 public:
  // `query` is borrowed for this object's life.
  ResourceRows(const std::string& tenant, const ResourceQuery& query);

  // Takes the rows that match. A row offered twice is taken once.
  void Offer(const EventBatch& batch);
  // Can a row that starts then still be among the first?
  bool MayTake(Nanos start) const;
  ResourcePage Finish();
  size_t rows_held() const { return kept_.size(); }

 private:
  void Compact();

  const ResourceQuery& query_;
  EventBatch kept_;  // rows taken, in order of arrival; some no longer among the first
  // Their places; at most limit + 1, to know whether there is more.
  std::map<ResourceCursor, size_t> first_;
};

}  // namespace wf::store
