#include "cluster/readiness.h"

#include "json/json_writer.h"

namespace wf::cluster {
namespace {

constexpr Nanos kFresh = kSecond;

void Write(JsonWriter& json, std::string_view name, const Status& status) {
  json.BeginObject().Field("check", name).Key("ok").Bool(status.ok());
  if (!status.ok()) json.Field("message", status.error().message);
  json.EndObject();
}

}  // namespace

Readiness::Answer Readiness::Ask() {
  const std::lock_guard lock(mutex_);
  const bool draining = draining_;
  // A draining process says so at once, even while the store or the bus does not answer.
  if (const Nanos now = MonotonicNow(); !draining && (asked_ == 0 || now - asked_ >= kFresh)) {
    for (Check& check : checks_) check.last = check.check();
    asked_ = MonotonicNow();
  }
  Answer answer{!draining, {}};
  for (const Check& check : checks_) answer.ready = answer.ready && check.last.ok();
  JsonWriter json;
  json.BeginObject().Key("ready").Bool(answer.ready).Field("role", RoleName(role_));
  json.Key("checks").BeginArray();
  Write(json, "running", draining ? Status(EnvironmentError("the server is stopping")) : Status());
  for (const Check& check : checks_) Write(json, check.name, check.last);
  json.EndArray().EndObject();
  answer.json = json.Take() + "\n";
  return answer;
}

}  // namespace wf::cluster
