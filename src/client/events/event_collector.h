// Between the threads' buffers and the exporter: turns ticks into times, keeps back what must wait, and cuts the rest
// into bodies. Only the drain thread uses it.
//
// What is held back (Canopy §4.1): events of opportunistic traces, until the response carries the decision
// (figure 6), and events whose block requested delivery at its end. They are kept as records, by trace,
// bounded in bytes and in time; what does not fit is dropped and counted. Threads are drained one after
// another, so events of a trace may arrive after its decision: the decision is remembered for as long as
// anything may be held.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/events/event_record.h"
#include "client/events/events_encoder.h"
#include "client/runtime/tick_clock.h"
#include "client/transport/batch_exporter.h"

namespace wherefore::client {

struct CollectorCounts {
  std::atomic<uint64_t> dropped{0};    // held_bytes was reached
  std::atomic<uint64_t> discarded{0};  // decided against, or not decided in time
};

class EventCollector {
 public:
  EventCollector(const TracerOptions& options, const ProcessLabels& process, int64_t pid,
                 std::shared_ptr<BatchExporter> exporter, CollectorCounts& counts);

  void BeginRound();                    // before the records of one round
  void Take(const RecordHead& record);  // copied where it must be kept
  // After them. kAll: also what is less than a body.
  enum class Ship { kFullBodies, kAll };
  void EndRound(Ship ship);
  // Call it at the end: events that wait for their block's end are sent, those that wait for a decision are
  // discarded.
  void Finish();

  int64_t UnixNs(int64_t ticks) const { return calibration_.UnixNs(ticks); }

 private:
  struct TraceKey {
    uint64_t hi, lo;
    bool operator==(const TraceKey& o) const { return hi == o.hi && lo == o.lo; }
  };
  struct TraceKeyHash {
    size_t operator()(const TraceKey& key) const { return key.lo ^ key.hi * 0x9E3779B97F4A7C15ull; }
  };
  struct Held {
    std::vector<uint64_t> records;  // words: records with Unix times, one after another
    uint64_t count = 0;
    int64_t since_ns = 0;
  };
  enum class Verdict : uint8_t { kKeep, kDrop };
  using HeldTraces = std::unordered_map<TraceKey, Held, TraceKeyHash>;

  void Keep(HeldTraces& traces, const RecordHead& record, int64_t time_ns);
  void Release(HeldTraces& traces, const TraceKey& key);
  void Discard(HeldTraces& traces, const TraceKey& key);
  void Decide(const TraceKey& key, Verdict verdict);
  void Expire();
  void Encode(const RecordHead& record, int64_t time_ns);
  void ShipBody();

  const TracerOptions options_;
  const std::shared_ptr<BatchExporter> exporter_;
  CollectorCounts& counts_;
  TickCalibration calibration_;
  EventsEncoder encoder_;
  int64_t now_ns_ = 0;  // steady, of this round
  int64_t body_since_ns_ = 0;
  HeldTraces undecided_, unfinished_;
  size_t held_bytes_ = 0;
  std::unordered_map<TraceKey, Verdict, TraceKeyHash> verdicts_;
  std::deque<std::pair<int64_t, TraceKey>> verdict_order_;
};

}  // namespace wherefore::client
