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

#include "store/match.h"
#include "store/store.h"
#include "store/summary.h"

namespace wf {

// A place for a store: opens it, again and again, with everything that was appended before.
class StoreFactory {
 public:
  virtual ~StoreFactory() = default;
  virtual Result<std::unique_ptr<Store>> Open() = 0;
  virtual int64_t DiskBytes() = 0;
};
using MakeStoreFactory = std::unique_ptr<StoreFactory> (*)();

// Builds batches one row after another.
class BatchBuilder {
 public:
  explicit BatchBuilder(std::string tenant = "default") { b_.tenant = std::move(tenant); }

  BatchBuilder& Process(const std::string& service, const std::string& host = "",
                        const std::vector<std::pair<std::string, std::string>>& attrs = {}) {
    const uint32_t begin = b_.ArenaSize();
    for (const auto& [key, value] : attrs) {
      PutVarint(b_.strings.Intern(key), b_.bytes);
      PutString(value, b_.bytes);
    }
    const uint32_t end = b_.ArenaSize();
    b_.processes.push_back({b_.strings.Intern(service), b_.strings.Intern(host), begin, end});
    if (b_.scopes.empty()) b_.scopes.push_back({});
    return *this;
  }
  BatchBuilder& Span(TraceId trace, uint64_t id, uint64_t parent, Nanos start, Nanos duration,
                     const std::string& name = "op") {
    if (b_.processes.empty()) Process("service");
    b_.AddRow();
    b_.trace_hi.back() = trace.hi;
    b_.trace_lo.back() = trace.lo;
    b_.id1.back() = id;
    b_.id2.back() = parent;
    b_.start_ns.back() = start;
    b_.end_ns.back() = start + duration;
    b_.marks.back() = kHasStart | kHasEnd;
    b_.parent_ref.back() = parent == 0 ? ParentRef::kNone : ParentRef::kChildOf;
    b_.kind.back() = SpanKind::kInternal;
    b_.name.back() = b_.strings.Intern(name);
    b_.process.back() = static_cast<uint32_t>(b_.processes.size() - 1);
    return *this;
  }
  BatchBuilder& Kind(SpanKind kind) { return b_.kind.back() = kind, *this; }
  BatchBuilder& Status(SpanStatus status) { return b_.status.back() = status, *this; }
  BatchBuilder& Key(const std::string& key) {
    return PutVarint(b_.strings.Intern(key), b_.bytes), *this;
  }
  BatchBuilder& Text(const std::string& key, std::string_view value) {
    Key(key), PutString(value, b_.bytes), b_.EndAttributes();
    return *this;
  }
  BatchBuilder& Int(const std::string& key, int64_t value) {
    Key(key), PutInt(value, b_.bytes), b_.EndAttributes();
    return *this;
  }
  BatchBuilder& Bool(const std::string& key, bool value) {
    Key(key), PutBool(value, b_.bytes), b_.EndAttributes();
    return *this;
  }
  BatchBuilder& Double(const std::string& key, double value) {
    Key(key), PutDouble(value, b_.bytes), b_.EndAttributes();
    return *this;
  }
  BatchBuilder& Packed(const std::string& key, ValueType type, std::string_view value) {
    Key(key), PutString(value, b_.bytes, type), b_.EndAttributes();
    return *this;
  }
  BatchBuilder& Received(Nanos when) { return b_.received_ns = when, *this; }
  EventBatch& batch() { return b_; }
  EventBatch Take() { return std::move(b_); }

 private:
  EventBatch b_;
};

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

}  // namespace wf
