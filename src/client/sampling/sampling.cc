#include "client/sampling/sampling.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "client/runtime/block_id.h"
#include "client/runtime/json_text.h"
#include "client/runtime/tick_clock.h"

namespace wherefore::client {
namespace {

// A label's value as one would write it in a policy.
std::string TextOf(const LabelValue& value) {
  switch (value.type()) {
    case LabelValue::Type::kString:
      return std::string(value.text());
    case LabelValue::Type::kBool:
      return value.integer() != 0 ? "true" : "false";
    case LabelValue::Type::kInt:
      return std::to_string(value.integer());
    case LabelValue::Type::kDouble: {
      char text[32];
      std::snprintf(text, sizeof text, "%g", value.real());
      return text;
    }
  }
  return {};
}

std::string ScalarText(const JsonNode& node) {
  if (node.type == JsonNode::Type::kBool) return node.boolean ? "true" : "false";
  return node.text;
}

// What the server checked is checked again: it may be newer than we are.
std::optional<Policy> ReadPolicy(const JsonNode& json) {
  Policy policy;
  policy.name = json.Get("policy").text;
  policy.owner = json.Get("owner").text;
  if (policy.name.empty() || policy.owner.empty()) return std::nullopt;
  const JsonNode &probability = json.Get("probability"), &rate = json.Get("rate");
  if (probability.type == JsonNode::Type::kNumber) policy.probability = probability.number;
  if (rate.type == JsonNode::Type::kNumber) {
    if (rate.number <= 0) return std::nullopt;
    policy.bucket =
        std::make_shared<TokenBucket>(TokenRate{rate.number, std::max(1.0, rate.number)});
  }
  if (policy.probability.has_value() == (policy.bucket != nullptr)) return std::nullopt;
  for (const auto& [property, wanted] : json.Get("where").children) {
    Restraint restraint{property, {}};
    if (wanted.type == JsonNode::Type::kArray) {
      for (const auto& [unused, value] : wanted.children)
        restraint.values.push_back(ScalarText(value));
    } else {
      restraint.values.push_back(ScalarText(wanted));
    }
    policy.restraints.push_back(std::move(restraint));
  }
  policy.reached = json.Get("reached").text;
  if (json.Get("expires_ns").type == JsonNode::Type::kNumber) {
    policy.expires_ns = std::strtoll(json.Get("expires_ns").text.c_str(), nullptr, 10);
  }
  const JsonNode& detail = json.Get("detail");
  if (detail.type == JsonNode::Type::kNumber) {
    if (detail.number < 0 || detail.number > 3) return std::nullopt;
    policy.detail = static_cast<uint8_t>(detail.number);
  }
  return policy;
}

bool OnceIn(double probability) {
  return static_cast<double>(NewBlockId() >> 11) * 0x1p-53 < probability;
}

}  // namespace

bool GlobMatches(std::string_view glob, std::string_view text) {
  // The last '*' takes more when what follows it does not match: linear in glob times text at worst.
  size_t g = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      taken = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

Sampling::Sampling(const TracerOptions& options, std::string service, std::string host)
    : owner_rate_(options.owner_rate),
      default_detail_(static_cast<uint8_t>(options.detail)),
      service_(std::move(service)),
      host_(std::move(host)),
      global_(options.global_rate),
      set_(std::make_shared<const PolicySet>()),
      demand_ns_(SteadyNs(SteadyClock::now())) {}

bool Sampling::PropertyHolds(const Restraint& restraint, const StartRequest& request) const {
  std::string value;
  bool known = true;
  if (restraint.property == "name") {
    value = request.name;
  } else if (restraint.property == "service") {
    value = service_;
  } else if (restraint.property == "host") {
    value = host_;
  } else {
    known = false;
    for (size_t i = 0; request.properties != nullptr && i < request.properties->size(); ++i) {
      const Label& property = (*request.properties)[i];
      if (property.key != restraint.property) continue;
      value = TextOf(property.value);
      known = true;
    }
  }
  return known && std::any_of(restraint.values.begin(), restraint.values.end(),
                              [&](const std::string& glob) { return GlobMatches(glob, value); });
}

bool Sampling::Matches(const Policy& policy, const StartRequest& request) const {
  if (policy.reached != request.reached) return false;
  if (policy.expires_ns != 0 && ClockNs(CLOCK_REALTIME) >= policy.expires_ns) return false;
  return std::all_of(policy.restraints.begin(), policy.restraints.end(),
                     [&](const Restraint& restraint) { return PropertyHolds(restraint, request); });
}

StartDecision Sampling::Decide(const StartRequest& request) {
  StartDecision decision;
  const std::shared_ptr<const PolicySet> set = std::atomic_load(&set_);
  if (set->policies.empty()) {
    if (!request.reached.empty()) return decision;  // nobody targets it
    decision.start = global_.Take();
    decision.detail = default_detail_;
    (decision.start ? started_ : refused_).fetch_add(1, std::memory_order_relaxed);
    return decision;
  }
  // One token an owner, however many of its policies match; the finest of those that passed counts.
  std::vector<std::pair<std::string_view, bool>> asked;
  bool wanted = false;
  for (const Policy& policy : set->policies) {
    if (!Matches(policy, request)) continue;
    if (!(policy.probability ? OnceIn(*policy.probability) : policy.bucket->Take())) continue;
    if (!wanted && !global_.Take()) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return decision;
    }
    wanted = true;
    auto at = std::find_if(asked.begin(), asked.end(),
                           [&](const auto& owner) { return owner.first == policy.owner; });
    if (at == asked.end()) {
      at = asked.insert(asked.end(), {policy.owner, set->owners.at(policy.owner)->Take()});
      if (at->second) {
        decision.owners.append(decision.owners.empty() ? "" : ",").append(policy.owner);
      }
    }
    if (at->second) {
      decision.start = true;
      decision.detail = std::max(decision.detail, policy.detail);
    }
  }
  if (wanted && !decision.start) global_.GiveBack();
  if (wanted) (decision.start ? started_ : refused_).fetch_add(1, std::memory_order_relaxed);
  return decision;
}

bool Sampling::Install(std::string_view json) {
  const auto parsed = ParseJson(json);
  if (!parsed || parsed->Get("policies").type != JsonNode::Type::kArray) return false;
  const std::lock_guard lock(install_mutex_);
  const std::shared_ptr<const PolicySet> old = std::atomic_load(&set_);
  auto fresh = std::make_shared<PolicySet>();
  fresh->text = std::string(json);
  for (const auto& [unused, node] : parsed->Get("policies").children) {
    auto policy = ReadPolicy(node);
    if (!policy) return false;
    for (const Policy& before : old->policies) {
      if (policy->bucket && before.bucket && before.name == policy->name &&
          before.bucket->rate().per_second == policy->bucket->rate().per_second) {
        policy->bucket = before.bucket;
      }
    }
    const auto owner = old->owners.find(policy->owner);
    fresh->owners.emplace(policy->owner, owner != old->owners.end()
                                             ? owner->second
                                             : std::make_shared<TokenBucket>(owner_rate_));
    fresh->policies.push_back(std::move(*policy));
  }
  const JsonNode& shares = parsed->Get("shares");
  const auto share = [&](const std::string& rate) {
    const JsonNode& told = shares.Get(rate);
    return told.type == JsonNode::Type::kNumber && told.number > 0 ? told.number : 1.0;
  };
  for (const Policy& policy : fresh->policies)
    if (policy.bucket) policy.bucket->SetShare(share("p:" + policy.name));
  for (const auto& [owner, bucket] : fresh->owners) bucket->SetShare(share("o:" + owner));
  global_.SetShare(share("g"));
  std::atomic_store(&set_, std::shared_ptr<const PolicySet>(std::move(fresh)));
  return true;
}

std::optional<std::string> Sampling::Demand() {
  const std::lock_guard lock(install_mutex_);
  const std::shared_ptr<const PolicySet> set = std::atomic_load(&set_);
  const int64_t now = SteadyNs(SteadyClock::now());
  const double seconds = static_cast<double>(now - std::exchange(demand_ns_, now)) / 1e9;
  std::map<std::string, uint64_t> asked;
  std::string text;
  const auto add = [&](const std::string& rate, const TokenBucket& bucket) {
    if (!bucket.limited()) return;
    const uint64_t wanted = asked[rate] = bucket.asked();
    const auto before = asked_.find(rate);
    const uint64_t known = before == asked_.end() || before->second > wanted ? 0 : before->second;
    if (wanted == known || seconds <= 0) return;
    char number[32];
    std::snprintf(number, sizeof number, "=%.4g",
                  static_cast<double>(wanted - known) / seconds / bucket.rate().per_second);
    text.append(text.empty() ? "" : ",").append(rate).append(number);
  };
  for (const Policy& policy : set->policies)
    if (policy.bucket) add("p:" + policy.name, *policy.bucket);
  for (const auto& [owner, bucket] : set->owners) add("o:" + owner, *bucket);
  add("g", global_);
  asked_ = std::move(asked);
  if (asked_.empty()) return std::nullopt;
  return text;
}

std::string Sampling::installed() const { return std::atomic_load(&set_)->text; }
uint64_t Sampling::policies() const { return std::atomic_load(&set_)->policies.size(); }

}  // namespace wherefore::client
