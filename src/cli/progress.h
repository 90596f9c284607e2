// ProgressBar: a bar on a terminal, a line now and then otherwise, nothing when the output is JSON. On stderr.
#pragma once

#include <cstdint>
#include <string>

#include "base/nanos.h"

namespace wf::cli {

class ProgressBar {
 public:
  ProgressBar(std::string what, int64_t total_bytes, const std::string& format);
  void Show(size_t bytes);
  void Finish();

 private:
  std::string what_;
  int64_t total_;
  bool silent_;
  bool terminal_;
  bool shown_ = false;
  Nanos last_ns_ = 0;
};

// The same for work whose size is not known: a running count.
class ProgressCount {
 public:
  ProgressCount(std::string what, const std::string& format, std::string unit = "events");
  void Show(int64_t count);
  void Finish();

 private:
  std::string what_, unit_;
  bool silent_;
  bool terminal_;
  bool shown_ = false;
  Nanos last_ns_ = 0;
};

}  // namespace wf::cli
