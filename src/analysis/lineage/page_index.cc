#include "analysis/lineage/page_index.h"

#include <algorithm>

namespace wf::lineage {

using recorder::PageRuns;
using recorder::Slice;
using recorder::SubId;

namespace {

// Accesses to pages, with equal neighbours counted once: eight bytes each.
constexpr uint64_t kMostAccesses = uint64_t{1} << 30;

}  // namespace

Result<PageIndex> PageIndex::Build(const recorder::Recording& recording) {
  PageIndex index;
  // Where any run begins or ends, pages may differ.
  std::vector<uint64_t> edges;
  edges.reserve(recording.pages.size() * 2);
  for (const PageRuns& run : recording.pages) {
    edges.push_back(run.first);
    edges.push_back(run.first + run.count);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (size_t i = 0; i + 1 < edges.size(); ++i)
    index.spans_.push_back({edges[i], edges[i + 1] - edges[i], {}, {}});
  edges = {};
  uint64_t accesses = 0;
  for (const PageRuns& run : recording.pages) accesses += index.SpansOf(run).size();
  if (accesses > kMostAccesses || recording.subs.size() > INT32_MAX) {
    return BadInput(
        recording.file + ": its sub-computations touched pages too many times to compare",
        "record a shorter run at data depth");
  }
  index.Fill(recording);
  return index;
}

void PageIndex::Fill(const recorder::Recording& recording) {
  // Count, then fill: `end` counts first, and moves from begin to end while filling.
  const auto each_run = [&](const auto& visit) {
    for (SubId s = 0; s < recording.subs.size(); ++s) {
      const Slice runs = recording.subs[s].pages;
      for (uint32_t i = runs.begin; i < runs.end; ++i) {
        const PageRuns& run = recording.pages[i];
        const Slice own = SpansOf(run);
        for (uint32_t at = own.begin; at < own.end; ++at) visit(s, run, spans_[at]);
      }
    }
  };
  each_run([](SubId, const PageRuns& run, Span& span) {
    ++span.accesses.end;
    if (run.written) ++span.writers.end;
  });
  uint32_t accesses = 0, writers = 0;
  for (Span& span : spans_) {
    const uint32_t own = span.accesses.end, written = span.writers.end;
    span.accesses = {accesses, accesses};
    span.writers = {writers, writers};
    accesses += own;
    writers += written;
  }
  accesses_.resize(accesses);
  writers_.resize(writers);
  each_run([this](SubId sub, const PageRuns& run, Span& span) {
    accesses_[span.accesses.end++] = {sub & 0x7fffffff, run.written ? 1u : 0u};
    if (run.written) writers_[span.writers.end++] = sub;
  });
}

Slice PageIndex::SpansOf(const PageRuns& run) const {
  const auto at = [&](uint64_t page) {
    return static_cast<uint32_t>(
        std::lower_bound(spans_.begin(), spans_.end(), page,
                         [](const Span& span, uint64_t p) { return span.first < p; }) -
        spans_.begin());
  };
  return {at(run.first), at(run.first + run.count)};
}

uint32_t PageIndex::SpanOf(uint64_t page) const {
  auto it = std::upper_bound(spans_.begin(), spans_.end(), page,
                             [](uint64_t p, const Span& span) { return p < span.first; });
  if (it == spans_.begin()) return recorder::kNone;
  --it;
  if (page - it->first >= it->count || it->accesses.empty()) return recorder::kNone;
  return static_cast<uint32_t>(it - spans_.begin());
}

}  // namespace wf::lineage
