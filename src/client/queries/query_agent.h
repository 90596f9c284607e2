// The server's queries in this process: they arrive over the control connection, their advice is woven into
// the compiled-in tracepoints, and what it emits is reported each interval.
//
//   control connection ─→ Install ─→ tracepoints' woven advice ─→ threads run it (advice_runner.h)
//   its own thread:  each interval ─→ CollectIntervals ─→ POST /api/v1/control/report
//
// A query that is no longer in the server's answer is removed at once, and all queries are removed when the
// server has not answered for three intervals. The thread of the control connection does this, because
// nothing blocks it for longer. Programs come from the server; each is decoded and checked as untrusted
// input.
//
// One per process that matters: tracepoints are the process's, so the agent made last weaves. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/queries/kernel_tuples.h"
#include "client/queries/live_query.h"
#include "client/runtime/json_text.h"
#include "client/transport/http_connection.h"

namespace wherefore::client {

struct QueryAgentOptions {
  HttpUrl endpoint;  // of the control connection; only the host matters
  std::string service, instance;
  std::string token;  // sent as a bearer token unless empty
};

class QueryAgent : public std::enable_shared_from_this<QueryAgent> {
 public:
  // Null with WHEREFORE_QUERIES=off.
  static std::shared_ptr<QueryAgent> Start(QueryAgentOptions options);
  explicit QueryAgent(QueryAgentOptions options);

  // The answer of the control connection. A program that is not sound is skipped and counted; the others run.
  void Install(const JsonNode& answer);
  // The outcome of each request on the control connection.
  enum class Answer : uint8_t { kCame, kTimedOut, kFailed };
  void Contact(Answer answer);
  // How long until all has to be taken out, if the server stays silent; INT64_MAX: it is not silent, or nothing is woven.
  int64_t UntilLostNs() const;
  void UnweaveIfLost();
  // Of queries that were taken out all has been reported, or will never be: by the deadline?
  bool AwaitDrained(std::chrono::milliseconds deadline);
  // The server has to send everything again, because what it sent was removed meanwhile.
  bool WantsAll() const { return wants_all_.load(std::memory_order_relaxed); }
  // The shortest interval of the woven queries; 0: none is woven.
  int64_t ShortestIntervalNs() const { return shortest_ns_.load(std::memory_order_relaxed); }

  // Removes all queries, reports the remaining results, and ends by the deadline.
  void Stop(std::chrono::milliseconds deadline);
  void Forget();  // in a child of fork(), where the thread does not exist

  struct Stats {
    uint64_t refused_programs = 0;
    uint64_t reports = 0;
    uint64_t failed_reports = 0;  // attempts
    uint64_t dropped_reports = 0;
    uint64_t queries = 0;
  };
  Stats stats() const;

 private:
  enum class Work : uint8_t { kTracepoints, kKernelTuples };
  void StartThreadOnce(Work work);  // with mutex_ held
  void Run();
  int64_t SilenceEndsNs() const;  // when all is to be taken out; with mutex_ held
  void Weave(std::vector<std::shared_ptr<const LiveQuery>> queries);
  void WeaveAgain();
  void WeaveAll(std::vector<std::shared_ptr<const LiveQuery>> queries);     // WeavingMutex held
  void NoteGap(const std::vector<std::shared_ptr<const LiveQuery>>& back);  // with mutex_ held
  void Collect(int64_t until_ns, const std::vector<std::shared_ptr<const LiveQuery>>& running);
  bool Post();  // what waits; false if some still does
  std::string ReportHead() const;
  std::string TakeNotes();

  const QueryAgentOptions options_;
  const std::shared_ptr<const ProcessIdentity> process_;
  const std::string run_;      // run and number identify a result, in case it arrives twice
  HttpConnection connection_;  // the agent's thread only
  std::atomic<int64_t> give_up_at_ns_;
  std::atomic<bool> wants_all_{false};
  std::atomic<int64_t> shortest_ns_{0};
  std::atomic<uint64_t> told_tracepoints_{0};  // how many places there were when we told the server
  std::atomic<uint64_t> refused_programs_{0}, reports_{0}, failed_reports_{0}, dropped_reports_{0};

  // Used by the agent's thread only.
  KernelTuples kernel_tuples_;
  std::deque<std::string> to_report_;  // results as JSON objects
  size_t to_report_bytes_ = 0;
  uint64_t results_ = 0;        // how many were made
  int64_t pause_until_ns_ = 0;  // after a report that failed
  std::string notes_;           // as JSON, until the server has taken them
  int64_t calibration_ticks_, calibration_ns_;
  std::vector<std::pair<uint64_t, uint64_t>> marks_;  // of overflow, by query, not yet reported

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<std::shared_ptr<const LiveQuery>> queries_;
  uint64_t woven_tracepoints_ = 0;  // how many places there were when we wove
  uint64_t weaves_ = 0;
  uint64_t drained_ = 0;  // of `weaves_`: all that went before has been reported
  // The queries that were removed because the server was silent, and when.
  std::vector<uint64_t> lost_queries_;
  int64_t lost_ns_ = 0;
  std::vector<std::pair<uint64_t, std::string>> gaps_;  // to be reported: query and text
  int64_t answered_ns_ = 0;                             // when the server last answered
  int64_t silent_since_ns_ = 0;                         // 0: the server answers
  bool speaks_ = false;  // the server has sent queries, so it accepts reports
  bool retell_ = false;  // the server may have forgotten our tracepoints
  bool started_ = false, stopping_ = false, stopped_ = false;
  std::thread thread_;
};

}  // namespace wherefore::client
