// The multi-tier system of Aguilera et al. figure 10, generated: client → WS1|WS2 (60:40); WS → AUTH, which calls DB1 in
// 70%; then WS → AP1|AP2 (55:45), which makes one (75%) or two serial calls to DB1|DB2 (65:35). A node takes 50 ms
// before a call and 10 ms before a return, Gaussian. For tests and benchmarks of inference.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "model/sighting.h"

namespace wf::paths {

struct MultiTierOptions {
  uint64_t seed = 1;
  Nanos duration = 500 * kSecond;
  double requests_per_second = 41;  // with 500 s: the paper's "normal" trace of 202,520 messages
  double deviation = 0.1;           // of a delay, as a part of its mean
  Nanos added = 0;                  // in WS2, between AUTH and AP
};

class MultiTier {
 public:
  explicit MultiTier(const MultiTierOptions& options) : options_(options), random_(options.seed) {
    std::exponential_distribution<double> gap(options.requests_per_second);
    double start = 1;
    const double end = start + static_cast<double>(options.duration) / 1e9;
    while ((start += gap(random_)) < end)
      Request(1'000 * kSecond + static_cast<Nanos>(start * 1e9));
    std::stable_sort(sightings.begin(), sightings.end(),
                     [](const Sighting& a, const Sighting& b) { return a.time_ns < b.time_ns; });
    for (size_t i = 0; i < sightings.size(); ++i) sightings[i].place = {1, i + 1};
  }

  StringTable nodes;
  std::vector<Sighting> sightings;
  // How many requests took each path: the nodes of its messages, one after another ("client WS1 AUTH WS1 …").
  std::map<std::string, uint64_t> truth;

 private:
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

  void Send(MessageKind kind, const std::string& from, const std::string& to, double mean_ms) {
    if (mean_ms > 0) {
      std::normal_distribution<double> delay(mean_ms, mean_ms * options_.deviation);
      now_ += static_cast<Nanos>(std::max(0.0, delay(random_)) * 1e6);
    }
    Sighting s;
    s.time_ns = now_;
    s.kind = kind;
    s.sender = nodes.Intern(from);
    s.receiver = nodes.Intern(to);
    // A return has the id of its call.
    s.id = kind == MessageKind::kCall ? ++ids_ : open_.back();
    if (kind == MessageKind::kCall) {
      open_.push_back(s.id);
    } else {
      open_.pop_back();
    }
    sightings.push_back(s);
    path_ += " " + to;
  }
  void Call(const std::string& from, const std::string& to, double ms = 50) {
    Send(MessageKind::kCall, from, to, ms);
  }
  void Return(const std::string& from, const std::string& to) {
    Send(MessageKind::kReturn, from, to, 10);
  }

  void Request(Nanos start) {
    now_ = start;
    path_ = "client";
    const std::string ws = Chance(0.6) ? "WS1" : "WS2";
    Call("client", ws, 0);
    Call(ws, "AUTH");
    if (Chance(0.7)) {
      Call("AUTH", "DB1");
      Return("DB1", "AUTH");
    }
    Return("AUTH", ws);
    const std::string ap = Chance(0.55) ? "AP1" : "AP2";
    if (ws == "WS2") now_ += options_.added;
    Call(ws, ap);
    for (int calls = Chance(0.75) ? 1 : 2; calls > 0; --calls) {
      const std::string db = Chance(0.65) ? "DB1" : "DB2";
      Call(ap, db);
      Return(db, ap);
    }
    Return(ap, ws);
    Return(ws, "client");
    ++truth[path_];
  }

  MultiTierOptions options_;
  std::mt19937_64 random_;
  Nanos now_ = 0;
  uint64_t ids_ = 0;
  std::vector<uint64_t> open_;
  std::string path_;
};

}  // namespace wf::paths
