#include "live/process_registry.h"

#include <algorithm>
#include <utility>

#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::live {
namespace {

constexpr char kProcessKind[] = "compiled_tracepoint";  // kind of document
// Names come from outside: a client that uses a new instance for every request must not fill our memory.
constexpr size_t kMostProcesses = 10'000;
constexpr size_t kMostCompiled = 10'000;
// A process on a busy machine may take this long to send its next request.
constexpr Nanos kSlowest = 2 * kSecond;

std::string ExportsJson(const std::vector<std::string>& exports) {
  JsonWriter json;
  json.BeginArray();
  for (const std::string& name : exports) json.String(name);
  json.EndArray();
  return json.Take();
}

}  // namespace

Status ProcessRegistry::Load(const std::string& name, Tenant& tenant) {
  if (tenant.loaded) return {};
  WF_ASSIGN(const auto documents, store_.ReadDocuments(name, kProcessKind));
  JsonParser parser;
  for (const store::Document& document : documents) {
    const auto exports = parser.Parse(document.text);
    std::vector<std::string>& known = tenant.compiled[document.name];
    if (!exports.ok()) continue;
    for (const JsonValue one : exports->Elements()) known.emplace_back(one.String());
  }
  tenant.loaded = true;
  return {};
}

void ProcessRegistry::Forget(Tenant& tenant) {
  const Nanos before = MonotonicNow() - kForgetAfter;
  for (auto at = tenant.processes.begin(); at != tenant.processes.end();)
    at = at->second.seen < before ? tenant.processes.erase(at) : std::next(at);
}

void ProcessRegistry::Asked(const std::string& tenant, const Process& process, uint64_t generation,
                            Rest rest, Nanos wait) {
  if (process.instance.empty()) return;
  const std::lock_guard lock(mutex_);
  Tenant& of = tenants_[tenant];
  if (of.processes.size() >= kMostProcesses) Forget(of);
  if (of.processes.size() >= kMostProcesses && of.processes.count(process.instance) == 0) return;
  Known& known = of.processes[process.instance];
  known.process.instance = process.instance;
  known.process.service = process.service;
  known.seen = MonotonicNow();
  known.asks_by = known.seen + std::min(kForgetAfter, wait + std::max(kSlowest, 3 * wait));
  known.generation = generation;
  known.rest = rest;
  known.asks = true;
}

void ProcessRegistry::Left(const std::string& tenant, const std::string& instance) {
  const std::lock_guard lock(mutex_);
  const auto of = tenants_.find(tenant);
  if (of != tenants_.end()) of->second.processes.erase(instance);
}

Status ProcessRegistry::Told(const std::string& tenant, const Process& process,
                             std::vector<CompiledTracepoint> tracepoints) {
  std::vector<std::pair<std::string, std::string>> fresh;
  {
    const std::lock_guard lock(mutex_);
    Tenant& of = tenants_[tenant];
    WF_TRY(Load(tenant, of));
    if (of.processes.size() >= kMostProcesses) Forget(of);
    if (of.processes.size() < kMostProcesses || of.processes.count(process.instance) != 0) {
      Known& known = of.processes[process.instance];
      known.process = process;
      known.seen = MonotonicNow();
      known.tracepoints.clear();
      for (const CompiledTracepoint& one : tracepoints) known.tracepoints.insert(one.name);
    }
    for (CompiledTracepoint& one : tracepoints) {
      const auto there = of.compiled.find(one.name);
      if (there == of.compiled.end() && of.compiled.size() >= kMostCompiled) continue;
      if (there != of.compiled.end() && there->second == one.exports) continue;
      fresh.emplace_back(one.name, ExportsJson(one.exports));
      of.compiled[one.name] = std::move(one.exports);
    }
  }
  for (const auto& [name, exports] : fresh)
    WF_TRY(store_.PutDocument(tenant, kProcessKind, name, exports));
  return {};
}

Result<std::vector<CompiledTracepoint>> ProcessRegistry::Tracepoints(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  Tenant& of = tenants_[tenant];
  WF_TRY(Load(tenant, of));
  Forget(of);
  std::vector<CompiledTracepoint> all;
  for (const auto& [name, exports] : of.compiled) {
    int64_t processes = 0;
    for (const auto& [instance, known] : of.processes) processes += known.tracepoints.count(name);
    all.push_back({name, exports, processes});
  }
  return all;
}

ProcessRegistry::Reach ProcessRegistry::Reached(const std::string& tenant, uint64_t generation) {
  const std::lock_guard lock(mutex_);
  Tenant& of = tenants_[tenant];
  Forget(of);
  const Nanos now = MonotonicNow();
  Reach reach;
  for (const auto& [instance, known] : of.processes) {
    if (!known.asks || known.asks_by < now) continue;
    ++reach.known;
    const bool reached = known.generation >= generation;
    reach.reached += reached;
    reach.reported += reached && known.rest == Rest::kReported;
  }
  return reach;
}

}  // namespace wf::live
