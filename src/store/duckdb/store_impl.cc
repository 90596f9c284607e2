#include "store/duckdb/store_impl.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "store/log_reader.h"

namespace wf::store::duckdb {
namespace {

int64_t ThreadCpu() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

// Dictionaries of segments lately read: a search over 10 million spans uses about 40, of 50–200 kB.
constexpr size_t kDictionaryCacheBytes = 24u << 20;

}  // namespace

Result<std::unique_ptr<Store>> OpenDuckdbStore(const std::string& directory,
                                               const DuckdbStoreOptions& options) {
  return DuckdbStore::Open(directory, options);
}

DuckdbStore::DuckdbStore(std::string directory, const DuckdbStoreOptions& options,
                         DirectoryLock lock)
    : directory_(std::move(directory)),
      options_(options),
      lock_(std::move(lock)),
      pending_bytes_limit_(options.max_pending_bytes),
      datasets_(directory_ + "/datasets", directory_ + "/tmp") {}

Result<std::unique_ptr<Store>> DuckdbStore::Open(const std::string& directory,
                                                 const DuckdbStoreOptions& options) {
  WF_TRY(PrepareDirectory(directory));
  WF_ASSIGN(DirectoryLock lock, DirectoryLock::Take(directory));
  std::unique_ptr<DuckdbStore> store(new DuckdbStore(directory, options, std::move(lock)));
  WF_TRY(store->Start());
  return std::unique_ptr<Store>(std::move(store));
}

Status DuckdbStore::Start() {
  duck::DatabaseOptions database;
  database.memory_limit = options_.memory_limit;
  database.threads = options_.threads;
  database.temp_directory = Folder("tmp");
  WF_ASSIGN(database_, duck::Database::Open(database));
  WF_TRY(OpenParts());
  WF_TRY(Replay());
  log_thread_ = std::thread([this] { LogLoop(); });
  flush_thread_ = std::thread([this] { FlushLoop(); });
  return {};
}

DuckdbStore::~DuckdbStore() {
  if (log_thread_.joinable()) {
    bool many;
    {
      std::lock_guard lock(mutex_);
      many = filling_->rows + (writing_ ? writing_->rows : 0) > options_.keep_in_log ||
             filling_->logs.size() > 16;
    }
    // What stays in the log is replayed by the next opener; a failed flush leaves it there too.
    if (many) (void)Flush();
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    sealed_.notify_all();
    idle_.notify_all();
    log_thread_.join();
    flush_thread_.join();
  }
  segments_.clear();
  active_.reset();
  connections_.clear();
}

Status DuckdbStore::OpenParts() {
  for (uint64_t number : NumberedFiles(Folder("parts"), ".duckdb")) {
    WF_ASSIGN(auto part, Part::Open(*database_, Folder("parts"), number, segments_, applied_log_));
    next_part_ = number + 1;
    if (part == nullptr) continue;
    active_ = part;
  }
  for (const auto& segment : segments_) next_segment_ = std::max(next_segment_, segment->id + 1);
  for (const auto& segment : segments_) active_segments_ += segment->part == active_ ? 1 : 0;
  return {};
}

// Batches that were acknowledged but not yet written into a part when the last process ended.
Status DuckdbStore::Replay() {
  const std::string folder = Folder("wal");
  next_log_ = applied_log_ + 1;
  for (uint64_t number : NumberedFiles(folder, ".wal")) {
    const std::string path = folder + "/" + LogFileName(number);
    next_log_ = std::max(next_log_, number + 1);
    if (number <= applied_log_) {  // committed, but the process ended before it deleted the file
      unlink(path.c_str());
      continue;
    }
    auto read = ReadLog(path, number, [&](std::string_view payload) -> Status {
      WF_ASSIGN(EventBatch batch, DeserializeBatch(payload));
      filling_->rows += batch.size();
      filling_->bytes += batch.MemoryBytes();
      filling_->batches.push_back(std::make_shared<const EventBatch>(std::move(batch)));
      return {};
    });
    if (!read.ok()) return read.error();
    if (read->torn_bytes != 0) Count("log_torn_bytes", static_cast<int64_t>(read->torn_bytes));
    Count("log_batches_replayed", static_cast<int64_t>(read->records));
    filling_->logs.push_back(number);
    if (IsFull(*filling_)) {
      WF_TRY(WritePending(*filling_));
      filling_ = std::make_shared<Pending>();
    }
  }
  filling_->since = MonotonicNow();
  return {};
}

DuckdbStore::Lease::~Lease() {
  if (connection_ == nullptr) return;
  std::lock_guard lock(store_.connections_mutex_);
  store_.connections_.push_back(std::move(connection_));
}

Result<DuckdbStore::Lease> DuckdbStore::Borrow() {
  {
    std::lock_guard lock(connections_mutex_);
    if (!connections_.empty()) {
      Lease lease(*this, std::move(connections_.back()));
      connections_.pop_back();
      return lease;
    }
  }
  WF_ASSIGN(auto connection, database_->Connect());
  return Lease(*this, std::move(connection));
}

DuckdbStore::Snapshot DuckdbStore::Look(const std::string& tenant) {
  Snapshot out;
  std::lock_guard lock(mutex_);
  const auto take = [&](const Pending& pending) {
    for (const auto& batch : pending.batches) {
      if (batch->tenant == tenant) out.pending.push_back(batch);
    }
  };
  if (writing_ != nullptr) take(*writing_);
  take(*filling_);
  for (const auto& segment : segments_) {
    if (segment->tenant == tenant) out.segments.push_back(segment);
  }
  return out;
}

Result<std::shared_ptr<const SegmentDictionary>> DuckdbStore::DictionaryOf(const Segment& segment) {
  {
    std::lock_guard lock(dictionary_mutex_);
    for (auto it = dictionaries_.begin(); it != dictionaries_.end(); ++it) {
      if (it->segment != segment.id) continue;
      dictionaries_.splice(dictionaries_.begin(), dictionaries_, it);
      return it->dictionary;
    }
  }
  WF_ASSIGN(auto connection, Borrow());
  const std::string& schema = segment.part->schema();
  auto dictionary = std::make_shared<SegmentDictionary>();
  IndexFile& index = segment.part->index();
  WF_ASSIGN(const IndexFile::Place place, index.Find(segment.index_at));
  WF_ASSIGN(const std::string stored,
            index.Read(place.dictionary, place.attribute_filter - place.dictionary));
  WF_ASSIGN(*dictionary, DeserializeDictionary(stored));
  WF_ASSIGN(auto rows, connection->Query(fmt::format(
                           "SELECT name, type, kind, status, parent_ref, marks, source, flags, "
                           "process, scope, layout FROM {}.shapes WHERE segment = {} "
                           "ORDER BY shape",
                           schema, segment.id)));
  while (duck::Chunk chunk = rows.Next()) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      Shape shape;
      shape.name = dictionary->base.strings.Intern(chunk.Text(0, i));
      uint8_t* small[] = {&shape.type,       &shape.kind,  &shape.status,
                          &shape.parent_ref, &shape.marks, &shape.source};
      for (size_t j = 0; j < 6; ++j) *small[j] = chunk.Column<uint8_t>(1 + j)[i];
      uint32_t* numbers[] = {&shape.flags, &shape.process, &shape.scope, &shape.layout};
      for (size_t j = 0; j < 4; ++j) *numbers[j] = chunk.Column<uint32_t>(7 + j)[i];
      if (shape.process >= dictionary->base.processes.size() ||
          shape.scope >= dictionary->base.scopes.size() ||
          shape.layout >= dictionary->layouts.size()) {
        return EnvironmentError(fmt::format("store: {}: segment {} has a malformed shape",
                                            segment.part->path(), segment.id),
                                "the part file is damaged; restore the store from a copy");
      }
      dictionary->shapes.push_back(shape);
    }
  }
  std::lock_guard lock(dictionary_mutex_);
  const size_t bytes = dictionary->MemoryBytes();
  dictionaries_.push_front({segment.id, dictionary, bytes});
  dictionary_bytes_ += bytes;
  while (dictionary_bytes_ > kDictionaryCacheBytes && dictionaries_.size() > 1) {
    dictionary_bytes_ -= dictionaries_.back().bytes;
    dictionaries_.pop_back();
  }
  return std::shared_ptr<const SegmentDictionary>(dictionary);
}

DuckdbStore::StageCpu::StageCpu(DuckdbStore& store, const char* stage)
    : store_(store), stage_(stage), before_(ThreadCpu()) {}
DuckdbStore::StageCpu::~StageCpu() {
  store_.Count(std::string("cpu_ns_") + stage_, ThreadCpu() - before_);
}

}  // namespace wf::store::duckdb
