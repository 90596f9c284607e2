// Pieces: how a batch is cut for the bus, and their bytes.
//
//   piece := version:u8 (1)  check:u64  batch        little-endian
//
// `batch` is SerializeBatch's, as in the store's log; `check` is its hash, so that damage is found and not stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/event_batch.h"

namespace wf::bus {

// Every program that publishes or puts notes must agree on it: the same for ever.
int32_t PartitionOf(TraceId id, int32_t partitions);

struct CutPiece {
  int32_t partition = 0;
  std::string bytes;
};

struct PieceLimits {
  size_t target = 512u << 10;  // larger pieces are cut further, while they have several events
  size_t most = 8u << 20;      // a single event above this cannot be sent: kBadInput
};

// By partition, and within it in the order of the batch.
Result<std::vector<CutPiece>> CutBatch(EventBatch batch, int32_t partitions,
                                       const PieceLimits& limits);

std::string EncodePiece(const EventBatch& batch);
// kBadInput says what is wrong with the bytes.
Result<EventBatch> DecodePiece(std::string_view bytes);

}  // namespace wf::bus
