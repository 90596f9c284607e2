// Documents, messages, attachments and clocks (row_tables.cc tells where they lie). Small, so reads take what merges
// have not yet made one and let the latest count.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "store/clickhouse/dataset_log.h"
#include "store/clickhouse/datasets.h"
#include "store/clickhouse/mutation.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/store_impl.h"

namespace wf::store::clickhouse {
namespace {

using clickhouse::kHomeShard;
using clickhouse::Quote;
using clickhouse::RowReader;
using clickhouse::RowWriter;

constexpr size_t kSideInsertBytes = 32u << 20;
// Messages and attachments may take one part in so many of the bytes allowed.
constexpr int64_t kSidePart = 4;
// Trimmed to so much of what is allowed, so that it need not be done again at once.
constexpr double kTrimmedSideShare = 0.7;

// Later than everything that is there, whatever the clock says.
uint64_t LaterThan(uint64_t there) {
  return std::max(static_cast<uint64_t>(std::max<Nanos>(Now(), 1)), there + 1);
}

std::string Between(const char* column, TimeRange time) {
  // As a text, because INT64_MIN has no literal.
  return fmt::format("{0} >= toInt64('{1}') AND {0} < toInt64('{2}')", column, time.from,
                     time.until);
}

}  // namespace

// ---- documents

Status ClickhouseStore::PutDocument(const std::string& tenant, const std::string& kind,
                                    const std::string& name, std::string_view text) {
  return WriteDocument(tenant, kind, name, text, DocumentChange::kPut);
}

Status ClickhouseStore::DeleteDocument(const std::string& tenant, const std::string& kind,
                                       const std::string& name) {
  return WriteDocument(tenant, kind, name, {}, DocumentChange::kDelete);
}

Status ClickhouseStore::WriteDocument(const std::string& tenant, const std::string& kind,
                                      const std::string& name, std::string_view text,
                                      DocumentChange change) {
  const std::string table = names_.Local("documents");
  // One at a time in this process; of two processes, the one that looks later wins.
  const std::lock_guard lock(documents_mutex_);
  WF_ASSIGN(
      const std::string answer,
      client_.Ask(kHomeShard, "looking for a document",
                  fmt::format("SELECT max(written), argMax(deleted, written), count() FROM {} "
                              "WHERE tenant = {} AND kind = {} AND name = {} FORMAT RowBinary",
                              table, Quote(tenant), Quote(kind), Quote(name))));
  RowReader reader(answer);
  const auto written = reader.Number<uint64_t>();
  const bool deleted = reader.Number<uint8_t>() != 0;
  const bool there = reader.Number<uint64_t>() != 0 && !deleted;
  WF_TRY(reader.status());
  if (change == DocumentChange::kDelete && !there)
    return NotFound(fmt::format("{} {}: not in this store", kind, name), "list what is there");
  std::string row;
  RowWriter out(row);
  out.Text(tenant);
  out.Text(kind);
  out.Text(name);
  out.Text(text);
  out.Number(static_cast<uint8_t>(change == DocumentChange::kDelete ? 1 : 0));
  out.Number(LaterThan(written));
  return client_.Insert(
      kHomeShard, "writing a document",
      fmt::format("INSERT INTO {} (tenant, kind, name, content, deleted, written) "
                  "FORMAT RowBinary",
                  table),
      row);
}

Result<std::vector<Document>> ClickhouseStore::ReadDocuments(const std::string& tenant,
                                                             const std::string& kind) {
  WF_ASSIGN(const std::string answer,
            client_.Ask(kHomeShard, "reading documents",
                        fmt::format("SELECT name, argMax(content, written), max(written) AS latest "
                                    "FROM {} WHERE tenant = {} AND kind = {} GROUP BY name HAVING "
                                    "argMax(deleted, written) = 0 ORDER BY name FORMAT RowBinary",
                                    names_.Local("documents"), Quote(tenant), Quote(kind))));
  std::vector<Document> out;
  RowReader reader(answer);
  while (reader.more()) {
    Document& document = out.emplace_back();
    document.name = reader.Text();
    document.text = reader.Text();
    document.written_ns = static_cast<Nanos>(reader.Number<uint64_t>());
  }
  WF_TRY(reader.status());
  return out;
}

// ---- messages

Status ClickhouseStore::AppendMessages(const std::string& tenant,
                                       const std::vector<Message>& messages) {
  const std::string statement = fmt::format(
      "INSERT INTO {} (tenant, time_ns, hash_hi, hash_lo, kind, sender, receiver, id, "
      "keys, received_ns) FORMAT RowBinary",
      names_.Local("messages"));
  std::vector<std::string> rows(client_.shards());
  const Nanos now = Now();
  const auto send = [&](size_t shard) -> Status {
    WF_TRY(client_.Insert(shard, "writing messages", statement, rows[shard]));
    rows[shard].clear();
    return {};
  };
  for (const Message& message : messages) {
    const Hash128 hash = HashOf(message);
    const size_t shard = hash.lo % client_.shards();
    RowWriter out(rows[shard]);
    out.Text(tenant);
    out.Number(message.time_ns);
    out.Number(hash.hi);
    out.Number(hash.lo);
    out.Text(message.kind);
    out.Text(message.sender);
    out.Text(message.receiver);
    out.Text(message.id);
    out.Text(message.keys);
    out.Number(now);
    if (rows[shard].size() >= kSideInsertBytes) WF_TRY(send(shard));
  }
  for (size_t shard = 0; shard < client_.shards(); ++shard) WF_TRY(send(shard));
  return {};
}

Result<std::vector<Message>> ClickhouseStore::ReadMessages(const std::string& tenant,
                                                           TimeRange time) {
  WF_ASSIGN(
      const std::string answer,
      client_.AskAny("reading messages",
                     fmt::format("SELECT DISTINCT time_ns, kind, sender, receiver, id, keys "
                                 "FROM {} WHERE tenant = {} AND {} ORDER BY time_ns, kind, "
                                 "sender, receiver, id, keys FORMAT RowBinary",
                                 names_.All("messages"), Quote(tenant), Between("time_ns", time))));
  std::vector<Message> out;
  RowReader reader(answer);
  while (reader.more()) {
    Message& message = out.emplace_back();
    message.time_ns = reader.Number<int64_t>();
    message.kind = reader.Text();
    message.sender = reader.Text();
    message.receiver = reader.Text();
    message.id = reader.Text();
    message.keys = reader.Text();
  }
  WF_TRY(reader.status());
  return out;
}

Result<MessagesDigest> ClickhouseStore::DigestMessages(const std::string& tenant, TimeRange time) {
  WF_ASSIGN(
      const std::string answer,
      client_.AskAny("comparing messages",
                     fmt::format("SELECT toUInt64(count()), groupBitXor(hash_hi), "
                                 "groupBitXor(hash_lo) FROM (SELECT DISTINCT hash_hi, "
                                 "hash_lo FROM {} WHERE tenant = {} AND {}) FORMAT RowBinary",
                                 names_.All("messages"), Quote(tenant), Between("time_ns", time))));
  RowReader reader(answer);
  MessagesDigest digest;
  digest.count = reader.Number<uint64_t>();
  digest.hash.hi = reader.Number<uint64_t>();
  digest.hash.lo = reader.Number<uint64_t>();
  WF_TRY(reader.status());
  return digest;
}

// ---- attachments

Status ClickhouseStore::PutAttachment(const std::string& tenant, const Attachment& attachment) {
  Hasher128 hasher;
  hasher.Add(attachment.kind);
  for (const std::string& chunk : attachment.chunks) hasher.Add(chunk);
  const Hash128 hash = hasher.Finish();
  const size_t shard = placement_.Of(attachment.trace_id);
  const TraceId id = attachment.trace_id;
  WF_ASSIGN(
      const std::string known,
      client_.AskAny(
          "looking for an attachment",
          fmt::format("SELECT count() FROM {} WHERE tenant = {} AND trace_hi = {} AND "
                      "trace_lo = {} AND hash_hi = {} AND hash_lo = {} AND place = 0 "
                      "FORMAT RowBinary",
                      names_.All("attachments"), Quote(tenant), id.hi, id.lo, hash.hi, hash.lo)));
  if (RowReader(known).Number<uint64_t>() != 0) return {};
  const std::string statement = fmt::format(
      "INSERT INTO {} (tenant, trace_hi, trace_lo, kind, hash_hi, hash_lo, place, chunk, "
      "received_ns) FORMAT RowBinary",
      names_.Local("attachments"));
  std::string rows;
  const Nanos now = Now();
  const auto send = [&]() -> Status {
    WF_TRY(client_.Insert(shard, "writing an attachment", statement, rows));
    rows.clear();
    return {};
  };
  const auto add = [&](uint32_t place, std::string_view chunk) {
    RowWriter out(rows);
    out.Text(tenant);
    out.Number(id.hi);
    out.Number(id.lo);
    out.Text(attachment.kind);
    out.Number(hash.hi);
    out.Number(hash.lo);
    out.Number(place);
    out.Text(chunk);
    out.Number(now);
  };
  for (size_t i = 0; i < attachment.chunks.size(); ++i) {
    if (rows.size() + attachment.chunks[i].size() >= kSideInsertBytes) WF_TRY(send());
    add(static_cast<uint32_t>(i + 1), attachment.chunks[i]);
  }
  WF_TRY(send());
  add(0, {});
  return send();
}

Result<std::vector<Attachment>> ClickhouseStore::ReadAttachments(const std::string& tenant,
                                                                 TraceId id) {
  WF_ASSIGN(
      const std::string answer,
      client_.AskAny("reading attachments",
                     fmt::format("SELECT kind, hash_hi, hash_lo, place, any(chunk) FROM {} WHERE "
                                 "tenant = {} AND trace_hi = {} AND trace_lo = {} GROUP BY kind, "
                                 "hash_hi, hash_lo, place ORDER BY kind, hash_hi, hash_lo, place "
                                 "FORMAT RowBinary",
                                 names_.All("attachments"), Quote(tenant), id.hi, id.lo),
                     {{"max_memory_usage", "0"}}));
  std::vector<Attachment> out;
  Hash128 current;
  bool whole = false;
  RowReader reader(answer);
  while (reader.more()) {
    const std::string_view kind = reader.Text();
    Hash128 hash;
    hash.hi = reader.Number<uint64_t>();
    hash.lo = reader.Number<uint64_t>();
    const auto place = reader.Number<uint32_t>();
    const std::string_view chunk = reader.Text();
    if (place == 0) {
      current = hash;
      whole = true;
      out.push_back({id, std::string(kind), {}});
    } else if (whole && current == hash) {  // else its writer never came to the end
      out.back().chunks.emplace_back(chunk);
    }
  }
  WF_TRY(reader.status());
  return out;
}

// ---- clocks

Status ClickhouseStore::WriteClocks(const std::string& tenant,
                                    const std::vector<ClockOffset>& clocks) {
  if (clocks.empty()) return {};
  std::map<std::string, std::pair<Nanos, Nanos>> ranges;
  std::set<std::pair<std::string, Nanos>> given;
  for (const ClockOffset& clock : clocks) {
    const auto [it, added] = ranges.try_emplace(clock.host, clock.from_ns, clock.from_ns);
    it->second.first = std::min(it->second.first, clock.from_ns);
    it->second.second = std::max(it->second.second, clock.from_ns);
    given.insert({clock.host, clock.from_ns});
  }
  const std::string table = names_.Local("clocks");
  std::string wanted;
  for (const auto& [host, range] : ranges)
    wanted += fmt::format("{}(host = {} AND from_ns >= toInt64('{}') AND from_ns <= toInt64('{}'))",
                          wanted.empty() ? "" : " OR ", Quote(host), range.first, range.second);
  const std::lock_guard lock(documents_mutex_);
  WF_ASSIGN(const std::string answer,
            client_.Ask(kHomeShard, "looking for clocks",
                        fmt::format("SELECT host, from_ns, max(written) FROM {} WHERE tenant = {} "
                                    "AND ({}) GROUP BY host, from_ns FORMAT RowBinary",
                                    table, Quote(tenant), wanted)));
  uint64_t latest = 0;
  std::vector<ClockOffset> gone;
  RowReader reader(answer);
  while (reader.more()) {
    const std::string host(reader.Text());
    const auto from = reader.Number<int64_t>();
    latest = std::max(latest, reader.Number<uint64_t>());
    if (given.count({host, from}) == 0) gone.push_back({host, from, 0, 0});
  }
  WF_TRY(reader.status());
  // All in one insert into one table of one shard: ClickHouse makes one part of it, so it is there whole or not at all.
  std::string rows;
  const uint64_t written = LaterThan(latest);
  const auto add = [&](const ClockOffset& clock, uint8_t deleted) {
    RowWriter out(rows);
    out.Text(tenant);
    out.Text(clock.host);
    out.Number(clock.from_ns);
    out.Number(clock.offset_ns);
    out.Number(clock.error_ns);
    out.Number(deleted);
    out.Number(written);
  };
  for (const ClockOffset& clock : clocks) add(clock, 0);
  for (const ClockOffset& clock : gone) add(clock, 1);
  return client_.Insert(kHomeShard, "writing clocks",
                        fmt::format("INSERT INTO {} (tenant, host, from_ns, offset_ns, error_ns, "
                                    "deleted, written) FORMAT RowBinary",
                                    table),
                        rows);
}

Result<std::vector<ClockOffset>> ClickhouseStore::ReadClocks(const std::string& tenant,
                                                             TimeRange time) {
  // The offset in force at the range's beginning started before it: of those, each host's last.
  const auto latest = [&](const std::string& condition) {
    return fmt::format(
        "SELECT host, from_ns, argMax(offset_ns, written) AS offset, argMax(error_ns, written) AS "
        "error FROM {} WHERE tenant = {} AND {} GROUP BY host, from_ns HAVING argMax(deleted, "
        "written) = 0",
        names_.Local("clocks"), Quote(tenant), condition);
  };
  WF_ASSIGN(
      const std::string answer,
      client_.Ask(kHomeShard, "reading clocks",
                  fmt::format("SELECT host, from_ns, offset, error FROM ({}) AS inside ORDER BY "
                              "host, from_ns FORMAT RowBinary",
                              latest(Between("from_ns", time)))));
  WF_ASSIGN(
      const std::string before,
      client_.Ask(kHomeShard, "reading clocks",
                  fmt::format("SELECT host, max(from_ns), argMax(offset, from_ns), "
                              "argMax(error, from_ns) FROM ({}) AS inside GROUP BY host FORMAT "
                              "RowBinary",
                              latest(fmt::format("from_ns < toInt64('{}') AND from_ns < "
                                                 "toInt64('{}')",
                                                 time.from, time.until)))));
  std::map<std::pair<std::string, Nanos>, ClockOffset> clocks;
  std::set<std::string> begins;  // hosts with an offset that starts with the range
  const auto read = [&](const std::string& text) {
    RowReader reader(text);
    std::vector<ClockOffset> out;
    while (reader.more()) {
      ClockOffset& clock = out.emplace_back();
      clock.host = reader.Text();
      clock.from_ns = reader.Number<int64_t>();
      clock.offset_ns = reader.Number<int64_t>();
      clock.error_ns = reader.Number<int64_t>();
    }
    return std::pair(std::move(out), reader.status());
  };
  const auto [inside, inside_status] = read(answer);
  WF_TRY(inside_status);
  const auto [earlier, earlier_status] = read(before);
  WF_TRY(earlier_status);
  for (const ClockOffset& clock : inside) {
    if (clock.from_ns == time.from) begins.insert(clock.host);
    clocks[{clock.host, clock.from_ns}] = clock;
  }
  for (const ClockOffset& clock : earlier)
    if (begins.count(clock.host) == 0) clocks[{clock.host, clock.from_ns}] = clock;
  std::vector<ClockOffset> out;
  for (const auto& [key, clock] : clocks) out.push_back(clock);
  return out;
}

// ---- datasets, which Datasets keeps

Status ClickhouseStore::WriteRows(const std::string& tenant, const std::string& dataset,
                                  const DatasetTable& rows, const RowReplacement& replace) {
  return datasets_->Write(tenant, dataset, rows, replace);
}

Result<DatasetRows> ClickhouseStore::QueryRows(const std::string& tenant,
                                               const std::string& dataset,
                                               const DatasetQuery& query) {
  return datasets_->Query(tenant, dataset, query);
}

Result<std::vector<DatasetStatus>> ClickhouseStore::ReadDatasets(const std::string& tenant) {
  return datasets_->Read(tenant);
}

Status ClickhouseStore::DropDataset(const std::string& tenant, const std::string& dataset) {
  return datasets_->Drop(tenant, dataset);
}

Status ClickhouseStore::RetainRows(const std::string& tenant, const std::string& dataset,
                                   const RowRetention& retention) {
  return datasets_->Retain(tenant, dataset, retention);
}

Result<SqlRows> ClickhouseStore::RunSql(const std::string& tenant, const std::string& sql) {
  return datasets_->RunSql(tenant, sql);
}

// ---- status and retention

Status ClickhouseStore::CountRows(const std::string& tenant, StoreStatus& status) {
  const auto count = [&](const std::string& sql) -> Result<int64_t> {
    WF_ASSIGN(const std::string answer, client_.AskAny("counting rows", sql + " FORMAT RowBinary"));
    return RowReader(answer).Number<int64_t>();
  };
  WF_ASSIGN(
      status.messages,
      count(fmt::format("SELECT toInt64(uniqExact(hash_hi, hash_lo)) FROM {} WHERE tenant = {}",
                        names_.All("messages"), Quote(tenant))));
  WF_ASSIGN(
      status.attachments,
      count(fmt::format("SELECT toInt64(uniqExact(trace_hi, trace_lo, hash_hi, hash_lo)) FROM "
                        "{} WHERE tenant = {} AND place = 0",
                        names_.All("attachments"), Quote(tenant))));
  WF_ASSIGN(const auto datasets, datasets_->Read(tenant));
  for (const DatasetStatus& dataset : datasets) {
    status.dataset_rows += dataset.rows;
    status.dataset_bytes += dataset.bytes;
  }
  return {};
}

// Messages and attachments go by their age of receipt. Where all takes more bytes than allowed, rows of datasets and
// these may take a quarter each, and lose their oldest beyond it; the rest is for events.
Status ClickhouseStore::RetainSides(const RetentionPolicy& policy) {
  Nanos oldest = policy.max_age_ns ? SaturatingSub(Now(), *policy.max_age_ns) : INT64_MIN;
  bool too_much = false;
  if (policy.max_bytes) {
    WF_ASSIGN(const int64_t all, ReadDiskBytes());
    too_much = all > *policy.max_bytes;
  }
  if (too_much) {
    WF_ASSIGN(const int64_t trimmed, datasets_->TrimTo(*policy.max_bytes / kSidePart));
    if (trimmed != 0) Count("dataset_rows_trimmed", trimmed);
  }
  for (const std::string& table : {std::string("messages"), std::string("attachments")}) {
    Nanos before = oldest;
    if (too_much) {
      WF_ASSIGN(const Nanos fits, OldestThatFits(table, *policy.max_bytes / kSidePart / 2));
      before = std::max(before, fits);
    }
    if (before == INT64_MIN) continue;
    for (size_t shard = 0; shard < client_.shards(); ++shard) {
      const std::string condition = fmt::format("received_ns < {}", before);
      WF_ASSIGN(const std::string answer,
                client_.Ask(shard, "looking for what is too old",
                            fmt::format("SELECT toInt64(count()) FROM {} WHERE {} FORMAT RowBinary",
                                        names_.Local(table), condition)));
      const auto gone = RowReader(answer).Number<int64_t>();
      if (gone == 0) continue;
      WF_TRY(clickhouse::Mutate(client_, names_, shard, "deleting what is too old", table,
                                "DELETE WHERE " + condition));
      Count("side_rows_retired", gone);
    }
  }
  return {};
}

Result<Nanos> ClickhouseStore::OldestThatFits(const std::string& table, int64_t most) {
  int64_t bytes = 0;
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    WF_ASSIGN(
        const std::string answer,
        client_.Ask(shard, "weighing a table",
                    fmt::format("SELECT toInt64(sum(bytes)) FROM system.parts WHERE database = "
                                "{} AND active AND table = {} FORMAT RowBinary",
                                Quote(client_.url().database), Quote(table))));
    bytes += RowReader(answer).Number<int64_t>();
  }
  if (bytes <= most) return INT64_MIN;
  const double gone =
      1 - kTrimmedSideShare * static_cast<double>(most) / static_cast<double>(bytes);
  WF_ASSIGN(const std::string answer,
            client_.AskAny("weighing a table",
                           fmt::format("SELECT toInt64(quantile({})(received_ns)) FROM {} FORMAT "
                                       "RowBinary",
                                       gone, names_.All(table))));
  return SaturatingAdd(RowReader(answer).Number<int64_t>(), 1);
}

}  // namespace wf::store::clickhouse
