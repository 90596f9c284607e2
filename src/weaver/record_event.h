// An event that a program sent, as the interpreter of advice sees it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "advice/interpreter.h"
#include "weaver/event_record.h"
#include "weaver/group_shape.h"

namespace wf::weaver {

class RecordEvent : public advice::Event {
 public:
  // `bytes` are a complete record of this layout; all arguments must outlive the event.
  RecordEvent(std::string_view bytes, const RecordLayout& layout, std::string_view tracepoint,
              ProcessNames& names, uint64_t number);

  advice::Value Variable(std::string_view name) const override;
  int64_t time_ns() const override { return static_cast<int64_t>(header_.time); }
  std::string_view id() const override { return {id_.data(), id_.size()}; }

  const RecordHeader& header() const { return header_; }
  advice::Value Slot(size_t variable) const;

 private:
  const std::string_view bytes_;
  const RecordLayout& layout_;
  const std::string_view tracepoint_;
  ProcessNames& names_;
  RecordHeader header_;
  std::array<char, 8> id_{};
};

}  // namespace wf::weaver
