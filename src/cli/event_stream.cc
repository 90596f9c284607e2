#include "cli/event_stream.h"

namespace wf::cli {

bool EventStreamReader::Feed(std::string_view bytes) {
  rest_ += bytes;
  size_t from = 0;
  for (size_t end; (end = rest_.find('\n', from)) != std::string::npos; from = end + 1) {
    if (!Line(std::string_view(rest_).substr(from, end - from))) return false;
  }
  rest_.erase(0, from);
  return true;
}

bool EventStreamReader::Line(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty()) {
    const bool more = data_.empty() || take_(name_, data_);
    name_.clear();
    data_.clear();
    return more;
  }
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (field == "event") name_ = value;
  if (field == "data") data_ += (data_.empty() ? "" : "\n") + std::string(value);
  return true;  // a line that begins with its colon is a comment
}

}  // namespace wf::cli
