#include "wherefore/tracer.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "client/tracer/tracer_core.h"

namespace wherefore {
namespace {

bool Disabled() {
  const char* value = std::getenv("WHEREFORE_DISABLED");
  const std::string text = value != nullptr ? value : "";
  return !text.empty() && text != "0" && text != "false";
}

}  // namespace

namespace client {
namespace {
std::atomic<Tracer*> default_tracer{nullptr};
}
Tracer* DefaultTracer() {
  if (Tracer* tracer = default_tracer.load(std::memory_order_acquire)) return tracer;
  static auto* none = new Tracer(DisabledTag{});
  return none;
}
void SetDefaultTracer(Tracer* tracer) { default_tracer.store(tracer, std::memory_order_release); }
void ClearDefaultTracer(Tracer* tracer) { default_tracer.compare_exchange_strong(tracer, nullptr); }
}  // namespace client

Tracer::Tracer(client::DisabledTag) : shutdown_deadline_(0) {}

Tracer::Tracer(const TracerOptions& options) : shutdown_deadline_(options.shutdown_deadline) {
  if (Disabled()) return;
  core_ = client::TracerCore::Start(options);
  enabled_ = true;
  client::SetDefaultTracer(this);
}

Tracer::~Tracer() {
  client::ClearDefaultTracer(this);
  Shutdown(shutdown_deadline_);
}

TracerStats Tracer::stats() const { return core_ ? core_->stats() : TracerStats(); }

std::string Tracer::LastError() const { return core_ ? core_->LastError() : std::string(); }

bool Tracer::Flush(std::chrono::milliseconds deadline) {
  return core_ == nullptr || core_->Flush(deadline);
}

void Tracer::Shutdown(std::chrono::milliseconds deadline) {
  if (core_ != nullptr) core_->Shutdown(deadline);
}

bool Tracer::AwaitPolicies(std::chrono::milliseconds deadline) {
  return core_ != nullptr && core_->AwaitPolicies(deadline);
}

std::string Tracer::Policies() const {
  return core_ ? core_->sampling().installed() : std::string();
}

bool Tracer::SetPolicies(std::string_view json) {
  return core_ != nullptr && core_->sampling().Install(json);
}

}  // namespace wherefore
