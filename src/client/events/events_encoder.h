// Events → the compact binary form that POST /api/v1/events takes (docs/reference/events.md). Each body stands for itself: it
// names the process, and texts and trace ids that repeat are written once.
//
// One thread at a time; a body is built by Append and taken by Take.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/events/event_record.h"

namespace wherefore::client {

constexpr char kEventsContentType[] = "application/vnd.wherefore.events";

using ProcessLabels = std::vector<std::pair<std::string, std::string>>;

class EventsEncoder {
 public:
  EventsEncoder(const ProcessLabels& process, int64_t pid);

  // `time_ns` is the record's time in Unix ns.
  void Append(const RecordHead& record, int64_t time_ns);

  uint64_t count() const { return count_; }
  size_t bytes() const { return body_.size(); }
  std::string Take();  // the body; the next one starts empty

 private:
  void PutText(std::string_view text);
  void PutTextRef(std::string_view text);
  void PutTrace(uint64_t hi, uint64_t lo);
  void PutKey(const Annotation& annotation);
  void PutValue(const LabelValue& value);

  std::string header_;  // magic, version, process
  std::string body_;
  uint64_t count_ = 0;
  int64_t last_time_ns_ = 0;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> text_refs_;  // into texts_
  std::vector<std::pair<uint64_t, uint64_t>> traces_;
  std::unordered_map<uint64_t, uint32_t> trace_refs_;  // low half → index; a clash is written again
  std::string key_;                                    // scratch
};

}  // namespace wherefore::client
