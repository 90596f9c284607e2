#include "load.h"

#include <fmt/format.h>

#include <algorithm>

namespace wf {
namespace {

constexpr const char* kServiceNames[Load::kServices] = {
    "frontend", "cart",    "checkout", "payment",  "shipping",
    "catalog",  "pricing", "search",   "accounts", "mailer"};
constexpr const char* kVerbs[4] = {"GET", "POST", "PUT", "DELETE"};
constexpr const char* kKeys[8] = {
    "http.request.method",  "url.path",  "http.response.status_code", "user.id",
    "network.peer.address", "thread.id", "http.response.body.size",   "session.id"};

}  // namespace

TraceId Load::TraceIdAt(uint64_t seed, uint64_t n) {
  return {MixBits(seed * 0x9E3779B97F4A7C15ull + 2 * n + 1),
          MixBits(seed * 0xD1B54A32D192ED03ull + 2 * n + 2)};
}

std::string Load::UserId(uint64_t n) { return fmt::format("user-{}", 100'000 + n); }

Load::Load(const LoadOptions& options) : options_(options), state_(MixBits(options.seed)) {
  for (uint64_t i = 0; i < kPaths; ++i) {
    paths_.push_back(
        fmt::format("/api/v1/{}/{}", kServiceNames[i % kServices], MixBits(i) % 1'000'000));
  }
  senders_.resize(kServices * kInstances);
  for (size_t i = 0; i < senders_.size(); ++i) Reset(i);
}

uint64_t Load::Random() {
  state_ += 0x9E3779B97F4A7C15ull;
  return MixBits(state_);
}

void Load::Reset(size_t index) {
  Sender& s = senders_[index];
  EventBatch& b = s.batch;
  b = EventBatch();
  b.Reserve(options_.batch_rows);
  b.bytes.reserve(options_.batch_rows * 140);
  const auto service = index / kInstances, instance = index % kInstances;
  const auto text = [&](const char* key, const std::string& value) {
    PutVarint(b.strings.Intern(key), b.bytes);
    PutString(value, b.bytes);
  };
  const std::string host = fmt::format("node-{}", (service * 7 + instance) % 12);
  text("service.name", kServiceNames[service]);
  text("service.instance.id", fmt::format("{}-{}", kServiceNames[service], instance));
  text("host.name", host);
  PutVarint(b.strings.Intern("process.pid"), b.bytes);
  PutInt(static_cast<int64_t>(1000 + index), b.bytes);
  text("telemetry.sdk.language", "cpp");
  text("deployment.environment", "production");
  b.processes.push_back(
      {b.strings.Intern(kServiceNames[service]), b.strings.Intern(host), 0, b.ArenaSize()});
  b.scopes.push_back(
      {b.strings.Intern("load"), b.strings.Intern("1"), b.ArenaSize(), b.ArenaSize()});
  for (int i = 0; i < 4; ++i)
    s.name_codes[i] = b.strings.Intern(fmt::format("{} /{}", kVerbs[i], kServiceNames[service]));
  for (int i = 0; i < 8; ++i) s.key_codes[i] = b.strings.Intern(kKeys[i]);
}

void Load::AddSpan(TraceId trace, uint64_t id, uint64_t parent, int depth, int service, Nanos start,
                   Nanos duration) {
  const size_t index = static_cast<size_t>(service) * kInstances + Random() % kInstances;
  Sender& s = senders_[index];
  EventBatch& b = s.batch;
  b.AddRow();
  const uint64_t r = Random();
  const int verb = (r & 15) < 11 ? 0 : static_cast<int>(1 + r % 3);
  b.trace_hi.back() = trace.hi;
  b.trace_lo.back() = trace.lo;
  b.id1.back() = id;
  b.id2.back() = parent;
  b.start_ns.back() = start;
  b.end_ns.back() = start + duration;
  b.type.back() = EventType::kSpan;
  b.kind.back() = depth == 0 || depth % 2 == 0 ? SpanKind::kServer : SpanKind::kClient;
  const bool error = (r >> 8) % 64 == 0;
  b.status.back() = error ? SpanStatus::kError : SpanStatus::kUnset;
  b.parent_ref.back() = parent == 0 ? ParentRef::kNone : ParentRef::kChildOf;
  b.marks.back() = kHasEnd | kHasStart;
  b.flags.back() = 1;
  b.name.back() = s.name_codes[verb];
  const auto key = [&](int i) { PutVarint(s.key_codes[i], b.bytes); };
  key(0), PutString(kVerbs[verb], b.bytes);
  key(1), PutString(paths_[Random() % kPaths], b.bytes);
  key(2), PutInt(error ? 500 : 200 + static_cast<int64_t>((r >> 16) % 5), b.bytes);
  key(3), PutString(UserId(Random() % kUsers), b.bytes);
  key(4), PutString(fmt::format("10.0.{}.{}", (r >> 20) % 4, (r >> 24) % 250), b.bytes);
  key(5), PutInt(static_cast<int64_t>((r >> 32) % 16 + 1), b.bytes);
  key(6), PutInt(static_cast<int64_t>((r >> 36) % 65536), b.bytes);
  key(7), PutString(fmt::format("{:016x}", Random()), b.bytes);
  b.EndAttributes();
  ++made_;
  if (b.size() == options_.batch_rows) full_.push_back(index);
}

void Load::MakeTrace() {
  const TraceId trace = TraceIdAt(options_.seed, trace_++);
  const int spans = static_cast<int>(4 + Random() % 9);  // 4–12, 8 on average
  const Nanos step =
      static_cast<Nanos>(made_) * (kSecond / static_cast<Nanos>(options_.spans_per_second));
  const Nanos start = options_.first_start_ns + step;
  const Nanos whole =
      static_cast<Nanos>(1 + Random() % 200) * kMilli + static_cast<Nanos>(Random() % kMilli);
  uint64_t ids[12];
  for (int i = 0; i < spans && made_ < options_.spans; ++i) {
    ids[i] = Random() | 1;
    const int parent = i == 0 ? -1 : static_cast<int>(Random() % static_cast<uint64_t>(i));
    const Nanos offset =
        i == 0 ? 0 : static_cast<Nanos>(Random() % static_cast<uint64_t>(whole / 2));
    const Nanos length =
        i == 0 ? whole : static_cast<Nanos>(Random() % static_cast<uint64_t>(whole / 2));
    const int service = i == 0 ? 0 : static_cast<int>(Random() % kServices);
    AddSpan(trace, ids[i], parent < 0 ? 0 : ids[parent], i, service, start + offset, length);
  }
}

bool Load::Next(EventBatch& batch) {
  while (full_.empty() && made_ < options_.spans) MakeTrace();
  if (!full_.empty()) {
    const size_t index = full_.back();
    full_.pop_back();
    batch = std::move(senders_[index].batch);
    Reset(index);
    return true;
  }
  for (; draining_ < senders_.size(); ++draining_) {
    if (senders_[draining_].batch.empty()) continue;
    batch = std::move(senders_[draining_++].batch);
    return true;
  }
  return false;
}

}  // namespace wf
