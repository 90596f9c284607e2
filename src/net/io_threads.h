// The threads that move bytes for every listener of the process. Handlers run on them, so a slow handler
// passes its request to another thread and answers from there.
#pragma once

#include <memory>

#include "base/nanos.h"

namespace wf::net {

class IoThreads {
 public:
  explicit IoThreads(int threads);
  ~IoThreads();  // calls Stop
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  // Ends the threads. Stop the servers first; requests still in progress are dropped. Answers that other
  // threads give later are dropped too, without harm.
  void Stop();

  // CPU time these threads have used; for benchmarks and metrics.
  Nanos CpuTime() const;

  struct Impl;  // io_context.h
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;  // shared with answers that are still pending
};

}  // namespace wf::net
