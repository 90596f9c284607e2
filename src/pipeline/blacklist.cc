#include "pipeline/blacklist.h"

#include <filesystem>

#include "store/directory.h"

namespace wf::pipeline {

Result<std::unique_ptr<Blacklist>> Blacklist::Open(std::string path) {
  std::unique_ptr<Blacklist> list(new Blacklist(std::move(path)));
  if (list->path_.empty() || !std::filesystem::exists(list->path_)) return list;
  WF_ASSIGN(const std::string text, store::ReadWholeFile(list->path_));
  std::string_view rest = text;
  while (!rest.empty()) {  // "TRACE TENANT\n"
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t space = line.find(' ');
    const auto id = ParseTraceId(line.substr(0, space));
    if (id.ok() && space != std::string_view::npos)
      list->keys_.insert({std::string(line.substr(space + 1)), *id});
  }
  list->size_ = list->keys_.size();
  return list;
}

Status Blacklist::Add(const TraceKey& key) {
  const std::unique_lock lock(mutex_);
  if (keys_.size() >= kMost || !keys_.insert(key).second) return {};
  size_.store(keys_.size(), std::memory_order_relaxed);
  if (path_.empty()) return {};
  std::string text;
  for (const TraceKey& listed : keys_) text += ToHex(listed.id) + " " + listed.tenant + "\n";
  return store::WriteWholeFile(path_, text);
}

bool Blacklist::Lists(const TraceKey& key) const {
  if (size() == 0) return false;
  const std::shared_lock lock(mutex_);
  return keys_.count(key) != 0;
}

int64_t Blacklist::Filter(EventBatch& batch) {
  if (size() == 0) return 0;
  std::vector<bool> listed(batch.size());
  int64_t count = 0;
  {
    const std::shared_lock lock(mutex_);
    for (size_t row = 0; row < batch.size(); ++row) {
      listed[row] = keys_.count({batch.tenant, batch.trace_id(row)}) != 0;
      count += listed[row];
    }
  }
  if (count == 0) return 0;
  EventBatch kept;
  kept.tenant = batch.tenant;
  kept.received_ns = batch.received_ns;
  RowCopier copier(batch, kept);
  for (size_t row = 0; row < batch.size(); ++row)
    if (!listed[row]) copier.Copy(row);
  batch = std::move(kept);
  CountDropped(count);
  return count;
}

}  // namespace wf::pipeline
