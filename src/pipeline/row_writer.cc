#include "pipeline/row_writer.h"

#include <algorithm>

namespace wf::pipeline {
namespace {

// Offsets of clocks are solved again and again, and move a trace's start: its earlier rows may lie this far off.
constexpr Nanos kClockMoves = 10 * kMinute;

void MoveRows(DatasetTable from, DatasetTable& to) {
  const auto append = [](auto& source, auto& target) {
    target.insert(target.end(), std::make_move_iterator(source.begin()),
                  std::make_move_iterator(source.end()));
  };
  for (size_t c = 0; c < to.columns.size(); ++c) {
    append(from.columns[c].valid, to.columns[c].valid);
    append(from.columns[c].numbers, to.columns[c].numbers);
    append(from.columns[c].doubles, to.columns[c].doubles);
    append(from.columns[c].texts, to.columns[c].texts);
  }
}

bool SameColumns(const DatasetTable& a, const DatasetTable& b) {
  return std::equal(
      a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
      [](const TableColumn& x, const TableColumn& y) { return x.definition == y.definition; });
}

}  // namespace

std::shared_ptr<RowWriter::Dataset> RowWriter::Find(const Key& key) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Dataset>& at = datasets_[key];
  if (at == nullptr) at = std::make_shared<Dataset>();
  return at;
}

void RowWriter::Add(const std::string& dataset, const BuiltTrace& trace, DatasetTable rows,
                    Nanos now) {
  if (rows.rows() == 0 && trace.earlier == EarlierRows::kNone) return;
  const Key key(trace.key.tenant, dataset);
  const std::shared_ptr<Dataset> found = Find(key);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      Gathered& g = found->gathered;
      const bool fits =
          g.traces.empty() || (g.rows.rows() < kGatherRows && g.traces.count(trace.key.id) == 0 &&
                               SameColumns(g.rows, rows));
      if (fits) {
        if (g.traces.empty()) g.since = now;
        g.traces.insert(trace.key.id);
        if (trace.earlier == EarlierRows::kReplace) {
          g.replaced.push_back(trace.key.id);
          // Where the trace may have started for those who had fewer of its events.
          g.time.from = std::min(g.time.from, SaturatingSub(trace.trace.start_ns, kClockMoves));
          g.time.until = std::max(g.time.until, SaturatingAdd(trace.trace.end_ns, kClockMoves));
        }
        if (trace.hold != nullptr && (g.holds.empty() || g.holds.back() != trace.hold))
          g.holds.push_back(trace.hold);
        counts_.gathered += rows.rows();
        if (g.rows.columns.empty()) {
          g.rows = std::move(rows);
        } else {
          MoveRows(std::move(rows), g.rows);
        }
        return;
      }
    }
    (void)WriteOne(key, *found, now);  // a failure is told to on_failure_
  }
}

Status RowWriter::WriteOne(const Key& key, Dataset& dataset, Nanos now) {
  const std::lock_guard order(dataset.writing);
  Gathered gathered;
  {
    const std::lock_guard lock(mutex_);
    gathered = std::exchange(dataset.gathered, Gathered());
  }
  if (gathered.traces.empty()) return {};
  const store::TimeRange time = gathered.replaced.empty() ? store::TimeRange() : gathered.time;
  const Status status = sink_.Write(key.first, key.second, gathered.rows, gathered.replaced, time);
  last_lag_.store(now - gathered.since, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    counts_.gathered -= gathered.rows.rows();
    ++counts_.writes;
    if (status.ok()) {
      counts_.rows += static_cast<int64_t>(gathered.rows.rows());
    } else {
      ++counts_.failures;
    }
  }
  if (!status.ok()) {
    on_failure_(key.first, key.second, {gathered.traces.begin(), gathered.traces.end()},
                gathered.holds, status.error());
  }
  return status;
}

bool RowWriter::Write(What what, Nanos now) {
  std::vector<std::pair<Key, std::shared_ptr<Dataset>>> due;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, dataset] : datasets_) {
      const Gathered& g = dataset->gathered;
      if (g.traces.empty()) continue;
      if (what == What::kAll || now - g.since >= kGatherTime || g.rows.rows() >= kGatherRows)
        due.emplace_back(key, dataset);
    }
  }
  for (const auto& [key, dataset] : due) (void)WriteOne(key, *dataset, now);
  return !due.empty();
}

Status RowWriter::WriteAll(Nanos now) {
  std::vector<std::pair<Key, std::shared_ptr<Dataset>>> all;
  {
    const std::lock_guard lock(mutex_);
    all.assign(datasets_.begin(), datasets_.end());
  }
  Status first;
  for (const auto& [key, dataset] : all) {  // also waits for writes that are under way
    if (Status status = WriteOne(key, *dataset, now); !status.ok() && first.ok())
      first = std::move(status);
  }
  return first;
}

WriterCounts RowWriter::Counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace wf::pipeline
