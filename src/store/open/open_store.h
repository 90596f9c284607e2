// The one place that knows which engines there are: a store by what names it. A directory is the embedded store; a URL is
// a database that many processes share.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/log_writer.h"
#include "store/store.h"

namespace wf::store {

// clickhouse://…: a store that other processes may have open, too.
bool IsStoreUrl(const std::string& place);
// http://… or https://…: a running server, which is asked instead.
bool IsServerUrl(const std::string& place);
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

}  // namespace wf::store
