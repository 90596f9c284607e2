#include "server/housekeeping.h"

#include "answer/trace/clock_answer.h"
#include "live/query_dataset.h"
#include "log/log.h"
#include "pipeline/dataset_catalog.h"

namespace wf::server {
namespace {

constexpr Nanos kPeriod = 2 * kSecond;
// Offsets move slowly, and reading the exchanges of what is still in memory costs up to 0.2 s under full load.
constexpr Nanos kClockPeriod = 15 * kSecond;
// Rows of datasets age by days.
constexpr Nanos kDatasetPeriod = 10 * kMinute;

}  // namespace

Housekeeping::Housekeeping(HousekeepingContext context)
    : context_(std::move(context)),
      clocks_refreshed_(MonotonicNow()),
      datasets_retained_(MonotonicNow()),
      thread_([this] { Run(); }) {}

Housekeeping::~Housekeeping() { Stop(); }

void Housekeeping::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Housekeeping::Run() {
  std::unique_lock lock(mutex_);
  do {  // retention first of all: it also tells the store how finely to cut what comes in
    lock.unlock();
    Round();
    lock.lock();
  } while (!wake_.wait_for(lock, std::chrono::nanoseconds(kPeriod), [&] { return stopping_; }));
}

void Housekeeping::Note(const char* what, const Status& status) {
  if (status.ok()) return;
  context_.counters.Add(std::string(what) + "_failed", 1);
  log::Error("{}: {}", what, status.error().message);
}

void Housekeeping::Round() {
  store::Store& store = context_.store;
  const bool mine = !context_.mine || context_.mine();
  // Once also without limits: a database that was told some must hear that they are gone.
  if (mine && (context_.retention_age_ns || context_.retention_bytes || !retention_told_)) {
    const Status retained = store.Retain({context_.retention_age_ns, context_.retention_bytes});
    retention_told_ = retained.ok();
    Note("retention", retained);
  }
  // Files are this process's own: of the datasets whose rows it has written.
  Note("dataset_files", context_.datasets.WriteFiles(pipeline::StoreDatasets::When::kDue));
  if (!mine) return;
  // By the monotonic clock: a jump of the wall clock must not put it off.
  const Nanos now = MonotonicNow(), wall = Now();
  const bool clocks = now - clocks_refreshed_ >= kClockPeriod;
  const bool datasets = now - datasets_retained_ >= kDatasetPeriod;
  if (!clocks && !datasets) return;
  if (clocks) clocks_refreshed_ = now;
  if (datasets) datasets_retained_ = now;
  const auto tenants = store.ReadTenants();
  if (!tenants.ok()) return Note("tenants", tenants.error());
  for (const store::TenantUse& use : *tenants) {
    const std::string& tenant = use.tenant;
    if (clocks)
      Note("clock_refresh",
           pipeline::RefreshClocks(store, tenant, {wall - 2 * kClockWindow, wall}));
    if (!datasets) continue;
    Note("dataset_retention", pipeline::RetainDatasets(store, tenant));
    Note("dataset_retention", live::RetainQueryDatasets(store, tenant, context_.retention_age_ns));
  }
}

}  // namespace wf::server
