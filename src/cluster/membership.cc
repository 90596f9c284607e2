#include "cluster/membership.h"

#include <utility>

#include "json/json_reader.h"
#include "json/json_writer.h"
#include "log/log.h"

namespace wf::cluster {
namespace {

constexpr char kTenant[] = "default";
constexpr char kKind[] = "member";  // kind of document

}  // namespace

Membership::Membership(MembershipOptions options, pipeline::Counters& counters,
                       std::function<std::string()> tell, std::function<void(const Told&)> heard)
    : options_(std::move(options)),
      counters_(counters),
      tell_(std::move(tell)),
      heard_(std::move(heard)) {}

Membership::~Membership() { Stop(); }

void Membership::Start() {
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      if (const Status status = Round(); !status.ok()) {
        counters_.Add("cluster_rounds_failed", 1);
        if (log::LogOnce("membership"))
          log::Warn("no reports from the other processes: {}", status.error().message);
      }
      lock.lock();
      wake_.wait_for(lock, std::chrono::nanoseconds(options_.period), [&] { return stopping_; });
    }
  });
}

void Membership::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  // If the document does not exist or the store cannot be reached, the others notice that we are gone by our
  // silence.
  if (options_.store != nullptr)
    (void)options_.store->DeleteDocument(kTenant, kKind, options_.instance);
}

Status Membership::Round() {
  Told told;
  if (options_.store != nullptr) {
    const Nanos now = options_.clock();
    if (told_ == INT64_MIN || now - told_ >= options_.tell_period) {
      JsonWriter json;
      json.BeginObject().Field("role", RoleName(options_.role)).Field("round", ++number_);
      json.Key("told").Raw(tell_()).EndObject();
      WF_TRY(options_.store->PutDocument(kTenant, kKind, options_.instance, json.Take()));
      told_ = now;
    }
    WF_ASSIGN(const auto documents, options_.store->ReadDocuments(kTenant, kKind));
    std::vector<std::string> dead;
    {
      const std::lock_guard lock(mutex_);
      std::map<std::string, Seen> seen;
      JsonParser parser;
      for (const store::Document& document : documents) {
        if (document.name == options_.instance) continue;
        Seen& other = seen[document.name];
        if (const auto before = others_.find(document.name); before != others_.end())
          other = before->second;
        if (other.text != document.text) {
          other.text = document.text;
          other.changed = now;
          if (const auto parsed = parser.Parse(document.text); parsed.ok())
            if (const auto role = ParseRole(parsed->Get("role").String()); role.ok())
              other.role = *role;
        }
        if (now - other.changed <= options_.forget_after) {
          told.emplace(document.name, document.text);
        } else if (now - other.changed > options_.delete_after) {
          dead.push_back(document.name);
        }
      }
      others_ = std::move(seen);
    }
    for (const std::string& name : dead) {
      counters_.Add("cluster_members_lost", 1);
      // Another process may have deleted it.
      (void)options_.store->DeleteDocument(kTenant, kKind, name);
    }
  }
  if (heard_) heard_(told);
  return {};
}

bool Membership::LeadsTailers() const {
  const Nanos now = options_.clock();
  const std::lock_guard lock(mutex_);
  for (const auto& [name, other] : others_) {
    if (PartsOf(other.role).tails && name < options_.instance &&
        now - other.changed <= options_.forget_after)
      return false;
  }
  return true;
}

int64_t Membership::members() const {
  const Nanos now = options_.clock();
  const std::lock_guard lock(mutex_);
  int64_t n = 1;
  for (const auto& [name, other] : others_) n += now - other.changed <= options_.forget_after;
  return n;
}

}  // namespace wf::cluster
