#include "recorder/control/branch_count.h"

#include <cstring>

#include "recorder/format/branches.h"
#include "recorder/format/varint_cursor.h"
#include "recorder/reader/chunk_reader.h"

namespace wf::recorder {
namespace {

bool Skip(VarintCursor& in, int operands) {
  uint64_t unused = 0;
  for (; operands > 0; --operands)
    if (!in.Read(unused)) return false;
  return true;
}

bool SkipSite(VarintCursor& in) {
  uint64_t kind = 0;
  if (!in.Read(kind)) return false;
  return Skip(in, kind == static_cast<uint64_t>(SiteKind::kConditional) ? 3 : 1);
}

uint64_t CountQemu(VarintCursor in) {
  uint64_t count = 0, code = 0;
  while (!in.done() && in.Read(code)) {
    bool whole = true;
    if (code >= kFirstBranch || code == kIndirect) ++count;
    if (code == kSite) whole = SkipSite(in);
    if (code == kOpen || code == kIndirect) whole = Skip(in, 2);
    if (code == kGap || code == kReset) whole = Skip(in, 1);
    if (!whole) break;
  }
  return count;
}

uint64_t CountCoverage(VarintCursor in) {
  uint64_t count = 0, code = 0;
  while (!in.done() && in.Read(code)) {
    bool whole = true;
    if (code == kCoverageOpen) whole = Skip(in, 1);
    if (code == kCoverageGap) whole = Skip(in, 2);
    if (code >= kFirstBlock) {
      ++count;
      if (((code - kFirstBlock) & 1) != 0) whole = Skip(in, 1);
    }
    if (!whole) break;
  }
  return count;
}

}  // namespace

std::optional<uint64_t> BranchesInPiece(std::string_view piece) {
  BranchesHead head;
  if (piece.size() < sizeof head) return 0;
  std::memcpy(&head, piece.data(), sizeof head);
  const VarintCursor operations(piece.substr(sizeof head));
  switch (head.source) {
    case BranchSource::kQemu:
      return CountQemu(operations);
    case BranchSource::kCoverage:
      return CountCoverage(operations);
    case BranchSource::kPt:
      break;
  }
  return std::nullopt;
}

Result<std::optional<uint64_t>> CountBranches(const std::string& file) {
  WF_ASSIGN(ReadAt bytes, FromFile(file));
  WF_ASSIGN(ChunkReader chunks, ChunkReader::Open(std::move(bytes), file));
  Chunk chunk;
  std::optional<uint64_t> count = 0;
  for (;;) {
    WF_ASSIGN(const bool more, chunks.Next(chunk));
    if (!more) return count;
    if (chunk.kind != ChunkKind::kBranches) continue;
    const std::optional<uint64_t> here = BranchesInPiece(chunk.payload);
    if (!here) return std::optional<uint64_t>();
    *count += *here;
  }
}

}  // namespace wf::recorder
