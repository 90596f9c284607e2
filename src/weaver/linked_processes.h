// The processes linked with libwherefore that receive the events which a woven query packs. A process that
// connects to the query's socket, and that the query is woven into, gets its own map with the events of its
// own threads only.
//
//   process ── connects ─→ credentials are looked at ─→ a map for it alone ─→ descriptor and description, over the socket
//   probe on a thread of it ─→ HandOverCode ─→ the map ─→ libwherefore, when it unpacks, serialises, or leaves the request
//
// Any other process gets nothing, and is counted. A process that has ended, or executed another program, has
// closed its end: its map is removed. Messages are JSON texts, one per packet: first
// {"version","query","record_bytes","records","threads"} with the descriptor, then lists of places, those
// there are and those that come later:
// [{"place","tracepoint","string_bytes","variables":[{"name","form","offset","text"?}]}].
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "advice/program.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "bpf/bpf_object.h"
#include "weaver/event_record.h"
#include "weaver/hand_over_code.h"

namespace wf::weaver {

class LinkedProcesses {
 public:
  // Whether the query is woven into this process.
  using Belongs = std::function<bool(pid_t process)>;
  static Result<std::unique_ptr<LinkedProcesses>> Open(uint64_t query, LinkedMaps maps,
                                                       Belongs belongs);

  const LinkedMaps& maps() const { return maps_; }
  // Call before the programs of a place are attached, so that readers of a record know its place. False if
  // its records are larger than the room for them.
  bool Describe(uint32_t place, std::string_view tracepoint, const RecordLayout& layout);
  // Accepts new connections and removes closed ones. Never waits.
  void Serve();

  size_t connected() const { return processes_.size(); }
  uint64_t strangers() const { return strangers_; }

 private:
  struct Process {
    FileDescriptor connection;
    bpf::BpfMap map;
  };

  LinkedProcesses(uint64_t query, LinkedMaps maps, Belongs belongs)
      : query_(query), maps_(std::move(maps)), belongs_(std::move(belongs)) {}
  Status Listen();
  void TakeIn(FileDescriptor connection);
  bool Greet(const Process& process) const;
  void LetGo(pid_t pid);

  const uint64_t query_;
  LinkedMaps maps_;
  const Belongs belongs_;
  FileDescriptor listener_;
  std::map<pid_t, Process> processes_;
  std::vector<std::string> places_;  // descriptions
  uint64_t strangers_ = 0;
};

// With room for the largest record of the program's places.
Result<LinkedMaps> MakeLinkedMaps(const advice::Program& program, uint32_t string_bytes,
                                  uint64_t pid_namespace_device, uint64_t pid_namespace_inode);

}  // namespace wf::weaver
