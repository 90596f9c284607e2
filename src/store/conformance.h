// The suite that every Store must pass. An engine's test file defines a Factory, instantiates the suite with it:
//
//   INSTANTIATE_TEST_SUITE_P(DuckDB, StoreConformance, ::testing::Values(&MakeDuckdbFactory));
//
// Every batch is appended twice, because receiving twice must change nothing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "store/batch_builder.h"
#include "store/match.h"
#include "store/store.h"
#include "store/summary.h"

namespace wf::store {

// A place for a store: opens it, again and again, with everything that was appended before.
class StoreFactory {
 public:
  virtual ~StoreFactory() = default;
  virtual Result<std::unique_ptr<Store>> Open() = 0;
  virtual int64_t DiskBytes() = 0;
};
using MakeStoreFactory = std::unique_ptr<StoreFactory> (*)();

class StoreConformance : public ::testing::TestWithParam<MakeStoreFactory> {
 protected:
  void SetUp() override {
    factory_ = GetParam()();
    Reopen();
  }
  void Reopen() {
    store_.reset();
    auto opened = factory_->Open();
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
  }
  // Twice, as a sender that saw no answer would.
  void Append(const EventBatch& batch) {
    AppendOnce(batch);
    AppendOnce(batch);
  }
  void AppendOnce(const EventBatch& batch) {
    const Status status = store_->AppendAndWait(batch);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  void Flush() {
    const Status status = store_->Flush();
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  EventBatch Read(TraceId id, const std::string& tenant = "default") {
    auto read = store_->ReadTrace(tenant, id);
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
    return read.ok() ? std::move(*read) : EventBatch();
  }
  StoreStatus ReadStatus(const std::string& tenant = "default") {
    auto status = store_->ReadStatus(tenant);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    return status.ok() ? *status : StoreStatus();
  }
  SearchPage Search(const TraceQuery& query, const std::string& tenant = "default") {
    auto page = store_->Search(tenant, query);
    EXPECT_TRUE(page.ok()) << (page.ok() ? "" : page.error().message);
    return page.ok() ? *page : SearchPage();
  }
  std::vector<uint64_t> Found(const TraceQuery& query, const std::string& tenant = "default") {
    std::vector<uint64_t> ids;
    for (const TraceSummary& trace : Search(query, tenant).traces) ids.push_back(trace.trace_id.lo);
    return ids;
  }
  // The content of a trace, independent of codes: one hash a row, in order.
  static std::vector<std::pair<uint64_t, Hash128>> Content(const EventBatch& batch) {
    std::vector<std::pair<uint64_t, Hash128>> out;
    for (size_t i = 0; i < batch.size(); ++i) out.push_back({batch.id1[i], ContentHash(batch, i)});
    return out;
  }
  static TraceId T(uint64_t n) { return {MixBits(n), n}; }

  std::unique_ptr<StoreFactory> factory_;
  std::unique_ptr<Store> store_;
};

constexpr Nanos kT0 = 1'700'000'000 * kSecond;

}  // namespace wf::store
