// What processes send and receive → messages between them.
//
// The client end of a connection connected, the server end accepted or has a listener. What the client sends
// until it receives is a request; what it receives until it sends again is the return. So for any protocol,
// one exchange after the other is found without reading the content. Requests that overlap on one connection
// (HTTP/2, pipelining) become one; such connections are counted.
//
// Both ends of a local connection are seen by one clock, so time alone shows which exchange of the client a
// request at the server belongs to, even on connections older than the watch.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "import/watch/io_programs.h"
#include "import/watch/watched_host.h"
#include "model/sighting.h"

namespace wf::watch {

struct WatchFilter {
  std::vector<std::string> programs;  // globs of the program's file or name; empty: all
  std::set<uint16_t> ports;           // of either end; empty: all
  enum class Nodes : uint8_t { kByName, kByProcess } nodes = Nodes::kByName;
};

struct WatchCounts {
  uint64_t records = 0, messages = 0, connections = 0;
  uint64_t mid_stream = 0;      // bytes of a return whose request came before the watch
  uint64_t unresolved = 0;      // descriptors that were closed before they could be looked up
  uint64_t tls = 0, http2 = 0;  // connections
  std::set<std::string> uring;  // processes that also move bytes by other means than system calls
};

class WatchedMessages {
 public:
  // What the probe need not report any more, or in less detail.
  struct Verdicts {
    std::function<void(uint32_t process)> ignore_process;
    std::function<void(uint32_t process, int fd)> ignore_descriptor, know_descriptor;
  };
  WatchedMessages(WatchedHost& host, WatchFilter filter, Verdicts verdicts);
  ~WatchedMessages();

  void Add(const IoRecord& record);
  // Sightings that are certain by `now` (monotonic), roughly in order of time. Their times are Unix times:
  // monotonic ones plus `clock`. Called from time to time; kForever returns the rest.
  using Sink = std::function<void(std::string_view line)>;
  void Take(Nanos now, Nanos clock, const Sink& sink);
  static constexpr Nanos kForever = INT64_MAX;

  const WatchCounts& counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::watch
