#include "store/open/open_store.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "store/clickhouse/clickhouse_store.h"
#include "store/directory.h"
#include "store/duckdb/duckdb_store.h"
#include "store/duckdb/sql_sandbox.h"

namespace wf::store {
namespace {

bool Begins(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

}  // namespace

StorePlace PlaceOf(const std::string& place) {
  if (Begins(place, "http://") || Begins(place, "https://")) return StorePlace::kServer;
  return clickhouse::IsClickhouseUrl(place) ? StorePlace::kDatabase : StorePlace::kDirectory;
}

Status CheckStorePlace(const std::string& place) {
  if (place.find("://") == std::string::npos || PlaceOf(place) != StorePlace::kDirectory) return {};
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

OpenStoreOptions StoreOptionsFromEnvironment() {
  const auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  OpenStoreOptions options;
  options.password_file = text("WHEREFORE_STORE_PASSWORD_FILE");
  options.ca_file = text("WHEREFORE_STORE_CA");
  return options;
}

Result<std::unique_ptr<Store>> OpenStore(const std::string& place,
                                         const OpenStoreOptions& options) {
  WF_TRY(CheckStorePlace(place));
  if (PlaceOf(place) == StorePlace::kDatabase) {
    store::clickhouse::ClickhouseStoreOptions clickhouse;
    clickhouse.ca_file = options.ca_file;
    clickhouse.open_patience = options.open_patience;
    if (!options.password_file.empty()) {
      WF_ASSIGN(const std::string text, ReadWholeFile(options.password_file));
      clickhouse.password = text.substr(0, text.find_first_of("\r\n"));
    }
    return store::clickhouse::OpenClickhouseStore(place, clickhouse);
  }
  store::duckdb::DuckdbStoreOptions duckdb;
  duckdb.sync = options.sync;
  return store::duckdb::OpenDuckdbStore(place, duckdb);
}

std::optional<int> RunEngineProcess(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], duckdb::kSqlVerb) != 0) return std::nullopt;
  return duckdb::SqlSandboxMain(argc, argv);
}

}  // namespace wf::store
