#include "store/duckdb/bare_query.h"

#include "store/duckdb/connection.h"

namespace wf::store::duckdb {

struct BareQuery::Impl {
  std::unique_ptr<duck::Database> database;
  std::unique_ptr<duck::Connection> connection;
};

BareQuery::BareQuery(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BareQuery::~BareQuery() = default;

Result<std::unique_ptr<BareQuery>> BareQuery::Open() {
  duck::DatabaseOptions options;
  options.memory_limit = "4GB";
  auto impl = std::make_unique<Impl>();
  WF_ASSIGN(impl->database, duck::Database::Open(options));
  WF_ASSIGN(impl->connection, impl->database->Connect());
  return std::unique_ptr<BareQuery>(new BareQuery(std::move(impl)));
}

Status BareQuery::Run(const std::string& sql) { return impl_->connection->Run(sql); }

Result<std::vector<std::vector<int64_t>>> BareQuery::Integers(const std::string& sql) {
  WF_ASSIGN(duck::QueryResult result, impl_->connection->Query(sql));
  std::vector<std::vector<int64_t>> rows;
  const size_t columns = result.columns();
  for (;;) {
    const duck::Chunk chunk = result.Next();
    if (!chunk) return rows;
    for (size_t row = 0; row < chunk.size(); ++row) {
      rows.emplace_back();
      for (size_t c = 0; c < columns; ++c) rows.back().push_back(chunk.Column<int64_t>(c)[row]);
    }
  }
}

}  // namespace wf::store::duckdb
