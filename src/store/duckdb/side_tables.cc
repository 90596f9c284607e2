// Messages, attachments and clocks: small tables in state.duckdb, made when first written.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "store/duckdb/store_impl.h"

namespace wf::store::duckdb {

// Attaches state.duckdb. `make`: also when there is none yet.
Status DuckdbStore::OpenSideTables(SideTables make) {
  if (side_open_) return {};
  std::lock_guard lock(side_mutex_);
  if (side_open_) return {};
  const std::string path = Folder("state.duckdb");
  if (make == SideTables::kIfThere && access(path.c_str(), F_OK) != 0) return {};
  // Left by a process that ended while it wrote the file anew (side_retention.cc).
  for (const char* end : {".new", ".new.wal"}) unlink((path + end).c_str());
  WF_ASSIGN(auto connection, Borrow());
  return AttachSideTables(*connection);
}

Status DuckdbStore::AttachSideTables(duck::Connection& connection) {
  WF_TRY(connection.Run(
      fmt::format("ATTACH IF NOT EXISTS {} AS state", duck::Quote(Folder("state.duckdb")))));
  WF_TRY(connection.Run(
      "CREATE TABLE IF NOT EXISTS state.messages (tenant BLOB, hash_hi UBIGINT, "
      "hash_lo UBIGINT, time_ns BIGINT, kind BLOB, "
      "sender BLOB, receiver BLOB, id BLOB, received_ns BIGINT, keys BLOB DEFAULT ''::BLOB); "
      "ALTER TABLE state.messages ADD COLUMN IF NOT EXISTS keys BLOB DEFAULT ''::BLOB; "
      "CREATE TABLE IF NOT EXISTS state.attachments (tenant BLOB, trace_hi "
      "UBIGINT, trace_lo UBIGINT, kind BLOB, hash_hi UBIGINT, "
      "hash_lo UBIGINT, place UINTEGER, chunk BLOB, received_ns BIGINT); "
      "CREATE TABLE IF NOT EXISTS state.clocks (tenant BLOB, host BLOB, from_ns "
      "BIGINT, offset_ns BIGINT, error_ns BIGINT); "
      "CREATE TABLE IF NOT EXISTS state.documents (tenant BLOB, kind BLOB, name "
      "BLOB, content BLOB, written_ns BIGINT)"));
  side_open_ = true;
  return {};
}

Status DuckdbStore::AppendMessages(const std::string& tenant,
                                   const std::vector<Message>& messages) {
  if (messages.empty()) return {};
  WF_TRY(OpenSideTables(SideTables::kMake));
  WF_ASSIGN(auto connection, Borrow());
  std::lock_guard lock(side_mutex_);
  size_t next = 0;
  const Nanos now = Now();
  using enum EngineType;
  duck::RowSource rows{{{"tenant", kString},
                        {"hash_hi", kUInt64},
                        {"hash_lo", kUInt64},
                        {"time_ns", kInt64},
                        {"kind", kString},
                        {"sender", kString},
                        {"receiver", kString},
                        {"id", kString},
                        {"received_ns", kInt64},
                        {"keys", kString}},
                       [&](void* const* v, size_t capacity) {
                         const size_t n = std::min(capacity, messages.size() - next);
                         for (size_t i = 0; i < n; ++i, ++next) {
                           const Message& m = messages[next];
                           const Hash128 hash = HashOf(m);
                           const auto text = [&](size_t c, std::string_view t) {
                             static_cast<duckdb_string_t*>(v[c])[i] = duck::BorrowText(t);
                           };
                           text(0, tenant), text(4, m.kind), text(5, m.sender), text(6, m.receiver),
                               text(7, m.id), text(9, m.keys);
                           static_cast<uint64_t*>(v[1])[i] = hash.hi;
                           static_cast<uint64_t*>(v[2])[i] = hash.lo;
                           static_cast<int64_t*>(v[3])[i] = m.time_ns;
                           static_cast<int64_t*>(v[8])[i] = now;
                         }
                         return n;
                       }};
  WF_TRY(connection->Run(
      "CREATE OR REPLACE TEMP TABLE new_messages AS SELECT * FROM state.messages LIMIT 0"));
  WF_TRY(connection->Insert("new_messages", rows));
  return connection->Run(
      "INSERT INTO state.messages SELECT DISTINCT ON (hash_hi, hash_lo) * FROM new_messages n "
      "WHERE NOT EXISTS (SELECT 1 FROM "
      "state.messages m WHERE m.tenant = n.tenant AND m.hash_hi = n.hash_hi AND m.hash_lo = "
      "n.hash_lo); "
      "DROP TABLE new_messages");
}

Result<std::vector<Message>> DuckdbStore::ReadMessages(const std::string& tenant, TimeRange time) {
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  std::vector<Message> out;
  std::shared_lock lock(side_mutex_);
  if (!side_open_) return out;
  WF_ASSIGN(auto connection, Borrow());
  WF_ASSIGN(auto rows,
            connection->Query(
                "SELECT time_ns, kind, sender, receiver, id, keys FROM state.messages WHERE tenant "
                "= ? AND "
                "time_ns >= ? AND time_ns < ? ORDER BY time_ns, kind, sender, receiver, id, keys",
                {std::string_view(tenant), time.from, time.until}));
  while (duck::Chunk chunk = rows.Next()) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      out.push_back({chunk.Column<int64_t>(0)[i], std::string(chunk.Text(1, i)),
                     std::string(chunk.Text(2, i)), std::string(chunk.Text(3, i)),
                     std::string(chunk.Text(4, i)), std::string(chunk.Text(5, i))});
    }
  }
  return out;
}

Result<MessagesDigest> DuckdbStore::DigestMessages(const std::string& tenant, TimeRange time) {
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  MessagesDigest digest;
  std::shared_lock lock(side_mutex_);
  if (!side_open_) return digest;
  WF_ASSIGN(auto connection, Borrow());
  WF_ASSIGN(auto rows,
            connection->Query(
                "SELECT count(*)::UBIGINT, coalesce(bit_xor(hash_hi), 0)::UBIGINT, "
                "coalesce(bit_xor(hash_lo), 0)::UBIGINT FROM state.messages WHERE tenant = ? AND "
                "time_ns >= ? AND time_ns < ?",
                {std::string_view(tenant), time.from, time.until}));
  while (duck::Chunk chunk = rows.Next()) {
    if (chunk.size() == 0) continue;
    digest.count = chunk.Column<uint64_t>(0)[0];
    digest.hash = {chunk.Column<uint64_t>(1)[0], chunk.Column<uint64_t>(2)[0]};
  }
  return digest;
}

Status DuckdbStore::PutAttachment(const std::string& tenant, const Attachment& attachment) {
  WF_TRY(OpenSideTables(SideTables::kMake));
  WF_ASSIGN(auto connection, Borrow());
  std::lock_guard lock(side_mutex_);
  Hasher128 hasher;
  hasher.Add(attachment.kind);
  for (const std::string& chunk : attachment.chunks) hasher.Add(chunk);
  const Hash128 hash = hasher.Finish();
  {
    WF_ASSIGN(
        auto known,
        connection->Query(
            "SELECT 1 FROM state.attachments WHERE tenant = ? AND trace_hi = ? AND trace_lo = ? "
            "AND hash_hi = ? AND hash_lo = ? LIMIT 1",
            {std::string_view(tenant), attachment.trace_id.hi, attachment.trace_id.lo, hash.hi,
             hash.lo}));
    while (duck::Chunk chunk = known.Next()) {
      if (chunk.size() != 0) return {};
    }
  }
  // An attachment without chunks is kept as one row that has none: place 0 is the attachment, 1… its chunks.
  size_t next = 0;
  const Nanos now = Now();
  using enum EngineType;
  duck::RowSource rows{{{"tenant", kString},
                        {"trace_hi", kUInt64},
                        {"trace_lo", kUInt64},
                        {"kind", kString},
                        {"hash_hi", kUInt64},
                        {"hash_lo", kUInt64},
                        {"place", kUInt32},
                        {"chunk", kString},
                        {"received_ns", kInt64}},
                       [&](void* const* v, size_t capacity) {
                         const size_t n = std::min(capacity, attachment.chunks.size() + 1 - next);
                         for (size_t i = 0; i < n; ++i, ++next) {
                           const auto text = [&](size_t c, std::string_view t) {
                             static_cast<duckdb_string_t*>(v[c])[i] = duck::BorrowText(t);
                           };
                           text(0, tenant), text(3, attachment.kind);
                           text(7, next == 0 ? std::string_view() : attachment.chunks[next - 1]);
                           static_cast<uint64_t*>(v[1])[i] = attachment.trace_id.hi;
                           static_cast<uint64_t*>(v[2])[i] = attachment.trace_id.lo;
                           static_cast<uint64_t*>(v[4])[i] = hash.hi;
                           static_cast<uint64_t*>(v[5])[i] = hash.lo;
                           static_cast<uint32_t*>(v[6])[i] = static_cast<uint32_t>(next);
                           static_cast<int64_t*>(v[8])[i] = now;
                         }
                         return n;
                       }};
  return connection->Insert("state.attachments", rows);
}

Result<std::vector<Attachment>> DuckdbStore::ReadAttachments(const std::string& tenant,
                                                             TraceId id) {
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  std::vector<Attachment> out;
  std::shared_lock lock(side_mutex_);
  if (!side_open_) return out;
  WF_ASSIGN(auto connection, Borrow());
  WF_ASSIGN(
      auto rows,
      connection->Query(
          "SELECT kind, place, chunk FROM state.attachments WHERE tenant = ? AND trace_hi = ? AND "
          "trace_lo = ? ORDER BY kind, hash_hi, hash_lo, place",
          {std::string_view(tenant), id.hi, id.lo}));
  while (duck::Chunk chunk = rows.Next()) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      if (chunk.Column<uint32_t>(1)[i] == 0) {
        out.push_back({id, std::string(chunk.Text(0, i)), {}});
      } else if (!out.empty()) {
        out.back().chunks.emplace_back(chunk.Text(2, i));
      }
    }
  }
  return out;
}

Status DuckdbStore::WriteClocks(const std::string& tenant, const std::vector<ClockOffset>& clocks) {
  if (clocks.empty()) return {};
  WF_TRY(OpenSideTables(SideTables::kMake));
  WF_ASSIGN(auto connection, Borrow());
  std::lock_guard lock(side_mutex_);
  std::map<std::string, std::pair<Nanos, Nanos>> ranges;
  for (const ClockOffset& clock : clocks) {
    const auto [it, added] = ranges.try_emplace(clock.host, clock.from_ns, clock.from_ns);
    it->second.first = std::min(it->second.first, clock.from_ns);
    it->second.second = std::max(it->second.second, clock.from_ns);
  }
  WF_TRY(connection->Run("BEGIN"));
  const auto write = [&]() -> Status {
    for (const auto& [host, range] : ranges) {
      WF_TRY(connection->Query(
          "DELETE FROM state.clocks WHERE tenant = ? AND host = ? AND from_ns >= ? AND from_ns <= "
          "?",
          {std::string_view(tenant), std::string_view(host), range.first, range.second}));
    }
    for (const ClockOffset& clock : clocks) {
      WF_TRY(connection->Query("INSERT INTO state.clocks VALUES (?, ?, ?, ?, ?)",
                               {std::string_view(tenant), std::string_view(clock.host),
                                clock.from_ns, clock.offset_ns, clock.error_ns}));
    }
    return connection->Run("COMMIT");
  };
  const Status status = write();
  if (!status.ok()) (void)connection->Run("ROLLBACK");
  return status;
}

Result<std::vector<ClockOffset>> DuckdbStore::ReadClocks(const std::string& tenant,
                                                         TimeRange time) {
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  std::vector<ClockOffset> out;
  std::shared_lock lock(side_mutex_);
  if (!side_open_) return out;
  WF_ASSIGN(auto connection, Borrow());
  // The offset in force at the range's beginning started before it.
  WF_ASSIGN(
      auto rows,
      connection->Query(
          "SELECT host, from_ns, offset_ns, error_ns FROM state.clocks c WHERE tenant = ? AND "
          "from_ns < ? AND from_ns >= coalesce((SELECT max(from_ns) FROM state.clocks d WHERE "
          "d.tenant = c.tenant AND d.host = c.host AND d.from_ns <= ?), from_ns) "
          "ORDER BY host, from_ns",
          {std::string_view(tenant), time.until, time.from}));
  while (duck::Chunk chunk = rows.Next()) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      out.push_back({std::string(chunk.Text(0, i)), chunk.Column<int64_t>(1)[i],
                     chunk.Column<int64_t>(2)[i], chunk.Column<int64_t>(3)[i]});
    }
  }
  return out;
}

Status DuckdbStore::CountSideTables(const std::string& tenant, StoreStatus& status) {
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  std::shared_lock lock(side_mutex_);
  if (!side_open_) return {};
  WF_ASSIGN(auto connection, Borrow());
  WF_ASSIGN(
      auto rows,
      connection->Query("SELECT (SELECT count(*) FROM state.messages WHERE tenant = ?), "
                        "(SELECT count(*) FROM state.attachments WHERE tenant = ? AND place = 0)",
                        {std::string_view(tenant), std::string_view(tenant)}));
  while (duck::Chunk chunk = rows.Next()) {
    if (chunk.size() == 0) continue;
    status.messages = chunk.Column<int64_t>(0)[0];
    status.attachments = chunk.Column<int64_t>(1)[0];
  }
  return {};
}

}  // namespace wf::store::duckdb
