// MessageGenerator: the messages of a GeneratorConfig, one after another, in true time (Aguilera et al. §7.1.1, §7.5.5).
//
// Each client draws its tracelet, all its delays (Gaussian, cut at 0) and its think time from its own random
// stream, so a run is a function of config and seed, and neither skew nor loss changes what happened: traces
// that differ only in these can be compared message by message. The clients' messages are merged by time on
// demand; memory grows with the clients, not with the length of the trace.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "scenario/message_generator_config.h"

namespace wf::scenario {

// A tracelet in progress. The generator keeps it until its last message was returned. A user that needs it
// longer (the parent's line may be written after the child's) increments `holds`, and releases it with
// MessageGenerator::Release.
struct TraceletRun {
  const Tracelet* tracelet = nullptr;
  uint64_t first_path = 0;      // number of its first causal path, from 1
  std::vector<Nanos> times;     // by message, since the start of the trace
  std::vector<uint32_t> order;  // messages by time
  size_t next = 0;              // in `order`
  std::vector<uint64_t> ids;    // of requests and one-way messages that were returned
  std::vector<uint64_t> lines;  // for the writer: the line that first shows a request; 0: not yet
  std::vector<uint8_t> lost;    // by message: the sniffer did not see it
  std::vector<uint8_t> cut;     // by path: one of its messages was lost
  uint32_t holds = 0;
};

struct GeneratedMessage {
  Nanos time = 0;  // true time since the start of the trace
  TraceletRun* run = nullptr;
  uint32_t index = 0;  // in run->tracelet->messages
  // The same for a call and its return; in order of time, so that it shows nothing about causes.
  uint64_t id = 0;

  const TraceletMessage& shape() const { return run->tracelet->messages[index]; }
  bool lost() const { return run->lost[index] != 0; }
  uint64_t path() const { return run->first_path + shape().path; }
};

struct GeneratorCounts {
  uint64_t messages = 0;  // lost ones included
  uint64_t calls = 0;
  uint64_t paths = 0;      // causal paths begun
  uint64_t lost = 0;       // messages
  uint64_t paths_cut = 0;  // paths that lost a message
};

// Parameters shared by the writers of all formats.
struct GeneratorRequest {
  uint64_t seed = 1;
  Nanos start = 0;  // Unix time of the trace's beginning
};
struct GeneratedTrace {
  GeneratorCounts counts;
  uint64_t lines = 0;  // of message text; for other formats, the corresponding sightings
};
// Receives text in large pieces.
using TextSink = std::function<Status(std::string_view)>;

class MessageGenerator {
 public:
  // `config` must outlive it.
  MessageGenerator(const GeneratorConfig& config, uint64_t seed);
  ~MessageGenerator();

  // False at the end. The message's run is valid until the next call, unless held.
  bool Next(GeneratedMessage& message);
  void Hold(TraceletRun& run) { ++run.holds; }
  void Release(TraceletRun& run);
  const GeneratorCounts& counts() const { return counts_; }

 private:
  struct Client;
  struct Due {
    Nanos time;
    uint32_t client;
    bool Before(const Due& other) const {
      return time != other.time ? time < other.time : client < other.client;
    }
  };
  // Draws the client's next tracelet, to begin at `start` or later; false if that is beyond the end.
  bool Begin(Client& client, Nanos start);
  TraceletRun& NewRun();
  bool Sniffed(Nanos time);
  void SiftDown(size_t at);

  const GeneratorConfig& config_;
  std::vector<Client> clients_;
  std::vector<Due> due_;  // a heap, the earliest first
  std::vector<std::unique_ptr<TraceletRun>> runs_;
  std::vector<TraceletRun*> free_runs_;
  TraceletRun* last_ = nullptr;  // its last message was returned by the last Next
  double sniffer_free_ = 0;      // when the sniffer has written everything in its queue, in ns
  uint64_t last_id_ = 0;
  GeneratorCounts counts_;
};

}  // namespace wf::scenario
