// The live queries of a server: which ones run, their results, and their listeners.
//
//   Start → compiled, checked against the known tracepoints, sent to every process over the control connection
//   Report ← each process, each interval: merged per interval (query_intervals.h)
//            if requests carry too much, the query switches to the emit plan: events are joined here
//   evaluator → joins them, with nothing locked, into parts of intervals (emitted_events.h, live_queries_emit.cc)
//   ticker → closed intervals become events on every stream of the query (server-sent events), and rows of a dataset
//   Remove, or a client lost → processes remove the query; their last results are awaited; streams end
//
// A standing query is kept in the store and runs until it is removed. Any other query is removed one and a
// half intervals after its last listener left.
//
// Thread safety: all calls, from any thread. `changed` is called with nothing locked.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "advice/results.h"
#include "live/emitted_events.h"
#include "live/live_query.h"
#include "live/process_registry.h"
#include "live/query_intervals.h"
#include "live/report_numbers.h"
#include "net/http_body_stream.h"
#include "pipeline/counters.h"
#include "store/store.h"

namespace wf::live {

struct LiveQueriesContext {
  store::Store& store;
  ProcessRegistry& processes;
  pipeline::Counters& counters;
  CompileLiveQuery compile;
  // Called when the content of the control connection changed; returns the generation with the change
  // (live/control_hub.h).
  std::function<uint64_t(const std::string& tenant)> changed;
};

class LiveQueries {
 public:
  explicit LiveQueries(LiveQueriesContext context);
  ~LiveQueries();
  // Starts the standing queries. A query that no longer compiles is logged and stays in the store.
  Status Load(const std::string& tenant);

  // Returns the new query as List shows it; `json` as ReadLiveQuerySpec reads it.
  Result<std::string> Start(const std::string& tenant, std::string_view json);
  // Whether Start would accept it:
  // {"columns","tracepoints","diagnostics":[{"line","column","length","message","hint"}]}.
  Result<std::string> Check(const std::string& tenant, std::string_view json);
  std::string List(const std::string& tenant);  // {"queries":[…]}
  Result<std::string> Show(const std::string& tenant, const std::string& id);
  // Returns {"removed":ID} at once; the query's streams still show what is reported, then end.
  Result<std::string> Remove(const std::string& tenant, const std::string& id);
  // The ids of the queries that use a tracepoint.
  std::vector<std::string> Users(const std::string& tenant, const std::string& tracepoint);

  // Server-sent events: "interval" with IntervalJson, "note", "total", "end". Remembered intervals after
  // `after_ns` come first.
  Result<std::shared_ptr<net::HttpBodyStream>> Listen(const std::string& tenant,
                                                      const std::string& id,
                                                      std::optional<Nanos> after_ns);

  // POST /api/v1/control/report; returns the body of the answer.
  Result<std::string> Report(const std::string& tenant, std::string_view json);

  // The member "queries" of the control connection: a JSON array.
  std::string ControlJson(const std::string& tenant);

  std::map<std::string, int64_t> Gauges();  // for metrics: live_queries, live_query_streams
  void Stop();                              // ends every stream; standing queries stay in the store

 private:
  struct Running;
  using Shared = std::shared_ptr<Running>;
  struct Part;

  void Tick();
  // With mutex_ held.
  Nanos NextWork() const;
  void Advance(Running& query, Nanos now);
  void Tell(Running& query, const ClosedInterval& interval);
  bool AllReported(Running& query, Nanos now);
  void Finish(Running& query, Nanos now);
  Shared Find(const std::string& tenant, const std::string& id) const;
  void Write(const Running& query, JsonWriter& json);
  void TakeNote(const std::string& tenant, uint64_t id, const std::string& text);
  void TakePart(const std::string& tenant, Part& part, int64_t& accepted, int64_t& refused);
  Nanos NextEvaluation() const;
  void TakeEvaluated(Running& query, const EmittedEvents::Evaluation& evaluated);
  bool LastEvaluated(Running& query);
  // With mutex_ not held.
  void EndSoon(const Shared& query, const std::string& reason);
  Status Keep(const Running& query);
  void StoreRows();
  void LeaveBaggage(const Shared& query);
  void EvaluateLoop();
  void EvaluateSoon(uint64_t query);
  void EvaluateAtStop();
  void LoseListener(const std::weak_ptr<Running>& query);

  Result<std::shared_ptr<const advice::Program>> Compile(const std::string& tenant,
                                                         const LiveQuerySpec& spec, uint64_t id);
  Result<std::vector<std::string>> KnownTracepoints(const std::string& tenant);
  std::vector<std::string> TellBlindJoins(const std::string& tenant,
                                          const advice::Program& program);

  const LiveQueriesContext context_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, evaluate_;
  std::map<uint64_t, Shared> running_;  // by the id in its program
  // Ended recently: late reports for them are counted under a name of their own.
  std::map<uint64_t, Nanos> ended_;
  ReportNumbers taken_;
  struct RowsToStore {
    std::string tenant, dataset;
    std::vector<std::string> columns;
    ClosedInterval interval;
  };
  std::deque<RowsToStore> to_store_;
  bool stopping_ = false;
  const std::shared_ptr<EmittedMemory> emitted_memory_ = std::make_shared<EmittedMemory>();
  std::thread ticker_, evaluator_;
};

}  // namespace wf::live
