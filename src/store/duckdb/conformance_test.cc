#include <unistd.h>

#include <filesystem>

#include "store/conformance_datasets.h"
#include "store/conformance_events.h"
#include "store/conformance_search.h"
#include "store/directory.h"
#include "store/duckdb/duckdb_store.h"

namespace wf::store::duckdb {
namespace {

class DuckdbFactory : public StoreFactory {
 public:
  DuckdbFactory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "wherefore-store-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~DuckdbFactory() override { std::filesystem::remove_all(directory_); }
  Result<std::unique_ptr<Store>> Open() override { return OpenDuckdbStore(directory_); }
  int64_t DiskBytes() override { return DirectoryBytes(directory_); }

 private:
  std::string directory_;
};

std::unique_ptr<StoreFactory> MakeFactory() { return std::make_unique<DuckdbFactory>(); }

INSTANTIATE_TEST_SUITE_P(DuckDB, StoreConformance, ::testing::Values(&MakeFactory));
INSTANTIATE_TEST_SUITE_P(DuckDB, DatasetConformance, ::testing::Values(&MakeFactory));

}  // namespace
}  // namespace wf::store::duckdb
