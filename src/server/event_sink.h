// Where receivers put what they decoded: the store, or the bus that tailers read. Answered once, from any thread, when
// the batch is kept or was not; kOverloaded means that nothing was kept and the sender should come again later.
#pragma once

#include <functional>

#include "base/result.h"
#include "bus/bus.h"
#include "model/event_batch.h"
#include "store/store.h"

namespace wf::server {

using EventSink = std::function<void(EventBatch, std::function<void(Status)>)>;

// Both borrow for the life of the sink.
inline EventSink SinkInto(store::EventStore& store) {
  return [&store](EventBatch batch, store::EventStore::Done done) {
    store.Append(std::move(batch), std::move(done));
  };
}
inline EventSink SinkInto(bus::BusPublisher& bus) {
  return [&bus](EventBatch batch, bus::BusPublisher::Done done) {
    bus.Publish(std::move(batch), std::move(done));
  };
}

}  // namespace wf::server
