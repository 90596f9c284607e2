// The server's own work as traces in its own store (--self-trace): requests and rounds of the tailer, as spans of the service
// `wherefore`, a share of them chosen by chance.
//
// Never recursive: own spans go to the sink directly, past everything that is traced, and writing rows of own traces is not
// traced; a process knows the traces of any other by the first four bytes of their ids. Bounded: so many spans wait, so many
// traces a second begin, and more are dropped and counted. What cannot be kept is lost and counted: nobody waits for it.
//
// Thread safety: all calls, from any thread; a piece of work is one thread's at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "model/event_batch.h"
#include "pipeline/counters.h"
#include "pipeline/tailed_dataset.h"
#include "server/event_sink.h"

namespace wf::server {

class SelfTrace;

// One sampled request or round: a span, and steps one after another as its children. Ends when it is destroyed.
class OwnWork {
 public:
  ~OwnWork();
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

  void Step(std::string_view name);  // the one before has ended
  void Note(std::string_view key, std::string value);
  void Fail(std::string why);

 private:
  friend class SelfTrace;
  struct Span {
    std::string name;
    SpanKind kind = SpanKind::kInternal;
    uint64_t id = 0, parent = 0;
    Nanos start = 0, end = 0;
    bool failed = false;
    std::string why;
    std::vector<std::pair<std::string, std::string>> notes;
  };
  OwnWork(SelfTrace& owner, std::string_view name, SpanKind kind);
  void EndStep(Nanos now);

  SelfTrace& owner_;
  TraceId trace_;
  // By the wall clock at the beginning and the monotonic one from there: a clock that jumps bends nothing.
  const Nanos began_wall_, began_;
  std::vector<Span> spans_;  // the first is the work itself
};
using OwnWorkPtr = std::shared_ptr<OwnWork>;  // null: not sampled

class SelfTrace {
 public:
  struct Options {
    double probability = 0;  // 0: off
    std::string host, instance, role;
    size_t most_waiting = 2000;    // spans
    int64_t most_per_second = 50;  // traces
  };
  SelfTrace(Options options, EventSink sink, pipeline::Counters& counters);
  ~SelfTrace();  // calls Stop
  void Stop();   // hands over what waits

  OwnWorkPtr Begin(std::string_view name, SpanKind kind);

  static bool IsOwn(TraceId id);
  static bool IsOwn(std::string_view hex);

 private:
  friend class OwnWork;
  void Take(TraceId trace, std::vector<OwnWork::Span> spans);
  void Run();
  void Send(std::vector<std::pair<TraceId, OwnWork::Span>> spans);

  const Options options_;
  const EventSink sink_;
  pipeline::Counters& counters_;
  std::atomic<uint64_t> random_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::pair<TraceId, OwnWork::Span>> waiting_;
  Nanos second_ = 0;
  int64_t begun_ = 0;  // in it
  bool stopping_ = false;
  std::thread thread_;
};

// Rows of datasets on their way, each write a piece of work.
class TracedRowSink : public pipeline::RowSink {
 public:
  TracedRowSink(pipeline::RowSink& rows, SelfTrace& trace) : rows_(rows), trace_(trace) {}
  Status Write(const std::string& tenant, const std::string& dataset, const DatasetTable& rows,
               const std::vector<TraceId>& replaced, store::TimeRange time) override;

 private:
  pipeline::RowSink& rows_;
  SelfTrace& trace_;
};

}  // namespace wf::server
