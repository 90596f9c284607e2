// What survives the process. The watermark, written every few seconds, says that everything received before it has its
// rows or stands in the delayed queue. A start looks through what was received since and puts those traces into the
// delayed queue; so it does when the inbox ran over. Doing so twice costs time and changes nothing.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <set>

#include "log/log.h"
#include "pipeline/delayed_log.h"
#include "pipeline/pipeline.h"
#include "store/directory.h"

namespace wf::pipeline {
namespace {

constexpr Nanos kSavePeriod = 5 * kSecond;
// The wall clock may have been set back a little between receipt and restart.
constexpr Nanos kClockSlack = 2 * kSecond;
constexpr Nanos kSetBackSpan = kHour;

std::string WatermarkPath(const std::string& folder) { return folder + "/watermark"; }

}  // namespace

Result<std::unique_ptr<Tailer>> Tailer::Start(const Surroundings& surroundings,
                                              TailerOptions options) {
  if (options.cache.triggers.empty() || options.cache.triggers.size() > kMaxTriggers) {
    return BadInput(
        fmt::format("{} triggers: give 1 to {}", options.cache.triggers.size(), kMaxTriggers),
        "leave some out");
  }
  std::unique_ptr<Tailer> tailer(new Tailer(surroundings, std::move(options), Now()));
  if (tailer->delayed_ == nullptr) {
    WF_ASSIGN(tailer->own_delayed_, DelayedLog::Open(tailer->folder_ + "/delayed"));
    tailer->delayed_ = tailer->own_delayed_.get();
  }
  WF_ASSIGN(tailer->blacklist_, Blacklist::Open(tailer->folder_ + "/blacklist"));
  if (tailer->options_.progress == TailerOptions::Progress::kOwn) WF_TRY(tailer->Recover());
  tailer->StartThreads();
  return tailer;
}

Status Tailer::Recover() {
  const std::string path = WatermarkPath(folder_);
  if (!std::filesystem::exists(path)) {  // a store that had no tailer yet: what it has is old
    saved_watermark_ = started_;
    return store::WriteWholeFile(path, fmt::format("{}\n", started_));
  }
  WF_ASSIGN(const std::string text, store::ReadWholeFile(path));
  Nanos watermark = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), watermark).ec != std::errc()) {
    return EnvironmentError(path + ": not a time",
                            "delete it; traces received before now then keep the rows they have");
  }
  saved_watermark_ = watermark;
  // A watermark of the future: the clock was ahead when it was written, and set back since. What was received between that
  // and the next writing, which lowers it, was no more than a second's; when that was is not known.
  Nanos from = std::min(watermark, started_) - kClockSlack;
  if (watermark > started_ + kClockSlack) from = started_ - kSetBackSpan;
  // Without an end: what was received while the clock was ahead bears times that are still to come. Of what comes from now
  // on, the little that this scan still meets is processed twice.
  unseen_.push_back({from, INT64_MAX, DelayReason::kRecovered, ledger_.At(from)});
  return {};
}

bool Tailer::LookThroughUnseen() {
  Unseen unseen;
  {
    const std::lock_guard lock(mutex_);
    if (unseen_.empty()) return false;
    unseen = unseen_.front();
  }
  store::ScanOptions options;
  options.received = {unseen.from, unseen.until};
  const auto scan = [&]() -> Status {
    WF_ASSIGN(const auto tenants, store_.ReadTenants());
    for (const store::TenantUse& use : tenants) {
      const std::string& tenant = use.tenant;
      WF_TRY(store_.Scan(tenant, options, [&](const EventBatch& batch) {
        std::set<TraceId> ids;
        for (size_t row = 0; row < batch.size(); ++row) ids.insert(batch.trace_id(row));
        for (const TraceId& id : ids) Delay({tenant, id}, "", unseen.job, unseen.hold);
        const std::lock_guard lock(mutex_);
        return !stopping_;
      }));
    }
    return {};
  };
  const Status scanned = scan();
  const Status synced = delayed_->Sync();
  const std::lock_guard lock(mutex_);
  if (stopping_ && !unseen_.empty()) return false;  // the next start looks again
  if (!scanned.ok() || !synced.ok()) {
    const Error& error = scanned.ok() ? synced.error() : scanned.error();
    if (log::LogOnce("unseen: " + error.message))
      log::Error("looking for unprocessed traces: {}", error.message);
    return false;
  }
  unseen_.erase(unseen_.begin());
  return true;
}

void Tailer::SaveProgress(Nanos wall_now) {
  if (options_.progress == TailerOptions::Progress::kCallers) return;
  const int64_t events = cache_.Counts().events;
  const Nanos watermark = ledger_.Watermark(wall_now);
  // Without new events the old watermark is as good: nothing was received since. One of the future is not: the clock was set
  // back, and what is received now lies before it.
  const bool set_back = watermark < saved_watermark_;
  if (events == saved_events_ || (!set_back && watermark - saved_watermark_ < kSavePeriod)) return;
  Status status = delayed_->Sync();
  if (status.ok())
    status = store::WriteWholeFile(WatermarkPath(folder_), fmt::format("{}\n", watermark));
  if (!status.ok()) {
    if (log::LogOnce("save progress")) log::Error("{}", status.error().message);
    return;
  }
  saved_watermark_ = watermark;
  if (watermark == wall_now) saved_events_ = events;  // all that came is done
}

void Tailer::EndThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_fetcher_.notify_all();
  wake_builder_.notify_all();
  wake_all_.notify_all();
  queues_.Stop();
  for (std::thread& thread : threads_) thread.join();
}

void Tailer::Stop() {
  if (stopped_.exchange(true)) return;
  const Nanos began = Now();  // what becomes durable from here on is the next start's
  EndThreads();
  if (delayed_ == nullptr || blacklist_ == nullptr) return;  // never started
  const Status written = writer_.WriteAll(clock());
  const Status synced = delayed_->Sync();
  for (const Status& status : {written, synced})
    if (!status.ok()) log::Error("the tailer stopped: {}", status.error().message);
  if (!synced.ok() || options_.progress == TailerOptions::Progress::kCallers) return;
  const Nanos watermark = ledger_.Watermark(began);
  (void)store::WriteWholeFile(WatermarkPath(folder_), fmt::format("{}\n", watermark));
}

void Tailer::Abandon() {
  if (stopped_.exchange(true)) return;
  EndThreads();
}

Tailer::~Tailer() { Stop(); }

}  // namespace wf::pipeline
