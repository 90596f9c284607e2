#include "store/clickhouse/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "net/compression.h"
#include "store/clickhouse/row_binary.h"

namespace wf::store::clickhouse {
namespace {

// Lists of ids make long queries: the limits that servers set for people do not fit us.
constexpr char kQueryLimits[] =
    "max_query_size=268435456&max_ast_elements=50000000&max_expanded_ast_elements=50000000";
constexpr size_t kIdleConnections = 16;  // of each shard
constexpr Nanos kFirstPause = 50 * kMilli, kLongestPause = 2 * kSecond;

std::string Encode(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
        c == '-' || c == '.') {
      out += c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

// "Code: 60, e.displayText() = DB::Exception: …" and, today, "Code: 60. DB::Exception: …".
int ExceptionCode(std::string_view text) {
  const size_t at = text.find("Code: ");
  int code = 0;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + 6, text.data() + text.size(), code);
  return code;
}

std::string FirstLine(std::string_view text) {
  const size_t exception = text.find("DB::Exception: ");
  if (exception != std::string_view::npos) text.remove_prefix(exception + 15);
  text = text.substr(0, text.find('\n'));
  constexpr size_t kMost = 500;
  return std::string(text.substr(0, kMost)) + (text.size() > kMost ? "…" : "");
}

// Numbers of ClickHouse's ErrorCodes.
bool IsDenied(int code) {
  return code == 192 || code == 193 || code == 194 || code == 195 || code == 497 || code == 516 ||
         code == 164 || code == 291;
}
// Too much at once: too slow, memory, too many queries, parts, or simultaneous anything.
bool IsOverload(int code) { return code == 202 || code == 241 || code == 252 || code == 319; }
// Between the shards: a Distributed query met one that is starting or gone.
bool IsNetwork(int code) {
  return code == 209 || code == 210 || code == 279 || code == 32 || code == 198 || code == 519 ||
         code == 394;
}

}  // namespace

int ServerCode(const Error& error) {
  // Explain's words: "…: code 60: …" or "… (code 164)".
  const size_t at = error.message.find("code ");
  int code = 0;
  if (error.message.rfind("ClickHouse ", 0) == 0 && at != std::string::npos)
    std::from_chars(error.message.data() + at + 5, error.message.data() + error.message.size(),
                    code);
  return code;
}

// A connection lent to one request; given back unless it failed.
class Client::Lease {
 public:
  Lease(Client& client, size_t shard, Connection connection) : client_(client), shard_(shard) {
    if (connection == Connection::kKept) {
      const std::lock_guard lock(client.mutex_);
      auto& idle = client.idle_[shard];
      if (!idle.empty()) {
        http_ = std::move(idle.back());
        idle.pop_back();
        return;
      }
    }
    net::Url server;
    server.tls = client.url_.secure;
    server.host = client.url_.shards[shard].host;
    server.port = client.url_.shards[shard].port;
    net::HttpClientOptions options;
    options.connect_timeout = client.options_.connect_timeout;
    options.timeout = client.options_.timeout;
    options.max_body_bytes = client.options_.max_answer_bytes;
    options.ca_file = client.options_.ca_file;
    options.accept_gzip = client.url_.compress;
    http_ = std::make_unique<net::HttpClient>(std::move(server), std::move(options));
  }
  ~Lease() {
    if (http_ == nullptr) return;
    const std::lock_guard lock(client_.mutex_);
    if (client_.idle_[shard_].size() < kIdleConnections)
      client_.idle_[shard_].push_back(std::move(http_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  net::HttpClient* operator->() { return http_.get(); }
  void Drop() { http_.reset(); }

 private:
  Client& client_;
  const size_t shard_;
  std::unique_ptr<net::HttpClient> http_;
};

Client::Client(StoreUrl url, ClientOptions options)
    : url_(std::move(url)),
      options_(std::move(options)),
      idle_(url_.shards.size()),
      retry_for_(options_.retry_for) {}

std::string Client::Target(const Request& request) const {
  // The whole answer is made before its first byte is sent: then an exception in the middle has a status.
  std::string target = fmt::format("/?wait_end_of_query=1&{}", kQueryLimits);
  if (!request.database.empty()) {
    target += "&database=" + Encode(request.database);
  } else if (request.inside == Inside::kDatabase) {
    target += "&database=" + url_.database;
  }
  if (url_.compress) target += "&enable_http_compression=1";
  for (const auto& [name, value] : *request.settings) target += "&" + name + "=" + Encode(value);
  if (!request.body.empty()) target += "&query=" + Encode(request.sql);
  return target;
}

Client::Failure Client::Explain(size_t shard, const Request& request, int status,
                                std::string_view text) const {
  const int code = ExceptionCode(text);
  const std::string place =
      fmt::format("ClickHouse {}: {}", url_.shards[shard].text(), request.what);
  if (status == 401 || status == 403 || IsDenied(code)) {
    return {Denied(fmt::format("{}: the server refuses user {} (code {})", place, url_.user, code),
                   "check user and password of the store's address, and the user's rights"),
            false};
  }
  Error error = EnvironmentError(
      code == 0 ? fmt::format("{}: HTTP status {}: {}", place, status, FirstLine(text))
                : fmt::format("{}: code {}: {}", place, code, FirstLine(text)),
      "see the server's log");
  if (IsOverload(code) || status == 503 || status == 429) {
    error.code = ErrorCode::kOverloaded;
    error.hint = "the server has too much to do; send again later";
    return {std::move(error), true};
  }
  return {std::move(error), IsNetwork(code) || status == 502 || status == 504};
}

std::variant<std::string, Client::Failure> Client::TryOnce(size_t shard, const Request& request) {
  net::HttpClient::Headers headers = {{"X-ClickHouse-User", url_.user}};
  if (!url_.password.empty()) headers.emplace_back("X-ClickHouse-Key", url_.password);
  std::string compressed;
  std::string_view body = request.body.empty() ? request.sql : request.body;
  if (url_.compress) {
    compressed = net::Compress(net::Compression::kGzip, body);
    body = compressed;
    headers.emplace_back("Content-Encoding", "gzip");
  }
  Lease http(*this, shard, request.connection);
  ++counts_.requests;
  counts_.bytes_sent += static_cast<int64_t>(body.size());
  auto answer = http->Send("POST", Target(request), headers, body);
  if (!answer.ok()) {
    http.Drop();
    return Failure{EnvironmentError(fmt::format("ClickHouse {}: {}: {}", url_.shards[shard].text(),
                                                request.what, answer.error().message),
                                    "is the server up? It is asked over HTTP"),
                   true};
  }
  counts_.bytes_received += static_cast<int64_t>(answer->body.size());
  if (answer->status == 200) return std::move(answer->body);
  return Explain(shard, request, answer->status, answer->body);
}

Result<std::string> Client::Send(size_t shard, const Request& request) {
  const Nanos deadline = MonotonicNow() + retry_for_;
  for (Nanos pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto tried = TryOnce(shard, request);
    if (auto* answer = std::get_if<std::string>(&tried)) return std::move(*answer);
    Failure& failure = std::get<Failure>(tried);
    if (!failure.again || hurry_ || MonotonicNow() + pause > deadline)
      return std::move(failure.error);
    ++counts_.retries;
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause));
  }
}

Result<std::string> Client::Ask(size_t shard, std::string_view what, std::string_view sql,
                                const Settings& settings) {
  return Send(shard, {what, sql, {}, &settings, Inside::kDatabase});
}

Result<std::string> Client::AskAny(std::string_view what, std::string_view sql,
                                   const Settings& settings) {
  const Request request{what, sql, {}, &settings, Inside::kDatabase};
  // One that does not answer is passed over at once; that all are down is found by the last round's patience.
  for (size_t i = 0; i + 1 < shards(); ++i) {
    const size_t shard = next_ % shards();
    auto tried = TryOnce(shard, request);
    if (auto* answer = std::get_if<std::string>(&tried)) return std::move(*answer);
    Failure& failure = std::get<Failure>(tried);
    if (!failure.again) return std::move(failure.error);
    ++counts_.retries;
    next_ = (shard + 1) % shards();
  }
  return Send(next_ % shards(), request);
}

namespace {

Result<int64_t> OneNumber(const Result<std::string>& answer) {
  if (!answer.ok()) return answer.error();
  RowReader reader(*answer);
  const auto number = reader.Number<int64_t>();
  WF_TRY(reader.status());
  return number;
}

}  // namespace

Result<int64_t> Client::AskNumber(size_t shard, std::string_view what, std::string_view sql) {
  return OneNumber(Ask(shard, what, sql));
}

Result<int64_t> Client::AskAnyNumber(std::string_view what, std::string_view sql) {
  return OneNumber(AskAny(what, sql));
}

Status Client::Run(size_t shard, std::string_view what, std::string_view sql,
                   const Settings& settings) {
  WF_TRY(Ask(shard, what, sql, settings));
  return {};
}

Status Client::RunEverywhere(std::string_view what, std::string_view sql,
                             const Settings& settings) {
  for (size_t shard = 0; shard < shards(); ++shard) WF_TRY(Run(shard, what, sql, settings));
  return {};
}

Status Client::Insert(size_t shard, std::string_view what, std::string_view statement,
                      std::string_view rows, const Settings& settings) {
  if (rows.empty()) return {};
  WF_TRY(Send(shard, {what, statement, rows, &settings, Inside::kDatabase}));
  return {};
}

Status Client::InsertOnce(size_t shard, std::string_view what, std::string_view statement,
                          std::string_view rows, const Settings& settings) {
  if (rows.empty()) return {};
  auto tried =
      TryOnce(shard, {what, statement, rows, &settings, Inside::kDatabase, {}, Connection::kFresh});
  if (auto* failure = std::get_if<Failure>(&tried)) return std::move(failure->error);
  return {};
}

Result<std::string> Client::AskIn(std::string_view database, std::string_view what,
                                  std::string_view sql, const Settings& settings) {
  auto tried = TryOnce(next_ % shards(), {what, sql, {}, &settings, Inside::kServer, database});
  if (auto* failure = std::get_if<Failure>(&tried)) return std::move(failure->error);
  return std::move(std::get<std::string>(tried));
}

Status Client::MakeDatabase(size_t shard) {
  const std::string sql = "CREATE DATABASE IF NOT EXISTS " + url_.database;
  const Settings none;
  WF_TRY(Send(shard, {"making the database", sql, {}, &none, Inside::kServer}));
  return {};
}

Status Client::DropDatabase(size_t shard) {
  const Settings none;
  for (const char* end : {"", "_sql"}) {  // the second: typed_sql.cc
    const std::string sql = "DROP DATABASE IF EXISTS " + url_.database + end;
    WF_TRY(Send(shard, {"dropping the database", sql, {}, &none, Inside::kServer}));
  }
  return {};
}

Result<ServerVersion> Client::ReadVersion(size_t shard) {
  const Settings none;
  WF_ASSIGN(std::string text,
            Send(shard, {"asking its version", "SELECT version()", {}, &none, Inside::kServer}));
  ServerVersion out;
  out.text = text.substr(0, text.find('\n'));
  const char* end = out.text.data() + out.text.size();
  auto [dot, failed] = std::from_chars(out.text.data(), end, out.major);
  if (failed == std::errc() && dot != end) failed = std::from_chars(dot + 1, end, out.minor).ec;
  if (failed != std::errc()) {
    return EnvironmentError(fmt::format("ClickHouse {}: its version \"{}\" is not a version",
                                        url_.shards[shard].text(), out.text.substr(0, 40)),
                            "is this the HTTP port of a ClickHouse server?");
  }
  return out;
}

}  // namespace wf::store::clickhouse
