// Every analysis on a file that claims to be a recording.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/lineage/consistent_cut.h"
#include "analysis/lineage/lineage.h"
#include "analysis/lineage/memory_layout.h"
#include "analysis/lineage/order_path.h"
#include "analysis/lineage/races.h"

namespace {

using namespace wf;
using namespace wf::lineage;

void Analyse(const std::string& bytes) {
  const auto read = recorder::ReadRecording(recorder::FromMemory(bytes), "fuzz.cpg");
  if (!read.ok() || read->subs.empty()) return;
  const recorder::Recording& r = *read;
  const recorder::Clocks clocks = recorder::Clocks::Compute(r);
  const auto pages = PageIndex::Build(r);
  if (!pages.ok()) return;
  const DataFlow flow(r, clocks, *pages);
  const ByteFlows flows = ByteFlows::Find(r, clocks, *pages);
  const std::vector<SyncEdge> sync = SyncEdges(r);
  for (const SyncEdge& edge : sync) {
    if (!clocks.Before(edge.from, edge.to)) __builtin_trap();
  }
  for (const DataEdge& edge : ComputeDataEdges(flow, EdgePages::kList).edges) {
    if (!clocks.Before(edge.from, edge.to)) __builtin_trap();
  }
  const auto last = static_cast<recorder::SubId>(r.subs.size() - 1);
  if (clocks.Before(0, last) && PathBetween(r, clocks, sync, 0, last).size() < 2) __builtin_trap();
  const LineageFinder finder(flow, flows);
  finder.OfSub(last, Steps::kAlsoUnordered);
  for (uint32_t o = 0; o < flows.outputs().size() && o < 4; ++o)
    finder.OfOutputs({o}, Steps::kAlsoUnordered);
  for (uint32_t i = 0; i < flows.inputs().size() && i < 4; ++i)
    finder.FromInputs({i}, Steps::kAlsoUnordered);
  for (const Span& span : pages->spans()) {
    finder.OfPage(span.first, last, Steps::kAlsoUnordered);
    finder.OfPage(span.first, recorder::kNone, Steps::kOrderedOnly);
    break;
  }
  FindRaces(r, clocks, *pages, 100);
  ProposeLayout(PageMatrix(r, *pages), r.threads.size(), Distances::Uniform(3));
  const Cut cut = LargestConsistent(r, clocks, CutAt(r, 1000));
  if (!IsConsistent(r, clocks, cut)) __builtin_trap();
  Restricted(r, cut);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Analyse(bytes);
  // A checksum is not guessed: the same bytes once more as the records of two threads.
  recorder::FileHead head{{}, recorder::kVersion, recorder::kData, 0, 0, 0, sizeof head};
  __builtin_memcpy(head.magic, recorder::kMagic, sizeof recorder::kMagic);
  std::string file(reinterpret_cast<const char*>(&head), sizeof head);
  uint32_t thread = 0;
  const size_t half = size / 16 * 8;
  for (const std::string_view payload :
       {std::string_view(bytes).substr(0, half), std::string_view(bytes).substr(half)}) {
    const recorder::ChunkHead chunk{recorder::kChunkMark,
                                    recorder::ChunkKind::kThread,
                                    thread++,
                                    recorder::Codec::kNone,
                                    static_cast<uint32_t>(payload.size()),
                                    static_cast<uint32_t>(payload.size()),
                                    recorder::ChecksumOf(payload)};
    file.append(reinterpret_cast<const char*>(&chunk), sizeof chunk).append(payload);
  }
  Analyse(file);
  return 0;
}
