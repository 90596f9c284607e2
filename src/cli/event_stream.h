// Server-sent events, read: "event:" and "data:" lines up to an empty one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace wf::cli {

class EventStreamReader {
 public:
  // False: enough.
  using TakeEvent = std::function<bool(std::string_view name, std::string_view data)>;
  explicit EventStreamReader(TakeEvent take) : take_(std::move(take)) {}

  // Bytes as they come, cut anywhere.
  bool Feed(std::string_view bytes);

 private:
  bool Line(std::string_view line);

  const TakeEvent take_;
  std::string rest_, name_, data_;
};

}  // namespace wf::cli
