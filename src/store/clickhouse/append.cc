// Appending: the queue, and the senders that bring whole groups of batches to their shards.
//
// ClickHouse makes a part of every insert and merges parts later, so few large inserts are much cheaper than many small
// ones. A sender takes whatever waits; when inserts have been frequent it lets the group grow first. A group is
// acknowledged when all its shards have answered; if one fails, the whole group has failed, its senders come again, and
// what was written already is written twice, which reads and merges undo.
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "store/clickhouse/store_impl.h"

namespace wf::store::clickhouse {
namespace {

constexpr size_t kMostSideRowsRemembered = 200'000;

}  // namespace

void ClickhouseStore::Append(EventBatch batch, Done done) {
  if (batch.empty()) return done({});
  const size_t bytes = batch.MemoryBytes();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || (queue_bytes_ + bytes > options_.max_queue_bytes && !queue_.empty())) {
      Count("batches_refused", 1);
    } else {
      queue_bytes_ += bytes;
      queue_rows_ += batch.size();
      unfinished_.insert(++queued_);
      queue_.push_back({std::move(batch), std::move(done), bytes, queued_});
      work_.notify_one();
      return;
    }
  }
  done(Overloaded("store: more arrives than ClickHouse takes", "send again later"));
}

// Waits for work, and for an insert to be allowed or to be worth it anyway. Empty when the store closes.
std::vector<ClickhouseStore::Queued> ClickhouseStore::TakeGroupLocked(
    std::unique_lock<std::mutex>& lock) {
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return {};
    const Nanos now = MonotonicNow();
    insert_tokens_ =
        std::min(options_.insert_burst, insert_tokens_ + static_cast<double>(now - tokens_at_) /
                                                             kSecond * options_.inserts_per_second);
    tokens_at_ = now;
    const bool full =
        queue_rows_ >= options_.max_insert_rows || queue_bytes_ >= options_.max_insert_bytes;
    if (insert_tokens_ >= 1 || full || stopping_) break;
    const double missing = (1 - insert_tokens_) / options_.inserts_per_second;
    work_.wait_for(lock, std::chrono::duration<double>(missing));
  }
  insert_tokens_ = std::max(0.0, insert_tokens_ - 1);
  std::vector<Queued> group;
  size_t bytes = 0, rows = 0;
  while (!queue_.empty() && (group.empty() || (bytes < options_.max_insert_bytes &&
                                               rows < options_.max_insert_rows))) {
    bytes += queue_.front().bytes;
    rows += queue_.front().batch.size();
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  queue_bytes_ -= bytes;
  queue_rows_ -= rows;
  rows_under_way_ += rows;
  return group;
}

void ClickhouseStore::SendLoop() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::vector<Queued> group = TakeGroupLocked(lock);
    if (group.empty()) return;
    lock.unlock();
    Status status = SendGroup(group);
    // The server took offence at what it was sent: the rest of the group must not suffer for one batch.
    if (!status.ok() && group.size() > 1 && clickhouse::ServerCode(status.error()) != 0) {
      Count("groups_taken_apart", 1);
      for (Queued& queued : group) {
        std::vector<Queued> one;
        one.push_back(std::move(queued));
        status = SendGroup(one);
        FinishGroup(one, status);
      }
    } else {
      FinishGroup(group, status);
    }
    lock.lock();
  }
}

void ClickhouseStore::FinishGroup(std::vector<Queued>& group, const Status& status) {
  size_t rows = 0;
  std::vector<std::shared_ptr<const EventBatch>> durable;
  for (Queued& queued : group) {
    rows += queued.batch.size();
    if (status.ok()) durable.push_back(std::make_shared<const EventBatch>(std::move(queued.batch)));
  }
  Announce(durable);
  for (Queued& queued : group) queued.done(status);
  const std::lock_guard lock(mutex_);
  if (!status.ok()) Count("insert_errors", 1);
  for (const Queued& queued : group) unfinished_.erase(queued.number);
  rows_under_way_ -= rows;
  idle_.notify_all();
}

Status ClickhouseStore::SendGroup(std::vector<Queued>& group) {
  std::vector<clickhouse::EncodedEvents> shards(client_.shards());
  const Nanos now = Now();
  for (Queued& queued : group) {
    if (queued.batch.received_ns == 0) queued.batch.received_ns = now;
    clickhouse::EncodeEvents(
        queued.batch, [this](TraceId id) { return placement_.Of(id); }, shards);
  }
  std::vector<std::future<Status>> others;
  for (size_t shard = 1; shard < shards.size(); ++shard) {
    if (shards[shard].rows == 0) continue;
    others.push_back(std::async(
        std::launch::async, [this, shard, &shards] { return SendToShard(shard, shards[shard]); }));
  }
  Status status = shards[0].rows == 0 ? Status() : SendToShard(0, shards[0]);
  for (auto& other : others) {
    Status sent = other.get();
    if (status.ok()) status = std::move(sent);
  }
  return status;
}

Status ClickhouseStore::SendToShard(size_t shard, const clickhouse::EncodedEvents& rows) {
  clickhouse::Settings settings;
  // Rows of many days at once are rare but right: an import of old data.
  if (features_.version.AtLeast(20, 1))
    settings.emplace_back("max_partitions_per_insert_block", "0");
  // An acknowledgement is of rows in a part; and groups are made here.
  if (features_.version.AtLeast(21, 12)) settings.emplace_back("async_insert", "0");
  const auto insert = [&](std::string_view what, const std::string& into, std::string_view bytes) {
    return client_.Insert(shard, what,
                          fmt::format("INSERT INTO {} FORMAT RowBinary", names_.Local(into)), bytes,
                          settings);
  };
  // A new day, a new process, a new name: seldom. They come first, so that no event names what is not there.
  std::map<clickhouse::SideTable, std::string> side;
  std::vector<std::tuple<size_t, uint16_t, uint64_t>> fresh;
  {
    const std::lock_guard lock(written_mutex_);
    if (written_.size() > kMostSideRowsRemembered) written_.clear();
    for (const clickhouse::SideRow& row : rows.side_rows) {
      const std::tuple<size_t, uint16_t, uint64_t> key{
          shard, row.day, HashBytes(row.row, static_cast<uint64_t>(row.table))};
      if (written_.count(key) != 0) continue;
      side[row.table] += row.row;
      fresh.push_back(key);
    }
  }
  for (const auto& [table, bytes] : side)
    WF_TRY(insert("inserting processes and names", clickhouse::InsertColumns(table), bytes));
  WF_TRY(insert("inserting events", clickhouse::EventInsertColumns(), rows.events));
  Count("inserts", 1);
  const std::lock_guard lock(written_mutex_);
  written_.insert(fresh.begin(), fresh.end());
  return {};
}

Status ClickhouseStore::Flush() {
  std::unique_lock lock(mutex_);
  const uint64_t until = queued_;
  idle_.wait(lock, [&] { return unfinished_.empty() || *unfinished_.begin() > until; });
  return {};
}

}  // namespace wf::store::clickhouse
