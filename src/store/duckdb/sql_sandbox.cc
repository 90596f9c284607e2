#include "store/duckdb/sql_sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "model/packed.h"
#include "store/duckdb/connection.h"
#include "store/duckdb/dataset_sql.h"

extern char** environ;

namespace wf::store::duckdb {
namespace {

constexpr size_t kMaxSqlBytes = 256 << 10;
constexpr size_t kMaxAnswerBytes = 256 << 20;

// What the child writes: a tag, then an error's text, or dialect, columns and rows.
enum class Reply : uint8_t { kRows, kBadStatement, kTooMuch };

void PutBytes(std::string_view text, std::string& out) {
  PutVarint(text.size(), out);
  out += text;
}

std::string SerializeRows(const DatasetRows& rows, std::string_view dialect) {
  std::string out(1, static_cast<char>(Reply::kRows));
  PutBytes(dialect, out);
  PutVarint(rows.more ? 1 : 0, out);
  PutVarint(rows.table.columns.size(), out);
  PutVarint(rows.table.rows(), out);
  for (const TableColumn& column : rows.table.columns) {
    PutBytes(column.definition.name, out);
    PutVarint(static_cast<uint64_t>(column.definition.type), out);
    for (size_t i = 0; i < column.size(); ++i) {
      PutVarint(column.valid[i], out);
      if (column.valid[i] == 0) continue;
      uint64_t bits = 0;
      if (!column.texts.empty()) {
        PutBytes(column.texts[i], out);
      } else if (!column.doubles.empty()) {
        std::memcpy(&bits, &column.doubles[i], sizeof bits);
        PutVarint(bits, out);
      } else {
        PutVarint(static_cast<uint64_t>(column.numbers[i]), out);
      }
    }
  }
  return out;
}

class ReplyReader : public PackedReader {
 public:
  using PackedReader::PackedReader;
  bool Number(uint64_t& value) { return Varint(value); }
  bool Text(std::string& text) {
    uint64_t length;
    std::string_view bytes;
    if (!Varint(length) || !Bytes(length, bytes)) return false;
    text = bytes;
    return true;
  }
};

bool ReadColumn(ReplyReader& reader, uint64_t rows, TableColumn& column) {
  uint64_t type;
  if (!reader.Text(column.definition.name) || !reader.Number(type) || type > 4) return false;
  column.definition.type = static_cast<ColumnType>(type);
  for (uint64_t i = 0; i < rows; ++i) {
    uint64_t valid, bits;
    if (!reader.Number(valid)) return false;
    if (valid == 0) {
      column.AppendNull();
      continue;
    }
    if (column.definition.type == ColumnType::kText) {
      std::string text;
      if (!reader.Text(text)) return false;
      column.AppendText(std::move(text));
    } else if (!reader.Number(bits)) {
      return false;
    } else if (column.definition.type == ColumnType::kDouble) {
      double value;
      std::memcpy(&value, &bits, sizeof value);
      column.AppendDouble(value);
    } else {
      column.AppendInt(static_cast<int64_t>(bits));
    }
  }
  return true;
}

Result<SqlRows> ParseReply(std::string_view reply) {
  const Error torn = EnvironmentError("sql: its process ended without an answer",
                                      "simplify it: it may use 1 GB of memory");
  if (reply.empty()) return torn;
  const auto tag = static_cast<Reply>(reply[0]);
  reply.remove_prefix(1);
  if (tag == Reply::kBadStatement)
    return BadInput("sql: " + std::string(reply),
                    "one SELECT over datasets, in DuckDB's SQL; wherefore dataset list shows them");
  if (tag == Reply::kTooMuch)
    return EnvironmentError("sql: " + std::string(reply),
                            "simplify it: a statement may use 1 GB of memory and 30 s");
  ReplyReader reader(reply);
  SqlRows out;
  uint64_t more, columns, rows;
  if (!reader.Text(out.dialect) || !reader.Number(more) || !reader.Number(columns) ||
      !reader.Number(rows))
    return torn;
  out.rows.more = more != 0;
  for (uint64_t i = 0; i < columns; ++i) {
    if (!ReadColumn(reader, rows, out.rows.table.columns.emplace_back())) return torn;
  }
  return out;
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// ---- the child ----

void LimitThisProcess() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  alarm(static_cast<unsigned>(kSqlTime / kSecond) + 1);  // should the parent forget us
  const auto limit = [](int what, rlim_t most) {
    const rlimit value{most, most};
    (void)setrlimit(static_cast<__rlimit_resource>(what), &value);
  };
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
  // Sanitizers keep shadows of all memory, and count as ours.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // The engine counts most of what it takes against its own limit; this is for the rest. Code and stacks come on top.
  limit(RLIMIT_DATA, static_cast<rlim_t>(kSqlMemoryBytes + (256 << 20)));
#endif
}

struct ResultType {
  ColumnType type;
  std::string cast;  // of the engine
};
ResultType TypeFor(const std::string& engine_type) {
  if (engine_type == "BOOLEAN") return {ColumnType::kBool, "BIGINT"};
  for (const char* whole :
       {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}) {
    if (engine_type == whole) return {ColumnType::kInt, "BIGINT"};
  }
  if (engine_type == "FLOAT" || engine_type == "DOUBLE" || engine_type.rfind("DECIMAL", 0) == 0)
    return {ColumnType::kDouble, "DOUBLE"};
  return {ColumnType::kText, "VARCHAR"};
}

// Sums of integers are wider than 64 bits; where the values fit, they are integers like others.
Result<ResultType> TypeOfWide(duck::Connection& connection, const std::string& name) {
  WF_ASSIGN(auto rows, connection.Query(fmt::format(
                           "SELECT count(*) FILTER (TRY_CAST({0} AS BIGINT) IS NULL AND {0} IS NOT "
                           "NULL) FROM temp.wf_result",
                           duck::QuoteName(name))));
  int64_t outside = 0;
  while (duck::Chunk chunk = rows.Next()) {
    if (chunk.size() != 0) outside = chunk.Column<int64_t>(0)[0];
  }
  if (outside != 0) return ResultType{ColumnType::kDouble, "DOUBLE"};
  return ResultType{ColumnType::kInt, "BIGINT"};
}

Result<DatasetRows> ReadResult(duck::Connection& connection) {
  std::vector<std::pair<std::string, std::string>> engine_columns;
  {
    WF_ASSIGN(auto rows, connection.Query("SELECT column_name, data_type FROM duckdb_columns() "
                                          "WHERE database_name = 'temp' AND table_name = "
                                          "'wf_result' ORDER BY column_index"));
    while (duck::Chunk chunk = rows.Next()) {
      for (size_t i = 0; i < chunk.size(); ++i)
        engine_columns.emplace_back(chunk.Text(0, i), chunk.Text(1, i));
    }
  }
  std::vector<ColumnDefinition> columns;
  std::string select;
  for (const auto& [name, engine_type] : engine_columns) {
    ResultType type = TypeFor(engine_type);
    if (engine_type == "HUGEINT" || engine_type == "UHUGEINT" || engine_type == "UBIGINT") {
      WF_ASSIGN(type, TypeOfWide(connection, name));
    }
    columns.push_back({name, type.type});
    select += fmt::format("{}CAST({} AS {})", select.empty() ? "" : ", ", duck::QuoteName(name),
                          type.cast);
  }
  DatasetRows out;
  out.table = EmptyTable(columns);
  WF_ASSIGN(auto rows, connection.Query(fmt::format("SELECT {} FROM temp.wf_result LIMIT {}",
                                                    select, kSqlRows + 1)));
  while (duck::Chunk chunk = rows.Next()) AppendChunk(chunk, out.table);
  if (out.table.rows() > kSqlRows) {
    out.more = true;
    for (TableColumn& column : out.table.columns) {
      column.valid.resize(kSqlRows);
      if (!column.numbers.empty()) column.numbers.resize(kSqlRows);
      if (!column.doubles.empty()) column.doubles.resize(kSqlRows);
      if (!column.texts.empty()) column.texts.resize(kSqlRows);
    }
  }
  return out;
}

Result<DatasetRows> RunLocked(const std::string& file, const std::string& sql) {
  duck::DatabaseOptions options;
  options.memory_limit = fmt::format("{}MB", kSqlMemoryBytes * 9 / 10 / 1000'000);
  options.threads = 2;
  WF_ASSIGN(auto database, duck::Database::Open(options));
  WF_ASSIGN(auto connection, database->Connect());
  WF_TRY(connection->Run(
      fmt::format("ATTACH {} AS datasets (READ_ONLY); USE datasets", duck::Quote(file))));
  unlink(file.c_str());  // it stays open; nobody else will find it
  WF_TRY(
      connection->Run("SET allow_community_extensions = false; "
                      "SET enable_external_access = false; SET lock_configuration = true"));
  duckdb_prepared_statement statement = nullptr;
  const bool prepared =
      duck::api().prepare(connection->handle(), sql.c_str(), &statement) == DuckDBSuccess;
  const char* why = prepared ? nullptr : duck::api().prepare_error(statement);
  const std::string refusal = why != nullptr ? why : "";
  const bool selects =
      prepared && duck::api().prepared_statement_type(statement) == DUCKDB_STATEMENT_TYPE_SELECT;
  duck::api().destroy_prepare(&statement);
  if (!prepared) return BadInput(refusal);
  if (!selects) return BadInput("only a SELECT is run here");
  // It is one whole SELECT by itself, so brackets around it cannot change it; the line end closes a last comment.
  std::string inner = sql;
  while (!inner.empty() &&
         (inner.back() == ';' || std::isspace(static_cast<unsigned char>(inner.back()))))
    inner.pop_back();
  WF_TRY(connection->Run("CREATE TEMP TABLE wf_result AS (" + inner + "\n)"));
  return ReadResult(*connection);
}

// The engine's own words: without our statement before them, and without the place in it.
std::string Words(std::string message) {
  if (message.rfind("store: ", 0) == 0) {
    const size_t at = message.find("Error: ");
    const size_t begin = at == std::string::npos ? 0 : message.rfind(": ", at);
    message = message.substr(begin == std::string::npos ? 0 : begin + 2);
  }
  return message;
}

}  // namespace

int SqlSandboxMain(int argc, char** argv) {
  if (argc != 3) return 2;
  LimitThisProcess();
  std::string sql;
  char buffer[16384];
  for (ssize_t n; (n = read(STDIN_FILENO, buffer, sizeof buffer)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || sql.size() > kMaxSqlBytes) return 3;
    sql.append(buffer, static_cast<size_t>(n));
  }
  std::string reply;
  try {
    const auto rows = RunLocked(argv[2], sql);
    if (rows.ok()) {
      reply = SerializeRows(*rows, std::string("DuckDB ") + duck::api().library_version());
    } else {
      const bool too_much = rows.error().message.find("Out of Memory") != std::string::npos ||
                            rows.error().message.find("bad_alloc") != std::string::npos ||
                            rows.error().message.find("bad allocation") != std::string::npos;
      const std::string words = Words(rows.error().message);
      // What the engine adds about too little memory is advice for its own command line.
      reply = too_much ? std::string(1, static_cast<char>(Reply::kTooMuch)) +
                             words.substr(0, words.find('\n'))
                       : std::string(1, static_cast<char>(Reply::kBadStatement)) + words;
    }
  } catch (const std::bad_alloc&) {
    reply = std::string(1, static_cast<char>(Reply::kTooMuch)) + "out of memory";
  }
  if (!WriteAll(STDOUT_FILENO, reply)) _exit(3);
  _exit(0);  // the engine's threads need no farewell
}

// ---- the parent ----

SqlScratch::SqlScratch(const std::string& folder) {
  static std::atomic<uint64_t> next{0};
  path_ = fmt::format("{}/sql-{}-{}.duckdb", folder, getpid(), next++);
}
SqlScratch::~SqlScratch() {
  unlink(path_.c_str());
  unlink((path_ + ".wal").c_str());
}

namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
  Status Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      return EnvironmentError(std::string("pipe: ") + std::strerror(errno), "too many open files?");
    read_end = ends[0], write_end = ends[1];
    return {};
  }
  void CloseRead() { Close(read_end); }
  void CloseWrite() { Close(write_end); }
  ~Pipe() { CloseRead(), CloseWrite(); }

 private:
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

// Only what the loader of libraries and the sanitizers read.
std::vector<char*> ChildEnvironment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    for (const char* name : {"WHEREFORE_DUCKDB=", "LD_LIBRARY_PATH=", "ASAN_OPTIONS=",
                             "TSAN_OPTIONS=", "UBSAN_OPTIONS=", "LSAN_OPTIONS="}) {
      if (std::strncmp(*entry, name, std::strlen(name)) == 0) kept.push_back(*entry);
    }
  }
  kept.push_back(nullptr);
  return kept;
}

Result<pid_t> Spawn(const std::string& program, const std::string& file, const Pipe& in,
                    const Pipe& out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
  std::string path = program, verb = kSqlVerb, argument = file;
  char* argv[] = {path.data(), verb.data(), argument.data(), nullptr};
  std::vector<char*> environment = ChildEnvironment();
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return EnvironmentError(fmt::format("sql: {}: {}", program, std::strerror(failed)),
                            "the program must be able to start itself again");
  return child;
}

enum class Ending { kDone, kTooLong, kTooLarge };

Ending ReadReply(int fd, Nanos deadline, std::string& reply) {
  char buffer[65536];
  for (;;) {
    const Nanos left = deadline - MonotonicNow();
    if (left <= 0) return Ending::kTooLong;
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left / kMilli) + 1) <= 0) continue;
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Ending::kDone;
    reply.append(buffer, static_cast<size_t>(n));
    if (reply.size() > kMaxAnswerBytes) return Ending::kTooLarge;
  }
}

}  // namespace

Result<SqlRows> RunSandboxedSql(const std::string& program, const std::string& file,
                                const std::string& sql) {
  if (sql.size() > kMaxSqlBytes || sql.find('\0') != std::string::npos)
    return BadInput("sql: the statement is longer than 256 kB, or contains a zero byte",
                    "give one SELECT");
  // A child that ends early must not end us by SIGPIPE: small texts fit into the pipe before it reads.
  Pipe in, out;
  WF_TRY(in.Open());
  WF_TRY(out.Open());
  (void)fcntl(in.write_end, F_SETPIPE_SZ, static_cast<int>(kMaxSqlBytes));
  const Nanos deadline = MonotonicNow() + kSqlTime;
  if (!WriteAll(in.write_end, sql))
    return EnvironmentError("sql: the statement could not be handed over", "try again");
  in.CloseWrite();
  WF_ASSIGN(const pid_t child, Spawn(program.empty() ? "/proc/self/exe" : program, file, in, out));
  in.CloseRead();
  out.CloseWrite();
  std::string reply;
  const Ending ending = ReadReply(out.read_end, deadline, reply);
  kill(child, SIGKILL);  // done or not
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (ending == Ending::kTooLong)
    return EnvironmentError("sql: stopped after 30 s", "narrow it: a WHERE on time_ns, a LIMIT");
  if (ending == Ending::kTooLarge)
    return EnvironmentError("sql: the answer is larger than 256 MB", "select less, or add a LIMIT");
  return ParseReply(reply);
}

}  // namespace wf::store::duckdb
