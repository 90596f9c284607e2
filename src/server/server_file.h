// server.json: how other processes find the server that holds a store. Mode 0600: it carries the administrator's
// token. Written when the listeners are up, removed on a clean stop; a file left by a killed server is recognised by
// the store's lock being free.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wf::server {

struct ServerFile {
  int64_t pid = 0;
  std::string token;
  // "http" → "127.0.0.1:8642"; "off" when it is.
  std::vector<std::pair<std::string, std::string>> listeners;
  std::string tls_cert = {};  // file of the certificate that they show; empty: they are plain
};

Status WriteServerFile(const std::string& store, const ServerFile& file);
void RemoveServerFile(const std::string& store);
// NotFound when there is none or nobody holds the store any more.
Result<ServerFile> ReadServerFile(const std::string& store);

}  // namespace wf::server
