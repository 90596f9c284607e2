// The bus on Kafka, through librdkafka; nothing else of it is seen outside this folder.
//
//   kafka://HOST:PORT[,HOST:PORT…][/TOPIC][?partitions=N&replicas=N&PROPERTY=VALUE…]
//
// TOPIC (default `wherefore`) holds the pieces, TOPIC.delayed the notes, TOPIC.poisoned what could not be used. Missing
// ones are made. PROPERTY is any of librdkafka's, percent-encoded where it must be; secrets better stand in a file
// (KafkaBusOptions::config_file: a line PROPERTY=VALUE each, # begins a comment), and are never logged or shown.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bus/bus.h"
#include "bus/pieces.h"

namespace wf::bus::kafka {

struct KafkaBusOptions {
  std::string config_file;  // empty: none
  std::string client_id = "wherefore";
  Nanos open_patience = 10 * kSecond;  // until the brokers must have answered once
  // Publishing. Senders wait for the confirmation, and OpenTelemetry's give up after 10 s.
  Nanos confirm_patience = 8 * kSecond;
  size_t queue_bytes = 64u << 20;  // of what the broker has not confirmed
  PieceLimits limits;
  // Reading. A member that sends no heartbeat for this long counts as dead, and its partitions go to others.
  Nanos session = 10 * kSecond;
  size_t prefetch_bytes = 16u << 20;
  size_t read_pieces = 512;      // at once,
  size_t read_bytes = 8u << 20;  // and max bytes at once
};

// Reaches the brokers, and makes the topics that are missing.
Result<std::unique_ptr<Bus>> OpenKafkaBus(const std::string& url, KafkaBusOptions options = {});

// The URL for people: without properties, which may be secret.
std::string ShownKafkaUrl(std::string_view url);

}  // namespace wf::bus::kafka
