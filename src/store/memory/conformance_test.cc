#include "store/conformance_datasets.h"
#include "store/conformance_events.h"
#include "store/conformance_search.h"
#include "store/memory/memory_store.h"

namespace wf::store::memory {
namespace {

class MemoryFactory : public StoreFactory {
 public:
  Result<std::unique_ptr<Store>> Open() override {
    return std::unique_ptr<Store>(std::make_unique<MemoryStore>(content_));
  }
  int64_t DiskBytes() override { return BytesOf(*content_); }

 private:
  std::shared_ptr<Content> content_ = NewContent();
};

std::unique_ptr<StoreFactory> MakeFactory() { return std::make_unique<MemoryFactory>(); }

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, ::testing::Values(&MakeFactory));
INSTANTIATE_TEST_SUITE_P(Memory, DatasetConformance, ::testing::Values(&MakeFactory));

}  // namespace
}  // namespace wf::store::memory
