// The configuration of `wherefore generate` (docs/use/generate.md): tracelets, which are templates of
// messages with Gaussian delays between them, run repeatedly by parallel clients (Aguilera et al. §7.1.1,
// "maketrace").
//
// A config that was read is complete: every name is an index, every message refers to its predecessors, a
// return to its call, a call to its true parent. The generator looks nothing up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "model/sighting.h"

namespace wf::scenario {

constexpr uint32_t kNoMessage = UINT32_MAX;

struct TraceletMessage {
  MessageKind kind = MessageKind::kMessage;
  uint32_t from = 0, to = 0;  // of GeneratorConfig::nodes
  // Earlier messages; this one leaves after the last of them; empty: at the tracelet's start.
  std::vector<uint32_t> after;
  double delay_mean_ns = 0, delay_sd_ns = 0;
  uint32_t call = kNoMessage;    // for a return: its call
  uint32_t parent = kNoMessage;  // for a call: the call that caused it; kNoMessage: a root
  uint32_t path = 0;             // of the tracelet's paths, from 0
};

struct Tracelet {
  double weight = 1;
  uint32_t paths = 0;  // causal paths that are interleaved in it
  std::vector<TraceletMessage> messages;
};

// `parallel` clients, each of which runs one tracelet after another, drawn by weight, with a think time between.
struct TraceletGroup {
  uint32_t parallel = 1;
  Nanos think_least = 0, think_most = 0;
  std::vector<Tracelet> tracelets;
};

// A sniffer that writes `rate` messages a second and queues up to `queue` of them; messages that find the
// queue full are not seen.
struct SnifferLimit {
  double rate = 0;
  uint32_t queue = 0;
};

struct GeneratorConfig {
  Nanos duration = 0;  // no tracelet begins later; those in progress finish
  std::vector<std::string> nodes;
  bool own_clocks = false;   // `skew_ms` is given: each end sights a message by its own clock
  std::vector<Nanos> skews;  // by node: how far its clock is ahead
  std::optional<SnifferLimit> drop;
  std::vector<TraceletGroup> groups;
};

// `name` is printed in errors, with the line.
Result<GeneratorConfig> ReadGeneratorConfig(std::string_view text, const std::string& name);

}  // namespace wf::scenario
