#include "store/duckdb/connection.h"

#include <fmt/format.h>

#include <atomic>

namespace wf::store::duckdb::duck {
namespace {

std::atomic<int> next_function{0};

Error Failed(std::string_view what, const char* why) {
  return EnvironmentError(
      fmt::format("store: {}: {}", what, why != nullptr ? why : "unknown reason"),
      "check free space and permissions of the store's directory");
}

duckdb_type TypeOf(EngineType type) {
  switch (type) {
    case EngineType::kInt64:
      return DUCKDB_TYPE_BIGINT;
    case EngineType::kUInt64:
      return DUCKDB_TYPE_UBIGINT;
    case EngineType::kUInt32:
      return DUCKDB_TYPE_UINTEGER;
    case EngineType::kUInt8:
      return DUCKDB_TYPE_UTINYINT;
    case EngineType::kFloat32:
      return DUCKDB_TYPE_FLOAT;
    case EngineType::kString:
      return DUCKDB_TYPE_BLOB;
    case EngineType::kFloat64:
      return DUCKDB_TYPE_DOUBLE;
    case EngineType::kText:
      return DUCKDB_TYPE_VARCHAR;
  }
  return DUCKDB_TYPE_BLOB;
}

}  // namespace

const char* TypeSql(EngineType type) {
  switch (type) {
    case EngineType::kInt64:
      return "BIGINT";
    case EngineType::kUInt64:
      return "UBIGINT";
    case EngineType::kUInt32:
      return "UINTEGER";
    case EngineType::kUInt8:
      return "UTINYINT";
    case EngineType::kFloat32:
      return "FLOAT";
    case EngineType::kString:
      return "BLOB";  // bytes, as ClickHouse's String: VARCHAR must be UTF-8 and pays for the check
    case EngineType::kFloat64:
      return "DOUBLE";
    case EngineType::kText:
      return "VARCHAR";
  }
  return "BLOB";
}

std::string ColumnsSql(const std::vector<ColumnDef>& columns) {
  std::string sql;
  for (const ColumnDef& def : columns)
    sql += fmt::format("{}{} {}", sql.empty() ? "" : ", ", def.name, TypeSql(def.type));
  return sql;
}

std::string Quote(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

std::string QuoteName(std::string_view name) {
  std::string out = "\"";
  for (char c : name) {
    if (c == '"') out += '"';
    if (c == '\0') {
      out += "\xEF\xBF\xBD";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Result<std::unique_ptr<Database>> Database::Open(const DatabaseOptions& options) {
  WF_TRY(Load());
  duckdb_config config = nullptr;
  api().create_config(&config);
  api().set_config(config, "memory_limit", options.memory_limit.c_str());
  api().set_config(config, "threads", std::to_string(options.threads).c_str());
  api().set_config(config, "temp_directory", options.temp_directory.c_str());
  api().set_config(config, "autoinstall_known_extensions", "false");
  api().set_config(config, "autoload_known_extensions", "false");
  api().set_config(config, "checkpoint_threshold", options.checkpoint_threshold.c_str());
  auto out = std::make_unique<Database>();
  char* error = nullptr;
  const duckdb_state state = api().open_ext(nullptr, &out->database_, config, &error);
  api().destroy_config(&config);
  if (state != DuckDBSuccess) {
    const Error failed = Failed("DuckDB does not start", error);
    if (error != nullptr) api().free(error);
    return failed;
  }
  return out;
}

Database::~Database() {
  if (database_ != nullptr) api().close(&database_);
}

Result<std::unique_ptr<Connection>> Database::Connect() {
  std::unique_ptr<Connection> out(new Connection());
  if (api().connect(database_, &out->connection_) != DuckDBSuccess)
    return Failed("connect", nullptr);
  out->function_ = fmt::format("wf_rows_{}", next_function++);
  duckdb_table_function function = api().create_table_function();
  api().table_function_set_name(function, out->function_.c_str());
  api().table_function_set_extra_info(function, out.get(), nullptr);
  api().table_function_set_bind(function, &Connection::Bind);
  api().table_function_set_init(function, &Connection::Init);
  api().table_function_set_function(function, &Connection::Fill);
  const duckdb_state state = api().register_table_function(out->connection_, function);
  api().destroy_table_function(&function);
  if (state != DuckDBSuccess) return Failed("register the row source", nullptr);
  return out;
}

Result<ConnectionPool::Lease> ConnectionPool::Borrow() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Lease lease(*this, std::move(free_.back()));
      free_.pop_back();
      return lease;
    }
  }
  WF_ASSIGN(auto connection, database_.Connect());
  return Lease(*this, std::move(connection));
}

ConnectionPool::Lease::~Lease() {
  if (connection_ == nullptr) return;
  std::lock_guard lock(pool_.mutex_);
  pool_.free_.push_back(std::move(connection_));
}

Connection::~Connection() {
  if (connection_ != nullptr) api().disconnect(&connection_);
}

Status Connection::Run(const std::string& sql) {
  auto result = Query(sql);
  if (!result.ok()) return result.error();
  return {};
}

Result<QueryResult> Connection::Query(const std::string& sql, const std::vector<Param>& params) {
  QueryResult out;
  out.live_ = true;
  if (params.empty()) {
    if (api().query(connection_, sql.c_str(), &out.result_) != DuckDBSuccess) {
      return Failed(sql.substr(0, 200), api().result_error(&out.result_));
    }
    return out;
  }
  duckdb_prepared_statement statement = nullptr;
  if (api().prepare(connection_, sql.c_str(), &statement) != DuckDBSuccess) {
    const Error failed = Failed(sql.substr(0, 200), api().prepare_error(statement));
    api().destroy_prepare(&statement);
    out.live_ = false;
    return failed;
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (const auto* number = std::get_if<int64_t>(&params[i])) {
      api().bind_int64(statement, i + 1, *number);
    } else if (const auto* natural = std::get_if<uint64_t>(&params[i])) {
      api().bind_uint64(statement, i + 1, *natural);
    } else if (const auto* real = std::get_if<double>(&params[i])) {
      api().bind_double(statement, i + 1, *real);
    } else if (const auto* utf8 = std::get_if<Utf8>(&params[i])) {
      api().bind_varchar_length(statement, i + 1, utf8->text.data(), utf8->text.size());
    } else {
      const auto& text = std::get<std::string_view>(params[i]);
      api().bind_blob(statement, i + 1, text.empty() ? "" : text.data(), text.size());
    }
  }
  const duckdb_state state = api().execute_prepared(statement, &out.result_);
  api().destroy_prepare(&statement);
  if (state != DuckDBSuccess) return Failed(sql.substr(0, 200), api().result_error(&out.result_));
  return out;
}

void Connection::Bind(duckdb_bind_info info) {
  auto* self = static_cast<Connection*>(api().bind_get_extra_info(info));
  for (const ColumnDef& column : self->source_->columns) {
    duckdb_logical_type type = api().create_logical_type(TypeOf(column.type));
    api().bind_add_result_column(info, column.name.c_str(), type);
    api().destroy_logical_type(&type);
  }
}

void Connection::Init(duckdb_init_info info) { api().init_set_max_threads(info, 1); }

void Connection::Fill(duckdb_function_info info, duckdb_data_chunk chunk) {
  auto* self = static_cast<Connection*>(api().function_get_extra_info(info));
  if (self->source_->fill_chunk) {
    api().data_chunk_set_size(chunk, self->source_->fill_chunk(chunk, kBlockRows));
    return;
  }
  self->vectors_.resize(self->source_->columns.size());
  for (size_t i = 0; i < self->vectors_.size(); ++i) {
    self->vectors_[i] = api().vector_get_data(api().data_chunk_get_vector(chunk, i));
  }
  api().data_chunk_set_size(chunk, self->source_->fill(self->vectors_.data(), kBlockRows));
}

Status Connection::Insert(const std::string& table, RowSource& source) {
  std::string names;
  for (const ColumnDef& column : source.columns) names += (names.empty() ? "" : ",") + column.name;
  return RunWith(source,
                 fmt::format("INSERT INTO {} ({}) SELECT * FROM {}()", table, names, function_));
}

Status Connection::RunWith(RowSource& source, const std::string& sql) {
  source_ = &source;
  const Status status = Run(sql);
  source_ = nullptr;
  return status;
}

}  // namespace wf::store::duckdb::duck
