// Client: speaks to the shards over ClickHouse's HTTP interface. Connections are kept and lent to one request each, so
// any thread may ask. Requests that meet a dead connection or an overloaded server are tried again for a while: reads
// and definitions always may be, inserts because reads remove doubles.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "net/http_client.h"
#include "store/clickhouse/store_url.h"

namespace wf::store::clickhouse {

struct ServerVersion {
  int major = 0, minor = 0;
  std::string text;  // "18.16.1"
  bool AtLeast(int a, int b) const { return major != a ? major > a : minor >= b; }
};

// The number that ClickHouse gave to an error of this folder's client; 0: it was none of its own.
int ServerCode(const Error& error);
namespace server_code {  // of ClickHouse's ErrorCodes, those that somebody asks for
constexpr int kUnknownColumn = 47, kUnknownTable = 60, kTableExists = 57, kDuplicateColumn = 15,
              kIllegalColumn = 44, kBadRegex = 427, kTooSlow = 159, kOutOfMemory = 241,
              kReadOnly = 164, kUnknownDatabase = 81;
}

// The shard of what must lie in one place: saved texts, clocks, what tells which rows count. The first of the address,
// however many there are, so that it is found again when others come.
constexpr size_t kHomeShard = 0;

// Further settings of one request, by ClickHouse's names.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct ClientOptions {
  Nanos connect_timeout = 5 * kSecond;
  Nanos timeout = 60 * kSecond;
  Nanos retry_for = 20 * kSecond;
  std::string ca_file;
  size_t max_answer_bytes = size_t{1} << 30;
};

struct ClientCounts {
  std::atomic<int64_t> requests{0}, retries{0}, bytes_sent{0}, bytes_received{0};
};

class Client {
 public:
  Client(StoreUrl url, ClientOptions options);

  size_t shards() const { return url_.shards.size(); }
  const StoreUrl& url() const { return url_; }
  const ClientCounts& counts() const { return counts_; }

  // `what` says in errors what was asked: "reading a trace". The answer's bytes, in the format the SQL names.
  Result<std::string> Ask(size_t shard, std::string_view what, std::string_view sql,
                          const Settings& settings = {});
  // Of whichever shard answers: for queries of Distributed tables.
  Result<std::string> AskAny(std::string_view what, std::string_view sql,
                             const Settings& settings = {});
  // One Int64 in RowBinary, which the SQL says itself.
  Result<int64_t> AskNumber(size_t shard, std::string_view what, std::string_view sql);
  Result<int64_t> AskAnyNumber(std::string_view what, std::string_view sql);
  Status Run(size_t shard, std::string_view what, std::string_view sql,
             const Settings& settings = {});
  Status RunEverywhere(std::string_view what, std::string_view sql, const Settings& settings = {});
  // `statement` is INSERT INTO … FORMAT RowBinary; `rows` its data.
  Status Insert(size_t shard, std::string_view what, std::string_view statement,
                std::string_view rows, const Settings& settings = {});
  // Sent at most once, on a connection that nothing was sent on before: for rows whose doubles nobody would remove.
  // After an error nobody knows what arrived.
  Status InsertOnce(size_t shard, std::string_view what, std::string_view statement,
                    std::string_view rows, const Settings& settings = {});
  // In another database, sent once: for SQL that people typed.
  Result<std::string> AskIn(std::string_view database, std::string_view what, std::string_view sql,
                            const Settings& settings);
  // Before the database is there: runs outside of it.
  Status MakeDatabase(size_t shard);
  Status DropDatabase(size_t shard);  // for tests
  Result<ServerVersion> ReadVersion(size_t shard);

  // From now on requests are tried again for so long.
  void SetPatience(Nanos retry_for) { retry_for_ = retry_for; }
  // From now on nothing is tried again: the store is closing.
  void Hurry() { hurry_ = true; }

 private:
  enum class Inside { kDatabase, kServer };
  enum class Connection { kKept, kFresh };
  struct Request {
    std::string_view what, sql, body;  // without a body the SQL is the body
    const Settings* settings;
    Inside inside;
    std::string_view database = {};  // another than the store's
    Connection connection = Connection::kKept;
  };
  struct Failure {
    Error error;
    bool again;  // may be tried again
  };
  class Lease;

  std::string Target(const Request& request) const;
  Result<std::string> Send(size_t shard, const Request& request);
  std::variant<std::string, Failure> TryOnce(size_t shard, const Request& request);
  Failure Explain(size_t shard, const Request& request, int status, std::string_view text) const;

  const StoreUrl url_;
  const ClientOptions options_;
  std::mutex mutex_;
  std::vector<std::vector<std::unique_ptr<net::HttpClient>>> idle_;  // by shard
  std::atomic<size_t> next_{0};  // the shard that AskAny asks first
  std::atomic<Nanos> retry_for_;
  std::atomic<bool> hurry_{false};
  mutable ClientCounts counts_;
};

}  // namespace wf::store::clickhouse
