#include "pipeline/bus_tailer.h"

#include <algorithm>
#include <filesystem>

#include "log/log.h"

namespace wf::pipeline {
namespace {

constexpr Nanos kReadPatience = 100 * kMilli;
// Before joining again after an error that reading cannot go on after.
constexpr Nanos kJoinPause = kSecond;

}  // namespace

// A piece on its way into the store.
struct BusTailer::Unstored {
  std::shared_ptr<Generation> generation;
  bus::BusPiece piece;
  std::shared_ptr<const EventBatch> events;  // the piece's, without rows that are refused
  ProgressLedger::Hold hold;
  TracePast past = TracePast::kUnknown;
  size_t bytes = 0;
};

// What the store's threads need when an append is done, which may be after this tailer's end.
struct BusTailer::Shared {
  std::mutex mutex;
  std::deque<std::pair<Nanos, Unstored>> again;          // failed: when to try again
  std::deque<std::pair<std::string, Unstored>> refused;  // for good, and why
  std::atomic<size_t> bytes{0};                          // under way, or to be tried again
  std::atomic<Nanos> last_read{0};
  std::atomic<int64_t> pieces{0}, events{0}, retries{0}, set_aside{0}, pauses{0}, generations{0},
      fenced{0};
};

// From a hand-over to the next.
struct BusTailer::Generation {
  struct Round {
    int64_t number;
    std::vector<bus::BusPosition> last;  // of each partition
  };
  explicit Generation(bus::BusNotes& notes) : delayed(notes) {}

  // Dies last: holds may live in everything below.
  ProgressLedger ledger;
  DelayedNotes delayed;
  std::mutex mutex;  // guards the rest
  std::unique_ptr<Tailer> tailer;
  bool lost = false;
  Nanos gained = 0;  // by the tailer's clock
  int64_t next_round = 1;
  std::deque<Round> rounds;         // not yet done
  std::map<int32_t, int64_t> done;  // not yet committed
};

// Rows, while we surely are who may write them.
class BusTailer::FencedRows : public RowSink {
 public:
  FencedRows(RowSink& rows, std::shared_ptr<Shared> shared, Nanos lease)
      : rows_(rows), shared_(std::move(shared)), lease_(lease) {}

  Status Write(const std::string& tenant, const std::string& dataset, const DatasetTable& rows,
               const std::vector<TraceId>& replaced, store::TimeRange time) override {
    if (MonotonicNow() - shared_->last_read > lease_) {
      ++shared_->fenced;
      return EnvironmentError(
          "the bus was not read for a long time; another tailer may own the traces now",
          "they will be delivered again");
    }
    return rows_.Write(tenant, dataset, rows, replaced, time);
  }

 private:
  RowSink& rows_;
  const std::shared_ptr<Shared> shared_;
  const Nanos lease_;
};

BusTailer::BusTailer(const Surroundings& surroundings, BusTailerOptions options)
    : around_(surroundings),
      options_(std::move(options)),
      shared_(std::make_shared<Shared>()),
      rows_(std::make_unique<FencedRows>(around_.rows, shared_, options_.lease)) {}

Result<std::unique_ptr<BusTailer>> BusTailer::Start(const Surroundings& surroundings,
                                                    BusTailerOptions options) {
  options.tailer.progress = TailerOptions::Progress::kCallers;
  options.tailer.cache.rooted_for = options.rooted;
  std::unique_ptr<BusTailer> tailer(new BusTailer(surroundings, std::move(options)));
  std::error_code ec;
  std::filesystem::create_directories(tailer->around_.folder, ec);
  if (ec) return EnvironmentError(tailer->around_.folder + ": " + ec.message(), "is it writable?");
  WF_ASSIGN(tailer->notes_, tailer->around_.bus.Notes(tailer->options_.group));
  WF_TRY(tailer->Join());
  if (tailer->options_.tailer.threads == TailerOptions::Threads::kNone) return tailer;
  tailer->reading_thread_ = std::thread([raw = tailer.get()] {
    for (;;) {
      {
        const std::lock_guard lock(raw->mutex_);
        if (raw->stopping_) return;
      }
      raw->ReadSome(kReadPatience);
    }
  });
  tailer->commit_thread_ = std::thread([raw = tailer.get()] {
    for (std::unique_lock lock(raw->mutex_); !raw->stopping_;) {
      raw->wake_.wait_for(lock, std::chrono::nanoseconds(raw->options_.commit_period));
      if (raw->stopping_) return;
      lock.unlock();
      raw->CommitDone();
      lock.lock();
    }
  });
  return tailer;
}

Status BusTailer::Join() {
  bus::BusHandover handover;
  handover.gained = [this](const std::vector<int32_t>& partitions) { Gain(partitions); };
  handover.lost = [this](const std::vector<int32_t>&) { Lose(); };
  WF_ASSIGN(reader_, around_.bus.Join(options_.group, std::move(handover)));
  flow_ = bus::BusReader::Flow::kOpen;
  shared_->last_read = MonotonicNow();
  return {};
}

std::shared_ptr<BusTailer::Generation> BusTailer::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

// --- Hand-over, on the reading thread.

void BusTailer::Gain(const std::vector<int32_t>& partitions) {
  Lose();  // nothing, unless a bus forgot to say so
  if (partitions.empty()) return;
  auto fresh = std::make_shared<Generation>(*notes_);
  if (const Status held = notes_->Hold(partitions); !held.ok())
    log::Error("delayed traces: {}; they wait for the next rebalance", held.error().message);
  auto tailer = Tailer::Start(
      {around_.store, around_.datasets, *rows_, around_.folder, &fresh->delayed}, options_.tailer);
  if (!tailer.ok()) {
    log::Error("the tailer cannot start: {}", tailer.error().message);
    return;
  }
  fresh->tailer = std::move(*tailer);
  fresh->gained = options_.tailer.clock();
  ++shared_->generations;
  const std::lock_guard lock(mutex_);
  generation_ = std::move(fresh);
}

void BusTailer::Lose() {
  std::shared_ptr<Generation> old;
  {
    const std::lock_guard lock(mutex_);
    old.swap(generation_);
  }
  if (old == nullptr) return;
  {
    const std::lock_guard lock(old->mutex);
    old->lost = true;
  }
  old->tailer->Abandon();
  (void)notes_->Hold({});
  // Its pieces need not be tried again: another reads them.
  std::deque<std::pair<Nanos, Unstored>> again;
  std::deque<std::pair<std::string, Unstored>> refused;
  {
    const std::lock_guard lock(shared_->mutex);
    again.swap(shared_->again);
    refused.swap(shared_->refused);
  }
  for (const auto& [when, piece] : again) shared_->bytes -= piece.bytes;
  for (const auto& [why, piece] : refused) shared_->bytes -= piece.bytes;
}

// --- Reading and appending

void BusTailer::ReadSome(Nanos patience) {
  AppendAgain();
  const std::shared_ptr<Generation> before = generation();
  size_t waiting = shared_->bytes;
  if (before != nullptr) waiting += before->tailer->waiting_bytes();
  const auto flow =
      waiting > options_.bytes ? bus::BusReader::Flow::kPaused : bus::BusReader::Flow::kOpen;
  if (flow != flow_) {
    shared_->pauses += flow == bus::BusReader::Flow::kPaused;
    flow_ = flow;
    reader_->SetFlow(flow);
  }
  auto pieces = reader_->Read(patience);
  shared_->last_read = MonotonicNow();
  if (!pieces.ok()) {
    log::Warn("{}; rejoining", pieces.error().message);
    return JoinAgain();
  }
  if (pieces->empty()) return;
  const std::shared_ptr<Generation> now = generation();
  if (now == nullptr) return JoinAgain();  // its tailer did not start: what was read comes again
  const bool young = options_.tailer.clock() - now->gained < options_.doubt;
  ProgressLedger::Hold hold;
  {
    const std::lock_guard lock(now->mutex);
    const int64_t number = now->next_round++;
    hold = now->ledger.Exactly(number);
    std::map<int32_t, int64_t> last;
    for (const bus::BusPiece& piece : *pieces) last[piece.at.partition] = piece.at.offset;
    Generation::Round round{number, {}};
    for (const auto& [partition, offset] : last) round.last.push_back({partition, offset});
    now->rounds.push_back(std::move(round));
  }
  for (bus::BusPiece& piece : *pieces) {
    ++shared_->pieces;
    shared_->events += static_cast<int64_t>(piece.events->size());
    if (piece.events->empty()) continue;
    Unstored one;
    one.generation = now;
    one.past = young || piece.before == bus::BusPiece::Before::kMaybeRead ? TracePast::kUnknown
                                                                          : TracePast::kPassedHere;
    one.events = piece.events;
    one.hold = hold;
    one.bytes = piece.events->MemoryBytes();
    one.piece = std::move(piece);
    shared_->bytes += one.bytes;
    Append(std::move(one));
  }
}

void BusTailer::JoinAgain() {
  const std::lock_guard no_commits(committing_);
  reader_.reset();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, std::chrono::nanoseconds(kJoinPause), [&] { return stopping_; });
      if (stopping_) return;
    }
    const Status joined = Join();
    if (joined.ok()) return;
    if (log::LogOnce("join: " + joined.error().message)) log::Error("{}", joined.error().message);
  }
}

void BusTailer::Append(Unstored piece) {
  EventBatch batch = *piece.events;
  if (piece.generation->tailer->DropRefused(batch) > 0)
    piece.events = std::make_shared<const EventBatch>(batch);
  const Nanos retry = options_.retry;
  around_.store.Append(std::move(batch), [shared = shared_, piece = std::move(piece),
                                          retry](const Status& status) mutable {
    const std::shared_ptr<Generation> generation = piece.generation;
    if (!status.ok()) {
      const std::lock_guard lock(shared->mutex);
      if (status.error().code == ErrorCode::kBadInput) {
        shared->refused.emplace_back(status.error().message, std::move(piece));
      } else {
        ++shared->retries;
        if (log::LogOnce("append: " + status.error().message))
          log::Warn("{}; will retry", status.error().message);
        shared->again.emplace_back(MonotonicNow() + retry, std::move(piece));
      }
      return;
    }
    shared->bytes -= piece.bytes;
    const std::lock_guard lock(generation->mutex);
    if (!generation->lost && !piece.events->empty())
      generation->tailer->Take(piece.events, std::move(piece.hold), piece.past);
  });
}

void BusTailer::AppendAgain() {
  std::deque<std::pair<std::string, Unstored>> refused;
  std::vector<Unstored> due;
  {
    const std::lock_guard lock(shared_->mutex);
    refused.swap(shared_->refused);
    for (const Nanos now = MonotonicNow();
         !shared_->again.empty() && shared_->again.front().first <= now;) {
      due.push_back(std::move(shared_->again.front().second));
      shared_->again.pop_front();
    }
  }
  for (Unstored& piece : due) {
    if (piece.generation != generation()) {  // lost while the append was under way
      shared_->bytes -= piece.bytes;
      continue;
    }
    Append(std::move(piece));
  }
  for (auto& [why, piece] : refused) {
    if (const Status kept = reader_->SetAside(piece.piece, why); !kept.ok()) {
      const std::lock_guard lock(shared_->mutex);
      shared_->refused.emplace_back(why, std::move(piece));
      continue;
    }
    log::Error("partition {}, offset {}: a piece is set aside: {}", piece.piece.at.partition,
               piece.piece.at.offset, why);
    ++shared_->set_aside;
    shared_->bytes -= piece.bytes;
  }
}

// --- Committing

void BusTailer::CommitDone() {
  const std::shared_ptr<Generation> now = generation();
  if (now == nullptr) return;
  std::vector<bus::BusPosition> done;
  {
    const std::lock_guard lock(now->mutex);
    if (now->lost) return;  // whose holds are let go without having been done
    const int64_t watermark = now->ledger.Watermark(now->next_round);
    for (; !now->rounds.empty() && now->rounds.front().number < watermark; now->rounds.pop_front())
      for (const bus::BusPosition& at : now->rounds.front().last)
        now->done[at.partition] = at.offset;
    for (const auto& [partition, offset] : now->done) done.push_back({partition, offset});
  }
  if (done.empty()) return;
  Status status;
  {
    const std::lock_guard lock(committing_);
    if (reader_ == nullptr) return;
    status = reader_->Commit(done);
  }
  if (!status.ok()) {
    if (log::LogOnce("commit: " + status.error().message))
      log::Warn("{}; will commit later", status.error().message);
    return;
  }
  const std::lock_guard lock(now->mutex);
  for (const bus::BusPosition& at : done)
    if (const auto kept = now->done.find(at.partition);
        kept != now->done.end() && kept->second == at.offset)
      now->done.erase(kept);
}

// --- The rest

void BusTailer::Step() {
  ReadSome(0);
  if (const auto now = generation(); now != nullptr) now->tailer->Step();
  CommitDone();
}

void BusTailer::ForgetReading() { shared_->last_read = MonotonicNow() - options_.lease - kSecond; }

void BusTailer::Stop(End end) {
  if (stopped_.exchange(true)) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (reading_thread_.joinable()) reading_thread_.join();
  if (commit_thread_.joinable()) commit_thread_.join();
  if (end == End::kFinished && reader_ != nullptr) {
    if (const auto now = generation(); now != nullptr) now->tailer->Stop();
    CommitDone();
  }
  reader_.reset();  // tells what is lost
  Lose();
  notes_.reset();
}

BusTailer::~BusTailer() { Stop(); }

BusTailerStatus BusTailer::ReadStatus() const {
  BusTailerStatus status;
  status.pieces = shared_->pieces;
  status.events = shared_->events;
  status.retries = shared_->retries;
  status.set_aside = shared_->set_aside;
  status.pauses = shared_->pauses;
  status.generations = shared_->generations;
  status.fenced = shared_->fenced;
  status.waiting_bytes = shared_->bytes;
  if (const auto now = generation(); now != nullptr) {
    status.tailer = now->tailer->ReadStatus();
    status.waiting_bytes += now->tailer->waiting_bytes();
    const std::lock_guard lock(now->mutex);
    status.rounds_open = static_cast<int64_t>(now->rounds.size());
  }
  return status;
}

}  // namespace wf::pipeline
