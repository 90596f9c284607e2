// The processes that keep a control connection to this server, the generation that each has applied, and the
// tracepoints that are compiled into them.
//
// The names of compiled-in tracepoints are kept in the store, because a query may start right after a
// restart, before every process has reported them again.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "store/document_store.h"

namespace wf::live {

struct CompiledTracepoint {
  std::string name;
  std::vector<std::string> exports;
  int64_t processes = 0;  // that run now and contain it
};

class ProcessRegistry {
 public:
  // Longer than a client may wait for an answer on the control connection.
  static constexpr Nanos kForgetAfter = 60 * kSecond;

  explicit ProcessRegistry(store::DocumentStore& store) : store_(store) {}

  struct Process {
    std::string instance, service, host;
    int64_t pid = 0;
  };
  // Whether a process has reported the results of the queries that were removed by the generation it applied.
  enum class Rest : uint8_t { kReported, kMayCome };
  // The process sent a request on the control connection, after applying `generation` (0: none of ours yet).
  // It is answered within `wait` and then sends the next request. A process that does not do so for three
  // times as long was killed and is not awaited.
  void Asked(const std::string& tenant, const Process& process, uint64_t generation, Rest rest,
             Nanos wait = kForgetAfter);
  // The process has ended or disconnected, so nothing is awaited from it.
  void Left(const std::string& tenant, const std::string& instance);
  // The process reported its compiled-in tracepoints, which replace those it reported before.
  Status Told(const std::string& tenant, const Process& process,
              std::vector<CompiledTracepoint> tracepoints);

  Result<std::vector<CompiledTracepoint>> Tracepoints(const std::string& tenant);  // sorted by name
  // How many connected processes have applied at least `generation`, and how many are connected.
  struct Reach {
    int64_t reached = 0, known = 0;
    int64_t reported = 0;  // of `reached`: have also reported their last results
  };
  Reach Reached(const std::string& tenant, uint64_t generation);

 private:
  struct Known {
    Process process;
    Nanos seen = 0;
    Nanos asks_by = 0;  // when the next request is due, if it is alive
    uint64_t generation = 0;
    Rest rest = Rest::kMayCome;
    bool asks = false;  // uses the control connection, not only reports
    std::set<std::string> tracepoints;
  };
  struct Tenant {
    std::map<std::string, Known> processes;                    // by instance
    std::map<std::string, std::vector<std::string>> compiled;  // name → exports
    bool loaded = false;
  };
  // With mutex_ held.
  Status Load(const std::string& name, Tenant& tenant);
  void Forget(Tenant& tenant);

  store::DocumentStore& store_;
  std::mutex mutex_;
  std::map<std::string, Tenant> tenants_;
};

}  // namespace wf::live
