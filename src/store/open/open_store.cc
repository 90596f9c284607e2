#include "store/open/open_store.h"

#include "store/duckdb/duckdb_store.h"

namespace wf {
namespace {

bool Begins(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

}  // namespace

bool IsStoreUrl(const std::string& place) { return Begins(place, "clickhouse://"); }

bool IsServerUrl(const std::string& place) {
  return Begins(place, "http://") || Begins(place, "https://");
}

Status CheckStorePlace(const std::string& place) {
  if (place.find("://") == std::string::npos || IsServerUrl(place) || IsStoreUrl(place)) return {};
  return BadInput("--store: \"" + WithoutSecrets(place) +
                      "\" is neither a directory nor an address that can be used",
                  "give a directory, clickhouse://HOST:PORT/DATABASE, or http://HOST:PORT of a "
                  "running server");
}

std::string WithoutSecrets(const std::string& place) {
  const size_t scheme = place.find("://");
  if (scheme == std::string::npos) return place;
  const size_t begin = scheme + 3, end = std::min(place.find('/', begin), place.size());
  const size_t at = place.rfind('@', end);
  if (at == std::string::npos || at < begin) return place;
  return place.substr(0, begin) + place.substr(at + 1);
}

Result<std::unique_ptr<Store>> OpenStore(const std::string& place,
                                         const OpenStoreOptions& options) {
  WF_TRY(CheckStorePlace(place));
  DuckdbStoreOptions duckdb;
  duckdb.sync = options.sync;
  return OpenDuckdbStore(place, duckdb);
}

}  // namespace wf
