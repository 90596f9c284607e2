// Retention of messages and attachments. They share one file, state.duckdb, so rows are deleted, oldest receipt first,
// and when enough of the file is dead it is written anew: DuckDB gives a row's blocks back only with its whole row
// group (122,880 rows, more attachments than most stores ever have), and the file shrinks only at its end.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "store/duckdb/store_impl.h"

namespace wf::store::duckdb {
namespace {

// Every row that retention may delete, with about the bytes that it takes.
constexpr char kSideRows[] =
    "(SELECT received_ns, 48 + octet_length(kind) + octet_length(sender) + octet_length(receiver) "
    "+ octet_length(id) + octet_length(keys) AS bytes FROM state.messages UNION ALL "
    "SELECT received_ns, 56 + octet_length(kind) + octet_length(chunk) FROM state.attachments)";

// Deleted by bytes in eighths, as parts are: writing the rest anew then costs at most eight times what came in.
constexpr int kPieces = 8;
// Of the file's bytes, what must be dead to write it anew.
constexpr int64_t kDeadShare = 10;

}  // namespace

Result<std::vector<DuckdbStore::SidePiece>> DuckdbStore::WeighSideTables() {
  std::vector<SidePiece> pieces;
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  std::lock_guard lock(side_mutex_);
  if (!side_open_) return pieces;
  WF_ASSIGN(auto connection, Borrow());
  WF_TRY(connection->Run("CHECKPOINT state"));  // its log takes room too
  WF_ASSIGN(auto rows, connection->Query(fmt::format(
                           "SELECT max(received_ns), sum(bytes)::BIGINT FROM (SELECT received_ns, "
                           "bytes, floor((sum(bytes) OVER (ORDER BY received_ns ROWS UNBOUNDED "
                           "PRECEDING) - 1) * {} / sum(bytes) OVER ()) AS piece FROM {}) "
                           "GROUP BY piece ORDER BY piece",
                           kPieces, kSideRows)));
  int64_t total = 0;
  while (duck::Chunk chunk = rows.Next()) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      pieces.push_back({chunk.Column<int64_t>(0)[i], chunk.Column<int64_t>(1)[i]});
      total += pieces.back().bytes;
    }
  }
  // What a piece takes on disk, compressed or not, dead rows not counted.
  struct stat info;
  const int64_t disk =
      stat(Folder("state.duckdb").c_str(), &info) == 0 ? int64_t{info.st_blocks} * 512 : 0;
  const double live = static_cast<double>(total) / static_cast<double>(total + side_dead_bytes_);
  for (SidePiece& piece : pieces) {
    piece.bytes =
        static_cast<int64_t>(static_cast<double>(disk) * live * static_cast<double>(piece.bytes) /
                             static_cast<double>(total));
  }
  return pieces;
}

Status DuckdbStore::RetainSideTables(Nanos oldest_kept) {
  if (oldest_kept == INT64_MIN) return {};
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  std::lock_guard lock(side_mutex_);
  if (!side_open_) return {};
  WF_ASSIGN(auto connection, Borrow());
  int64_t all = 0, gone = 0, count = 0;
  {
    WF_ASSIGN(auto sums, connection->Query(fmt::format(
                             "SELECT coalesce(sum(bytes), 0)::BIGINT, coalesce(sum(bytes) FILTER "
                             "(received_ns < {0}), 0)::BIGINT, count(*) FILTER (received_ns < {0}) "
                             "FROM {1}",
                             oldest_kept, kSideRows)));
    while (duck::Chunk chunk = sums.Next()) {
      if (chunk.size() == 0) continue;
      all = chunk.Column<int64_t>(0)[0];
      gone = chunk.Column<int64_t>(1)[0];
      count = chunk.Column<int64_t>(2)[0];
    }
  }
  if (count != 0) {
    WF_TRY(
        connection->Run(fmt::format("BEGIN; DELETE FROM state.messages WHERE received_ns < {0}; "
                                    "DELETE FROM state.attachments WHERE received_ns < {0}; COMMIT",
                                    oldest_kept)));
    Count("side_rows_retired", count);
    side_dead_bytes_ += gone;
    all -= gone;
  }
  if (side_dead_bytes_ == 0 || side_dead_bytes_ * kDeadShare < all + side_dead_bytes_) return {};
  return RewriteSideTables(*connection);
}

// Under side_mutex_: nobody reads or writes `state` meanwhile.
Status DuckdbStore::RewriteSideTables(duck::Connection& connection) {
  const std::string path = Folder("state.duckdb"), fresh = path + ".new";
  for (const std::string& left : {fresh, fresh + ".wal"}) unlink(left.c_str());
  WF_TRY(connection.Run("CHECKPOINT state"));
  WF_TRY(connection.Run(fmt::format("ATTACH {} AS state_new", duck::Quote(fresh))));
  Status copied = connection.Run("COPY FROM DATABASE state TO state_new");
  if (copied.ok()) copied = connection.Run("CHECKPOINT state_new");
  WF_TRY(connection.Run("DETACH state_new"));
  if (!copied.ok()) {
    unlink(fresh.c_str());
    return copied;
  }
  side_open_ = false;  // if attaching fails below, whoever comes next tries again
  WF_TRY(connection.Run("DETACH state"));
  const auto replace = [&]() -> Status {
    // A log beside the old file would be replayed into the new one.
    if (access((path + ".wal").c_str(), F_OK) == 0) {
      return EnvironmentError(path + ".wal: not removed by a checkpoint",
                              "retention will try again");
    }
    if (rename(fresh.c_str(), path.c_str()) != 0)
      return EnvironmentError(path + ": " + std::strerror(errno), "is the directory writable?");
    side_dead_bytes_ = 0;
    return SyncDirectory(directory_);
  };
  const Status replaced = replace();
  WF_TRY(AttachSideTables(connection));
  return replaced;
}

}  // namespace wf::store::duckdb
