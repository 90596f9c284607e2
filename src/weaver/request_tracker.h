// Follows requests through processes that do not know about them: which thread carries which tuples, computed
// from what the kernel's programs report, in order. docs/use/weaving.md has the rules.
//
//   A thread is in one request at a time, or in none. An event that packs starts one.
//   A send is a split: its bytes carry what the thread has at that moment, and what the thread packs later they do not.
//   A receive is a join: of bytes of the thread's own request, it has theirs and its own after it; of another request's,
//   it goes over to that one. Bytes of several requests in one receive are ambiguous: the thread is in none then.
//   Bytes of nobody's end a request that came by the same way (the connection it was asked on has answered, or another
//   one of the same port).
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "advice/interpreter.h"
#include "advice/program.h"
#include "weaver/event_record.h"
#include "weaver/weaver.h"

namespace wf::weaver {

class RequestTracker {
 public:
  // `program` must outlive it. A request that packs more than `limits` is marked and counted; since its
  // tuples do not travel in messages of the program, it continues, and the answer stays the same.
  explicit RequestTracker(const advice::Program& program, const PackLimits& limits = {})
      : program_(program), limits_(limits) {}

  // The baggage of a thread's request, for one event.
  class ThreadBaggage : public advice::Baggage {
   public:
    ThreadBaggage(RequestTracker& tracker, uint64_t thread) : tracker_(tracker), thread_(thread) {}
    advice::PackedTuples Unpack(const advice::Program& program, uint32_t slot) override;
    void Pack(const advice::Program& program, uint32_t slot, int64_t time, std::string_view id,
              advice::Rows rows) override;

   private:
    RequestTracker& tracker_;
    const uint64_t thread_;
  };

  uint64_t RequestOf(uint64_t thread) const;  // 0: none
  // The same; starts one if there is none.
  uint64_t StartRequest(uint64_t thread);

  void Take(const MessageRecord& record);
  // Hand-off points: the thread that takes `key` continues with what the giving thread had.
  void Give(uint64_t thread, const std::string& key);
  void TakeOver(uint64_t thread, const std::string& key);

  // Since the last call.
  struct Counters {
    uint64_t ambiguous = 0;
    uint64_t packed_tuples_max = 0, baggage_bytes_max = 0;  // max of one request
    uint64_t marked = 0;                                    // requests beyond their limits
    uint64_t refused = 0;  // events whose tuples were dropped: see kMostTuples
  };
  Counters TakeCounters();

 private:
  // Tuples packed between two splits; never changed once another branch may have them.
  struct Instance {
    std::map<uint32_t, advice::PackedTuples> slots;
    size_t tuples = 0;
    size_t bytes = 0;    // as baggage has them, ...
    size_t counted = 0;  // ... when it had this many tuples
  };
  // What has happened before, as far as it packed something; no duplicates.
  using Past = std::vector<std::shared_ptr<const Instance>>;
  struct Branch {
    uint64_t request = 0;
    Past past;
    bool marked = false;  // the request has packed more than the limits
  };
  struct Thread {
    uint64_t request = 0;
    Past past;
    std::shared_ptr<Instance> active;  // not yet visible to another branch
    // The socket that the request came from, or, without a request, the socket of the last receive.
    uint64_t origin = 0;
    uint16_t origin_port = 0;
    bool answered = false;  // something was sent there since
    bool marked = false;    // the request has packed more than the limits
  };
  struct Mark {
    uint64_t begin = 0;
    std::optional<uint64_t> end;  // empty: still being sent
    uint64_t sender = 0;          // thread
    Branch branch;
  };
  struct Stream {
    std::deque<Mark> marks;  // in order of position
    uint64_t latest = 0;     // position; extends TCP's 32 bits
  };

  void CountPacked(Thread& thread);
  static Branch Split(Thread& thread);
  static void Join(Past& past, const Past& other);
  void Leave(Thread& thread);
  void GoOnWith(Thread& thread, const Branch& branch, uint64_t origin, uint16_t port);
  uint64_t Position(const MessageRecord& record, Stream& stream) const;
  void SendBegins(const MessageRecord& record);
  void SendEnds(const MessageRecord& record);
  void Receives(const MessageRecord& record);
  void ReceivesUnmarked(const MessageRecord& record);
  void Unmarked(Thread& thread, const MessageRecord& record);

  const advice::Program& program_;
  const PackLimits limits_;
  uint64_t requests_ = 0;
  std::unordered_map<uint64_t, Thread> threads_;
  std::map<StreamKey, Stream> streams_;
  std::unordered_map<std::string, Branch> given_;
  Counters counters_;
};

}  // namespace wf::weaver
