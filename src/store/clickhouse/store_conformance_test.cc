// The conformance suite on the servers that WHEREFORE_CLICKHOUSE_URL names; tests/system/cluster/clickhouse_test.py starts some.
// Each test has a database of its own, dropped after.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "store/clickhouse/clickhouse_factory_test.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/client.h"
#include "store/conformance_datasets.h"
#include "store/conformance_events.h"
#include "store/conformance_search.h"

namespace wf::store::clickhouse {
namespace {

INSTANTIATE_TEST_SUITE_P(ClickHouse, StoreConformance, ::testing::Values(&MakeClickhouseFactory));
INSTANTIATE_TEST_SUITE_P(ClickHouse, DatasetConformance, ::testing::Values(&MakeClickhouseFactory));

}  // namespace
}  // namespace wf::store::clickhouse
