// Which processes keep a control connection to us, what of it they have taken over, and which tracepoints are compiled
// into them.
//
// The names of compiled-in tracepoints are kept in the store: a query may be asked right after a restart, before every
// process has told again.
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
  int64_t processes = 0;  // that run now and have it
};

class ProcessRegistry {
 public:
  // Longer than a client may wait for an answer of the control connection.
  static constexpr Nanos kForgetAfter = 60 * kSecond;

  explicit ProcessRegistry(store::DocumentStore& store) : store_(store) {}

  struct Process {
    std::string instance, service, host;
    int64_t pid = 0;
  };
  // Whether it has reported what it had of queries that went with the generation it took over.
  enum class Rest : uint8_t { kReported, kMayCome };
  // It asked for news of the control connection, having taken over `generation` (0: nothing of ours yet). It is answered
  // within `wait` and asks again then; one that does not, for three times as long, has been killed and is not waited for.
  void Asked(const std::string& tenant, const Process& process, uint64_t generation, Rest rest,
             Nanos wait = kForgetAfter);
  // It has ended, or has no more to do with us: nobody waits for it.
  void Left(const std::string& tenant, const std::string& instance);
  // It told its compiled-in tracepoints, which replace what it told before.
  Status Told(const std::string& tenant, const Process& process,
              std::vector<CompiledTracepoint> tracepoints);

  Result<std::vector<CompiledTracepoint>> Tracepoints(const std::string& tenant);  // by name
  // How many that still ask have taken over at least `generation`; and how many there are.
  struct Reach {
    int64_t reached = 0, known = 0;
    int64_t reported = 0;  // of `reached`: have reported the rest, too
  };
  Reach Reached(const std::string& tenant, uint64_t generation);

 private:
  struct Known {
    Process process;
    Nanos seen = 0;
    Nanos asks_by = 0;  // again, if it lives
    uint64_t generation = 0;
    Rest rest = Rest::kMayCome;
    bool asks = false;  // on the control connection, not only by reports
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
