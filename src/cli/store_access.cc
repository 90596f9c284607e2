#include "cli/store_access.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "answer/frame/text_style.h"
#include "answer/policy_answer.h"
#include "answer/questions/questions.h"
#include "cli/client_settings.h"
#include "cli/input_file.h"
#include "import/events/events_binary_decoder.h"
#include "json/json_reader.h"
#include "net/address.h"
#include "server/server_file.h"
#include "store/open/open_store.h"

namespace wf::cli {
Error ServerError(int status, const std::string& body) {
  JsonParser parser;
  if (auto json = parser.Parse(body); json.ok() && json->Get("error").IsObject()) {
    const JsonValue error = json->Get("error");
    ErrorCode code = answer::ErrorCodeFromName(error.Get("code").String());
    // The transport has finer names of its own (too_large, malformed_body, …) for what is bad input.
    const bool refused =
        status >= 400 && status < 500 && status != 403 && status != 404 && status != 429;
    if (code == ErrorCode::kEnvironment && refused) code = ErrorCode::kBadInput;
    return {code, std::string(error.Get("message").String()),
            std::string(error.Get("hint").String())};
  }
  return EnvironmentError("the server answered HTTP " + std::to_string(status),
                          "is it wherefore that listens there?");
}

Result<std::string> ReadTokenFile(const std::string& path) {
  WF_ASSIGN(std::string text,
            ReadInputFile(path, "give a file that holds the token", InputCoding::kPlain));
  JsonParser parser;
  if (const auto json = parser.Parse(text); json.ok() && json->Get("token").IsString())
    text = json->Get("token").String();
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.pop_back();
  if (text.empty() || text.find_first_of(" \t\r") != std::string::npos)
    return BadInput(path + ": contains no token",
                    "the administrator's is in the store's server.json");
  return text;
}

std::string DefaultStore() {
  if (const char* store = std::getenv("WHEREFORE_STORE"); store != nullptr && *store != '\0')
    return store;
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.local/share/wherefore";
}

std::string DefaultState(const std::string& role) {
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.local/state/wherefore/" + role;
}

std::string PercentEncode(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (unsigned char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out.push_back(static_cast<char>(c));
    } else {
      out.push_back('%');
      out.push_back(kDigits[c >> 4]);
      out.push_back(kDigits[c & 15]);
    }
  }
  return out;
}

Result<std::unique_ptr<StoreAccess>> StoreAccess::Open(const std::string& store,
                                                       const std::string& token) {
  std::unique_ptr<StoreAccess> access(new StoreAccess);
  WF_TRY(store::CheckStorePlace(store));
  access->path_ = store::WithoutSecrets(store);
  const store::StorePlace place = store::PlaceOf(store);
  access->files_ = place == store::StorePlace::kDatabase ? DefaultState("cli") : store;
  std::string url;
  if (place == store::StorePlace::kServer) {
    url = store;
    if (const char* given = std::getenv("WHEREFORE_TOKEN")) access->token_ = given;
  } else if (place == store::StorePlace::kDatabase) {
    WF_ASSIGN(access->store_, store::OpenStore(store, store::StoreOptionsFromEnvironment()));
    return access;
  } else if (auto file = server::ReadServerFile(store); file.ok()) {
    for (const auto& [name, address] : file->listeners) {
      if (name == "http" && address != "off")
        url = (file->tls_cert.empty() ? "http://" : "https://") + address;
    }
    if (url.empty()) {
      return EnvironmentError(store + ": belongs to a running server whose --http listener is off",
                              "stop the server, or start it with --http PORT");
    }
    access->token_ = file->token;
    access->pinned_ = file->tls_cert;  // its certificate names some host, we go by address
  } else if (file.error().code != ErrorCode::kNotFound) {
    return file.error();
  }
  if (!url.empty()) {
    if (!token.empty()) access->token_ = token;
    WF_ASSIGN(const net::Url parsed, net::ParseUrl(url));
    access->url_ = parsed;
    net::HttpClientOptions options = access->ClientOptions();
    options.timeout = 10 * kMinute;  // a large import is modeled before it is answered
    options.max_body_bytes = size_t{2} << 30;
    access->client_ = std::make_unique<net::HttpClient>(parsed, options);
    return access;
  }
  WF_ASSIGN(access->store_, store::OpenStore(store));
  server::RemoveServerFile(store);  // of a server that was killed: we hold the store now
  return access;
}

Result<answer::Answer> StoreAccess::Fetch(std::string_view method, const std::string& target,
                                          std::string_view body) {
  const net::HttpClient::Headers headers = TheClientSettings().Headers(token_);
  auto response = client_->Send(method, target, headers, body);
  if (!response.ok()) {
    return EnvironmentError(path_ + ": " + response.error().message, "is the server running?");
  }
  if (response->status != 200) return ServerError(response->status, response->body);
  return answer::Answer{std::string(response->headers.Get("content-type")),
                        std::move(response->body),
                        response->headers.Get("wherefore-faults") == "true"};
}

namespace {

std::string WithParams(std::string target, const answer::Params& params) {
  char separator = '?';
  for (const auto& [name, value] : params.values()) {
    target += separator + PercentEncode(name) + "=" + PercentEncode(value);
    separator = '&';
  }
  return target;
}

}  // namespace

net::HttpClientOptions StoreAccess::ClientOptions() const {
  net::HttpClientOptions options;
  TheClientSettings().ApplyTo(options);
  if (options.ca_file.empty()) options.pinned_file = pinned_;
  return options;
}

answer::AnswerContext StoreAccess::LocalContext() {
  return {*store_, TheClientSettings().LocalTenant(), path_, Now(), {}, {}, nullptr, files_};
}

Result<answer::Answer> StoreAccess::Ask(const answer::Question& asked) {
  answer::Question question = asked;
  question.params = {};
  for (const auto& [name, value] : asked.params.values()) {
    if (name != "color") question.params.Add(name, value);  // it is for this terminal, see below
  }
  if (!served()) return wf::answer::Ask(LocalContext(), question);
  // The text is made by the server, for our terminal.
  if (question.params.Get("format") == "text") {
    const answer::TextStyle style = answer::CurrentTextStyle(), plain;
    if (style.width != plain.width && !question.params.Get("width"))
      question.params.Add("width", std::to_string(style.width));
    if (style.color == answer::TextColor::kAnsi) question.params.Add("color", "always");
  }
  std::string target = "/api/v1/" + question.verb;
  if (!question.argument.empty()) target += "/" + PercentEncode(question.argument);
  const std::string_view method = !question.method.empty() ? question.method
                                  : question.body.empty()  ? "GET"
                                                           : "POST";
  return Fetch(method, WithParams(target, question.params), question.body);
}

Result<answer::Answer> StoreAccess::Upload(const answer::Params& params, std::string_view content) {
  return Fetch("POST", WithParams("/api/v1/import", params), content);
}

Status StoreAccess::SendEvents(std::string_view body) {
  if (!served()) {
    EventBatch batch;
    decode::DecodeReport report;
    WF_TRY(events::DecodeEventsBinary(body, {}, batch, report));
    batch.received_ns = Now();
    batch.tenant = TheClientSettings().LocalTenant();
    return store_->AppendAndWait(std::move(batch));
  }
  const net::HttpClient::Headers headers = TheClientSettings().Headers(token_);
  // A store that cannot keep up says when to come again; a minute of that is an answer, too.
  for (const Nanos until = MonotonicNow() + kMinute;;) {
    auto response =
        client_->Post("/api/v1/events", "application/vnd.wherefore.events", body, headers);
    if (!response.ok()) {
      return EnvironmentError(path_ + ": " + response.error().message, "is the server running?");
    }
    if (response->status == 200) return {};
    if ((response->status != 429 && response->status != 503) || MonotonicNow() > until)
      return ServerError(response->status, response->body);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

Result<answer::Answer> StoreAccess::PutPolicy(const std::string& name, std::string_view json) {
  if (!served()) return wf::answer::PutPolicy(LocalContext(), name, json);
  return Fetch("PUT", "/api/v1/policies/" + PercentEncode(name), json);
}

Result<answer::Answer> StoreAccess::DeletePolicy(const std::string& name) {
  if (!served()) return wf::answer::DeletePolicy(LocalContext(), name);
  return Fetch("DELETE", "/api/v1/policies/" + PercentEncode(name), {});
}

}  // namespace wf::cli
