// How a verb reaches the store it was pointed at: a directory opened here, a directory that a server holds (found
// through its server.json and asked), or a server elsewhere by URL.
#pragma once

#include <memory>
#include <string>

#include "answer/answer.h"
#include "base/result.h"
#include "net/http_client.h"
#include "store/store.h"

namespace wf {

// $WHEREFORE_STORE, else ~/.local/share/wherefore.
std::string DefaultStore();

class StoreAccess {
 public:
  static Result<std::unique_ptr<StoreAccess>> Open(const std::string& store);

  Result<Answer> Ask(const Question& question);
  // Uploads bytes to a served store: a file, or trace ids to model (answer/import_answer.h).
  Result<Answer> Upload(const Params& params, std::string_view content);
  // Events in the binary form of docs/EVENTS.md; durable when it returns.
  Status SendEvents(std::string_view body);
  // answer/policy_answer.h, here or at the server.
  Result<Answer> PutPolicy(const std::string& name, std::string_view json);
  Result<Answer> DeletePolicy(const std::string& name);
  bool served() const { return client_ != nullptr; }
  Store& local() { return *store_; }  // when not served
  const std::string& path() const { return path_; }

 private:
  Result<Answer> Fetch(std::string_view method, const std::string& target, std::string_view body);

  std::string path_;
  std::string token_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<net::HttpClient> client_;
};

std::string PercentEncode(std::string_view text);

}  // namespace wf
