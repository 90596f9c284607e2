#include "store/event_store.h"

#include <future>
#include <utility>

namespace wf::store {

Status EventStore::AppendAndWait(EventBatch batch) {
  std::promise<Status> durable;
  Append(std::move(batch), [&](Status status) { durable.set_value(std::move(status)); });
  return durable.get_future().get();
}

}  // namespace wf::store
