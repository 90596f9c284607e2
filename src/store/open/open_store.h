// The one place that knows which engines there are: a store by what names it. A directory is the embedded store; a URL is
// a database that many processes share.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/log_writer.h"
#include "store/store.h"

namespace wf::store {

// What a place is, before anything is opened; an open store says what it can do (StoreTraits).
enum class StorePlace {
  kDirectory,  // one process opens it
  kDatabase,   // clickhouse://…: several processes may have it open
  kServer,     // http://… or https://…: a running server, which is asked instead
};
StorePlace PlaceOf(const std::string& place);
// Whether it can be a store at all: a path, or a URL of an engine there is.
Status CheckStorePlace(const std::string& place);
// As it may be shown and logged: without user and password.
std::string WithoutSecrets(const std::string& place);

struct OpenStoreOptions {
  SyncMode sync = SyncMode::kSync;  // of a directory
  std::string password_file;        // instead of a password in the URL; its first line. Empty: none
  std::string ca_file;  // PEM of who signed the database's certificate; empty: the system's
  // How long a database that is away is waited for.
  Nanos open_patience = 20 * kSecond;
};

// What the environment says of it: WHEREFORE_STORE_PASSWORD_FILE, WHEREFORE_STORE_CA.
OpenStoreOptions StoreOptionsFromEnvironment();

Result<std::unique_ptr<Store>> OpenStore(const std::string& place,
                                         const OpenStoreOptions& options = {});

// An engine may start this program again to do a piece of its work in a process of its own. When the arguments say so,
// does that piece and returns the exit code; main asks this first.
std::optional<int> RunEngineProcess(int argc, char** argv);

}  // namespace wf::store
