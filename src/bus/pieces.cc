#include "bus/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/hash.h"

namespace wf::bus {
namespace {

constexpr char kPieceVersion = 1;
constexpr size_t kHeadBytes = 9;
constexpr uint64_t kCheckSeed = 0x5749454345ull;  // any; not that of another format

EventBatch CopyRows(const EventBatch& from, const uint32_t* rows, size_t count) {
  EventBatch to;
  to.tenant = from.tenant;
  to.received_ns = from.received_ns;
  to.Reserve(count);
  RowCopier copier(from, to);
  for (size_t i = 0; i < count; ++i) copier.Copy(rows[i]);
  return to;
}

// Encodes these rows as one piece, or as two halves when that is too large.
Status Cut(const EventBatch& batch, int32_t partition, const uint32_t* rows, size_t count,
           const PieceLimits& limits, std::vector<CutPiece>& out) {
  const bool whole = count == batch.size();
  std::string bytes = EncodePiece(whole ? batch : CopyRows(batch, rows, count));
  if (bytes.size() <= limits.target || (count == 1 && bytes.size() <= limits.most)) {
    out.push_back({partition, std::move(bytes)});
    return {};
  }
  if (count == 1) {
    // Names and attributes of others may be part of a batch of one row: without them it may fit.
    bytes = EncodePiece(CopyRows(batch, rows, 1));
    if (bytes.size() <= limits.most) {
      out.push_back({partition, std::move(bytes)});
      return {};
    }
    return BadInput(fmt::format("trace {}: an event of {} bytes; the bus accepts {}",
                                ToHex(batch.trace_id(rows[0])), bytes.size(), limits.most),
                    "send fewer or shorter attributes");
  }
  WF_TRY(Cut(batch, partition, rows, count / 2, limits, out));
  return Cut(batch, partition, rows + count / 2, count - count / 2, limits, out);
}

}  // namespace

int32_t PartitionOf(TraceId id, int32_t partitions) {
  return static_cast<int32_t>(MixBits(id.hi ^ MixBits(id.lo)) % static_cast<uint64_t>(partitions));
}

Result<std::vector<CutPiece>> CutBatch(EventBatch batch, int32_t partitions,
                                       const PieceLimits& limits) {
  std::vector<int32_t> partition(batch.size());
  for (size_t row = 0; row < batch.size(); ++row)
    partition[row] = PartitionOf(batch.trace_id(row), partitions);
  std::vector<uint32_t> rows(batch.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return partition[a] < partition[b]; });
  std::vector<CutPiece> out;
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin + 1;
    while (end < rows.size() && partition[rows[end]] == partition[rows[begin]]) ++end;
    WF_TRY(Cut(batch, partition[rows[begin]], rows.data() + begin, end - begin, limits, out));
    begin = end;
  }
  return out;
}

std::string EncodePiece(const EventBatch& batch) {
  std::string bytes(kHeadBytes, '\0');
  SerializeBatch(batch, bytes);
  const uint64_t check = HashBytes(std::string_view(bytes).substr(kHeadBytes), kCheckSeed);
  bytes[0] = kPieceVersion;
  std::memcpy(bytes.data() + 1, &check, 8);
  return bytes;
}

Result<EventBatch> DecodePiece(std::string_view bytes) {
  if (bytes.size() < kHeadBytes)
    return BadInput(fmt::format("a piece of {} bytes", bytes.size()),
                    "does another program write to the topic?");
  if (bytes[0] != kPieceVersion) {
    return BadInput(fmt::format("a piece of version {}, this program knows {}", int{bytes[0]},
                                kPieceVersion + 0),
                    "upgrade readers before publishers; is the topic used by something else?");
  }
  uint64_t check;
  std::memcpy(&check, bytes.data() + 1, 8);
  if (HashBytes(bytes.substr(kHeadBytes), kCheckSeed) != check)
    return BadInput("a damaged piece: wrong checksum", "the bus changed its bytes");
  return DeserializeBatch(bytes.substr(kHeadBytes));
}

}  // namespace wf::bus
