// How a verb reaches the store it was pointed at: a directory opened here, a directory that a server holds (found
// through its server.json and asked), a database that many share, or a server elsewhere by URL.
#pragma once

#include <memory>
#include <string>

#include "answer/frame/answer.h"
#include "base/result.h"
#include "net/http_client.h"
#include "store/store.h"

namespace wf::cli {

// $WHEREFORE_STORE, else ~/.local/share/wherefore.
std::string DefaultStore();
// ~/.local/state/wherefore/ROLE: what a process keeps on disk when its store is no directory.
std::string DefaultState(const std::string& role);

class StoreAccess {
 public:
  // `token` instead of the one in server.json or $WHEREFORE_TOKEN, unless empty.
  static Result<std::unique_ptr<StoreAccess>> Open(const std::string& store,
                                                   const std::string& token = {});

  Result<answer::Answer> Ask(const answer::Question& question);
  // Uploads bytes to a served store: a file, or trace ids to model (answer/import_answer.h).
  Result<answer::Answer> Upload(const answer::Params& params, std::string_view content);
  // Events in the binary form of docs/reference/events.md; durable when it returns.
  Status SendEvents(std::string_view body);
  // answer/policy_answer.h, here or at the server.
  Result<answer::Answer> PutPolicy(const std::string& name, std::string_view json);
  Result<answer::Answer> DeletePolicy(const std::string& name);
  // Any request to a served store; an answer other than 200 is an error.
  Result<answer::Answer> Fetch(std::string_view method, const std::string& target,
                               std::string_view body);
  bool served() const { return client_ != nullptr; }
  const net::Url& url() const { return url_; }         // when served
  net::HttpClientOptions ClientOptions() const;        // of further clients of that server
  const std::string& token() const { return token_; }  // ""
  store::Store& local() { return *store_; }            // when not served
  const std::string& path() const { return path_; }    // as it may be shown
  const std::string& files() const {
    return files_;
  }  // the directory for files of datasets, keys, …

 private:
  answer::AnswerContext LocalContext();

  std::string path_, files_;
  std::string token_;
  std::string pinned_;  // file of the certificate that the server must show
  net::Url url_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<net::HttpClient> client_;
};

// The first line of a file; of a server.json, its token.
Result<std::string> ReadTokenFile(const std::string& path);

// What a server says when it refuses: {"error":{code,message,hint}}.
Error ServerError(int status, const std::string& body);

std::string PercentEncode(std::string_view text);

}  // namespace wf::cli
