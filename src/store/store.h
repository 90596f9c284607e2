// Store: everything that is kept, in one object. One interface for each kind of thing, one table definition (table.h),
// several engines; conformance.h holds the suite that each must pass. A function takes the narrowest interface that it
// needs.
#pragma once

#include "store/attachment_store.h"
#include "store/clock_store.h"
#include "store/dataset_store.h"
#include "store/document_store.h"
#include "store/event_store.h"
#include "store/message_store.h"
#include "store/store_keeper.h"

namespace wf::store {

class Store : public EventStore,
              public ClockStore,
              public MessageStore,
              public AttachmentStore,
              public DocumentStore,
              public DatasetStore,
              public StoreKeeper {};

}  // namespace wf::store
