// The places that a weaver describes, and an event that the kernel saw at one of them, in the form that
// advice reads. The bytes come from memory that other processes write, so they are only trusted to be
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advice/interpreter.h"
#include "client/queries/live_query.h"
#include "client/runtime/json_text.h"

namespace wherefore::client {

struct HandedVariable {
  enum class Form : uint8_t { kInteger, kBool, kDouble, kFloat, kString, kText, kNull };
  std::string name;
  Form form = Form::kNull;
  uint32_t offset = 0;  // in the record
  std::string text;     // kText
};

struct HandedPlace {
  std::string tracepoint;  // empty: not described
  uint32_t string_bytes = 0;
  std::vector<HandedVariable> variables;
};

// A list of descriptions, into `places` by their numbers. False if something in it does not fit into records of
// `record_bytes`; what came before it is kept.
bool ReadPlaces(const JsonNode& list, uint32_t record_bytes, std::vector<HandedPlace>& places);

class HandedEvent : public wf::advice::Event {
 public:
  // All of it must outlive the event; `record` has the bytes that ReadPlaces was told.
  HandedEvent(std::string_view record, const HandedPlace& place, const ProcessIdentity& process,
              uint64_t id);

  wf::advice::Value Variable(std::string_view name) const override;
  int64_t time_ns() const override { return time_ns_; }
  std::string_view id() const override { return {id_, sizeof id_}; }

 private:
  wf::advice::Value Read(const HandedVariable& variable) const;

  const std::string_view record_;
  const HandedPlace& place_;
  const ProcessIdentity& process_;
  int64_t time_ns_ = 0;
  uint64_t nulls_ = 0;
  char id_[8];
};

}  // namespace wherefore::client
