// What `wherefore generate` is told to generate (docs/use/generate.md): tracelets, which are templates of messages with
// Gaussian delays between them, run again and again by clients in parallel (Aguilera et al. §7.1.1, "maketrace").
//
// A config that was read is complete: every name is an index, every message knows what it comes after, a return its
// call, a call its true parent. Generating looks nothing up.
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
  std::vector<uint32_t>
      after;  // messages above; it leaves when the last of them has; empty: the tracelet's start
  double delay_mean_ns = 0, delay_sd_ns = 0;
  uint32_t call = kNoMessage;    // of a return: its call
  uint32_t parent = kNoMessage;  // of a call: the call that caused it; kNoMessage: a root
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

// A sniffer that writes `rate` messages a second and holds `queue` of them; what finds the queue full is not seen.
struct SnifferLimit {
  double rate = 0;
  uint32_t queue = 0;
};

struct GeneratorConfig {
  Nanos duration = 0;  // no tracelet begins later; those that run then run to their end
  std::vector<std::string> nodes;
  bool own_clocks = false;   // `skew_ms` is given: each end sights a message by its own clock
  std::vector<Nanos> skews;  // by node: how far its clock is ahead
  std::optional<SnifferLimit> drop;
  std::vector<TraceletGroup> groups;
};

// `name` stands in errors, with the line.
Result<GeneratorConfig> ReadGeneratorConfig(std::string_view text, const std::string& name);

}  // namespace wf::scenario
