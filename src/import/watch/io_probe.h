// IoProbe: every message that processes of this machine send and receive by system calls, without their help. Needs
// neither the kernel's headers nor its type information.
//
// Destroying the probe, or dying, detaches it. One thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "import/watch/io_programs.h"

namespace wf::watch {

class IoProbe {
 public:
  using Take = std::function<void(const IoRecord&)>;
  // `only`: these processes; empty: all but our own.
  static Result<std::unique_ptr<IoProbe>> Attach(const std::vector<uint32_t>& only, Take take);
  virtual ~IoProbe() = default;

  // Passes on what there is, in about the order in which it happened; first waits up to `milliseconds`, or
  // until a connection is made.
  virtual Status Poll(int milliseconds) = 0;
  virtual void IgnoreProcess(uint32_t process) = 0;
  virtual void IgnoreDescriptor(uint32_t process, int fd) = 0;
  // From now on its records come without `name` and `prefix`.
  virtual void KnowDescriptor(uint32_t process, int fd) = 0;
  virtual IoCounters Counters() const = 0;
  virtual void Detach() = 0;  // nothing more is seen
};

}  // namespace wf::watch
