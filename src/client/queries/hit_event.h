// A hit of a compiled-in tracepoint, in the form that advice reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "advice/interpreter.h"
#include "client/queries/live_query.h"
#include "wherefore/tracepoint.h"

namespace wherefore::client {

// What every event has, whatever its tracepoint exports.
enum class DefaultVariable : uint8_t { kNone, kTime, kHost, kProcName, kProcId, kTracepoint };
DefaultVariable DefaultNamed(std::string_view name);

// Borrow the field's text.
[[gnu::hot]] wf::advice::Cell CellOf(const FieldValue& field);  // unless it is a list
[[gnu::hot]] wf::advice::Cell CellAt(const FieldValue& list, size_t element);  // of a list

class HitEvent : public wf::advice::Event {
 public:
  // All of it must outlive the event.
  HitEvent(const internal::Tracepoint& tracepoint, const ProcessIdentity& process,
           const TracepointField* fields, size_t count)
      : tracepoint_(tracepoint), process_(process), fields_(fields), count_(count) {}

  wf::advice::Value Variable(std::string_view name) const override;
  Observed Observe(std::string_view name, std::vector<wf::advice::Cell>& into) const override;
  int64_t time_ns() const override;  // when it was first requested, which most advice does not do
  std::string_view id() const override;

  uint64_t number() const;  // random, made on demand: most advice does not need it
  [[gnu::hot]] wf::advice::Cell Default(DefaultVariable which) const;
  const TracepointField* fields() const { return fields_; }
  size_t field_count() const { return count_; }

 private:
  const internal::Tracepoint& tracepoint_;
  const ProcessIdentity& process_;
  const TracepointField* fields_;
  const size_t count_;
  mutable int64_t time_ns_ = 0;  // 0: not read yet
  mutable uint64_t number_ = 0;  // 0: not made yet
};

}  // namespace wherefore::client
