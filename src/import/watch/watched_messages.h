// What processes send and receive → messages between them.
//
// A connection's two ends are told apart by who connected and who accepted, or by who listens there. What the client
// sends until it receives is a request, what it receives until it sends again the return: so whatever protocol is
// spoken, one exchange after the other is seen, without looking into it. Where requests overlap on one connection
// (HTTP/2, pipelining) they are taken for one; such connections are counted.
//
// Both ends of a connection that stays on this machine are seen by one clock, so which exchange of the client's a
// request at the server belongs to follows from time alone, even on connections older than the watch.
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
  std::vector<std::string> programs;  // globs of the program's file or name; none: all
  std::set<uint16_t> ports;           // of either end; none: all
  enum class Nodes : uint8_t { kByName, kByProcess } nodes = Nodes::kByName;
};

struct WatchCounts {
  uint64_t records = 0, messages = 0, connections = 0;
  uint64_t mid_stream = 0;      // bytes of a return whose request was before the watch
  uint64_t unresolved = 0;      // descriptors that were gone before they could be looked at
  uint64_t tls = 0, http2 = 0;  // connections
  std::set<std::string> uring;  // processes that also move bytes in a way system calls do not show
};

class WatchedMessages {
 public:
  // What the probe need not tell any more, or not as much of.
  struct Verdicts {
    std::function<void(uint32_t process)> ignore_process;
    std::function<void(uint32_t process, int fd)> ignore_descriptor, know_descriptor;
  };
  WatchedMessages(WatchedHost& host, WatchFilter filter, Verdicts verdicts);
  ~WatchedMessages();

  void Add(const IoRecord& record);
  // Sightings that are certain by `now` (monotonic), about in order of time; their times are Unix times, `clock` later
  // than monotonic ones. Called every now and then; kForever gives the rest.
  using Sink = std::function<void(std::string_view line)>;
  void Take(Nanos now, Nanos clock, const Sink& sink);
  static constexpr Nanos kForever = INT64_MAX;

  const WatchCounts& counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::watch
