// BatchBuilder: batches for tests, one row after another.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/event_batch.h"

namespace wf::store {

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

}  // namespace wf::store
