#include "pipeline/delayed_log.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "store/directory.h"
#include "store/log_reader.h"

namespace wf::pipeline {
namespace {

// A log is closed when it has this many bytes: about 25,000 items, which are read at once.
constexpr uint64_t kLogBytes = 1u << 20;

}  // namespace

Result<std::unique_ptr<DelayedLog>> DelayedLog::Open(std::string folder) {
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  if (ec) return EnvironmentError(folder + ": " + ec.message(), "is the store's disk writable?");
  std::unique_ptr<DelayedLog> queue(new DelayedLog(std::move(folder)));
  uint64_t first = 0;
  size_t popped = 0;
  if (const auto text = store::ReadWholeFile(queue->folder_ + "/position"); text.ok()) {
    unsigned long long number = 0, items = 0;
    if (std::sscanf(text->c_str(), "%llu %llu", &number, &items) == 2) {
      first = number;
      popped = items;
    }
  }
  for (const uint64_t number : store::NumberedFiles(queue->folder_, ".wal")) {
    queue->next_number_ = number + 1;
    if (number < first) {  // popped whole, and not yet deleted
      std::filesystem::remove(queue->folder_ + "/" + store::LogFileName(number), ec);
      continue;
    }
    WF_ASSIGN(const auto items, queue->ReadItems(number));
    const size_t done = number == first ? std::min(popped, items.size()) : 0;
    if (queue->logs_.empty()) queue->popped_ = done;
    queue->logs_.push_back({number, items.size() - done});
    queue->on_disk_ += items.size() - done;
  }
  queue->next_number_ = std::max(queue->next_number_, first + 1);
  return queue;
}

Result<std::vector<DelayedTrace>> DelayedLog::ReadItems(uint64_t number) const {
  std::vector<DelayedTrace> items;
  const std::string path = folder_ + "/" + store::LogFileName(number);
  WF_TRY(store::ReadLog(path, number, [&](std::string_view payload) -> Status {
    DelayedTraceReader reader(payload);
    for (DelayedTrace item; reader.Next(item);) items.push_back(item);
    if (reader.bad()) {
      return EnvironmentError(path + ": an item of the delayed queue is damaged",
                              "delete the file: its traces keep the rows they have");
    }
    return {};
  }));
  return items;
}

void DelayedLog::Push(DelayedTrace trace, ProgressLedger::Hold hold) {
  const std::lock_guard lock(mutex_);
  ++pushed_[trace.reason];
  unsynced_.push_back(std::move(trace));
  if (hold != nullptr && (holds_.empty() || holds_.back() != hold))
    holds_.push_back(std::move(hold));
}

void DelayedLog::PushAgain(DelayedTrace trace) {
  const std::lock_guard lock(mutex_);
  unsynced_.push_back(std::move(trace));
}

Status DelayedLog::Sync() {
  const std::lock_guard lock(mutex_);
  if (unsynced_.empty()) return {};
  if (writer_ == nullptr || writer_->size() > kLogBytes) {
    const uint64_t number = next_number_++;
    writer_.reset();
    WF_ASSIGN(writer_, store::LogWriter::Create(folder_, number, store::SyncMode::kSync));
    logs_.push_back({number, 0});
  }
  writer_->BeginRecord();
  for (const DelayedTrace& trace : unsynced_) PutDelayedTrace(trace, writer_->buffer());
  writer_->EndRecord();
  if (const Status status = writer_->Commit(); !status.ok()) {
    writer_.reset();  // its end is unknown: the items stay in memory and go into a new file
    return status;
  }
  logs_.back().items += unsynced_.size();
  on_disk_ += unsynced_.size();
  if (head_number_ == logs_.back().number)
    head_.insert(head_.end(), unsynced_.begin(), unsynced_.end());
  unsynced_.clear();
  holds_.clear();
  return {};
}

Status DelayedLog::LoadHead() {
  while (!logs_.empty() && logs_.front().items == 0) {
    const bool writing = writer_ != nullptr && writer_->number() == logs_.front().number;
    if (writing && writer_->size() <= kLogBytes) return {};  // more will come into it
    if (writing) writer_.reset();
    const uint64_t number = logs_.front().number;
    logs_.pop_front();
    popped_ = 0;
    head_.clear();
    head_number_ = 0;
    WF_TRY(WritePosition());
    std::error_code ec;
    std::filesystem::remove(folder_ + "/" + store::LogFileName(number), ec);
  }
  if (logs_.empty() || head_number_ == logs_.front().number) return {};
  WF_ASSIGN(head_, ReadItems(logs_.front().number));
  head_number_ = logs_.front().number;
  return {};
}

Result<std::vector<DelayedTrace>> DelayedLog::Peek(size_t limit) {
  const std::lock_guard lock(mutex_);
  WF_TRY(LoadHead());
  if (logs_.empty()) return std::vector<DelayedTrace>();
  const size_t count = std::min(limit, logs_.front().items);
  return std::vector<DelayedTrace>(head_.begin() + static_cast<ptrdiff_t>(popped_),
                                   head_.begin() + static_cast<ptrdiff_t>(popped_ + count));
}

Status DelayedLog::Pop(size_t count) {
  const std::lock_guard lock(mutex_);
  if (logs_.empty() || count == 0) return {};
  popped_ += count;
  logs_.front().items -= count;
  on_disk_ -= count;
  WF_TRY(WritePosition());
  return LoadHead();
}

Status DelayedLog::WritePosition() {
  return store::WriteWholeFile(
      folder_ + "/position",
      fmt::format("{} {}\n", logs_.empty() ? next_number_ : logs_.front().number, popped_));
}

size_t DelayedLog::size() const {
  const std::lock_guard lock(mutex_);
  return on_disk_ + unsynced_.size();
}

size_t DelayedLog::unsynced() const {
  const std::lock_guard lock(mutex_);
  return unsynced_.size();
}

DelayCounts DelayedLog::pushed() const {
  const std::lock_guard lock(mutex_);
  return pushed_;
}

Nanos DelayedLog::oldest_ns() const {
  const std::lock_guard lock(mutex_);
  if (popped_ < head_.size()) return head_[popped_].queued_ns;
  return unsynced_.empty() ? 0 : unsynced_.front().queued_ns;
}

}  // namespace wf::pipeline
