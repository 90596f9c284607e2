// What a stored event tells a query: the defaults, what every span has, and its attributes (docs/reference/query-language.md, "Queries over stored
// traces").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advice/expression.h"
#include "model/event_batch.h"
#include "model/trace.h"

namespace wf::answer {

// One event of stored data. Texts and packed attributes are borrowed from its batch.
struct StoredEvent {
  std::string_view tracepoint;
  Nanos time_ns = 0;                        // by the recorded clock
  std::optional<Nanos> aligned_ns;          // by the corrected one, where it is known
  std::optional<Nanos> duration_ns;         // of what ends here
  uint32_t process = kNone;                 // index into the batch's processes
  std::string_view service;                 // "" if it is the process's
  std::string_view attributes;              // of the span or point itself: they go first,
  std::string_view scope_attributes;        // then these,
  const Annotation* annotations = nullptr;  // then these (trace.h),
  const Annotation* annotations_end = nullptr;
  TraceId trace_id;  // then the process's, and last of all what every event has
  uint64_t span_id = 0;
  std::string_view kind, status;
};

// Reads the same variables of many events. Which attribute a name means is found once per batch.
class VariableReader {
 public:
  explicit VariableReader(std::vector<std::string> names);
  void SetBatch(const EventBatch& batch);  // borrowed until the next

  const std::vector<std::string>& names() const { return names_; }
  // The attributes that may be read, for a scan of columns.
  const std::vector<std::string>& attribute_keys() const { return keys_; }
  bool reads_aligned_time() const { return reads_aligned_; }

  advice::Value Read(size_t variable, const StoredEvent& event) const;
  advice::Tuple ReadAll(const StoredEvent& event) const;

 private:
  struct ProcessFacts {
    advice::Value host, name, pid;
  };
  advice::Value Attribute(size_t variable, const StoredEvent& event) const;
  std::optional<advice::Value> Find(std::string_view packed, uint32_t code) const;

  enum class Which : uint8_t {
    kHost,
    kTime,
    kProcName,
    kProcId,
    kTracepoint,
    kDuration,
    kAlignedTime,
    kAttribute
  };
  std::vector<std::string> names_, keys_;
  std::vector<Which> which_;
  std::vector<size_t> key_of_;  // of kAttribute: index into keys_
  bool reads_aligned_ = false;
  const EventBatch* batch_ = nullptr;
  std::vector<uint32_t> codes_;  // of keys_, in this batch; UINT32_MAX: not there
  std::vector<ProcessFacts> processes_;
};

}  // namespace wf::answer
