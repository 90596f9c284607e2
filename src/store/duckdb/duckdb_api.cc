#include "store/duckdb/duckdb_api.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace wf::store::duckdb::duck {
namespace {

std::mutex load_mutex;
Api table;
bool loaded = false;

std::vector<std::string> Candidates() {
  std::vector<std::string> out;
  if (const char* named = std::getenv("WHEREFORE_DUCKDB")) out.emplace_back(named);
  char exe[4096];
  const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe);
  if (n > 0) {
    std::string folder(exe, static_cast<size_t>(n));
    folder.resize(folder.rfind('/'));
    out.push_back(folder + "/libduckdb.so");
    out.push_back(folder + "/../lib/wherefore/libduckdb.so");
  }
#ifdef WHEREFORE_DUCKDB_LIBRARY
  out.emplace_back(WHEREFORE_DUCKDB_LIBRARY);
#endif
  out.emplace_back("libduckdb.so");
  return out;
}

}  // namespace

Status Load() {
  std::lock_guard lock(load_mutex);
  if (loaded) return {};
  void* library = nullptr;
  for (const std::string& path : Candidates()) {
    // Deep binding is not wanted: DuckDB must share our malloc.
    library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    return EnvironmentError("libduckdb.so: not found",
                            "install it beside the program, or set WHEREFORE_DUCKDB");
  }
#define WF_DUCKDB_FIND(name)                                                              \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, "duckdb_" #name));   \
  if (table.name == nullptr) {                                                            \
    return EnvironmentError("libduckdb.so: no function duckdb_" #name, "use DuckDB 1.5"); \
  }
  WF_DUCKDB_FUNCTIONS(WF_DUCKDB_FIND)
#undef WF_DUCKDB_FIND
  loaded = true;
  return {};
}

const Api& api() { return table; }

}  // namespace wf::store::duckdb::duck
