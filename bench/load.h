// The seeded load of every ingest figure: traces of about 8 spans over 10 services × 3 instances, 6 process attributes,
// 8 span attributes (method, url path of 5,000, status code, user id of 200,000, peer address, thread id, body size,
// random 16-digit session id). User and session are drawn per span, the worst case for compression and for filters.
//
// Each of the 30 processes fills its own batch, as an exporter does, so the spans of one trace arrive in several
// batches. The same seed gives the same batches, whatever the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/event_batch.h"

namespace wf {

struct LoadOptions {
  uint64_t seed = 1;
  uint64_t spans = 1'000'000;
  size_t batch_rows = 512;
  Nanos first_start_ns = 1'700'000'000 * kSecond;
  uint64_t spans_per_second = 200'000;  // how fast the senders' clocks move on
};

class Load {
 public:
  explicit Load(const LoadOptions& options);
  // The next batch; false when all spans were made. The last round gives what the processes still hold.
  bool Next(EventBatch& batch);

  // For look-ups afterwards: the n-th trace's id and the text of a user id.
  static TraceId TraceIdAt(uint64_t seed, uint64_t n);
  static std::string UserId(uint64_t n);
  uint64_t traces() const { return trace_; }

  static constexpr int kServices = 10;
  static constexpr int kInstances = 3;
  static constexpr uint64_t kUsers = 200'000;
  static constexpr uint64_t kPaths = 5'000;

 private:
  struct Sender {
    EventBatch batch;
    uint32_t name_codes[4];
    uint32_t key_codes[8];
  };
  void Reset(size_t sender);
  void MakeTrace();
  void AddSpan(TraceId trace, uint64_t id, uint64_t parent, int depth, int service, Nanos start,
               Nanos duration);
  uint64_t Random();

  LoadOptions options_;
  uint64_t state_;
  uint64_t made_ = 0;
  uint64_t trace_ = 0;
  std::vector<Sender> senders_;
  std::vector<size_t> full_;  // senders whose batch is ready
  size_t draining_ = 0;
  std::vector<std::string> paths_;
};

}  // namespace wf
