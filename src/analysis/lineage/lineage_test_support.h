// A scripted run with everything computed from it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/lineage/byte_flows.h"
#include "analysis/lineage/data_edges.h"
#include "analysis/lineage/lineage.h"
#include "analysis/lineage/page_index.h"
#include "analysis/lineage/sync_edges.h"
#include "recorder/reader/clocks.h"
#include "recorder/reader/testing/random_run.h"

namespace wf::lineage {

class Lab {
 public:
  explicit Lab(const recorder::ScriptedRun& run)
      : r(std::move(recorder::ReadRecording(recorder::FromMemory(run.Bytes()), "test.cpg"))
              .value()),
        clocks(recorder::Clocks::Compute(r)),
        pages(std::move(PageIndex::Build(r)).value()),
        flow(r, clocks, pages),
        bytes(ByteFlows::Find(r, clocks, pages)),
        finder(flow, bytes) {}
  static Lab Running(const std::string& lines) { return Lab(recorder::ScriptedRun().Lines(lines)); }
  Lab(const Lab&) = delete;

  recorder::SubId Sub(const std::string& name) const {
    const auto parsed = recorder::ParseSubName(name);
    return r.Find(parsed->first, parsed->second);
  }
  std::string Name(recorder::SubId sub) const { return recorder::SubName(r.subs[sub]); }

  // "0.1 -> 1.2 by object 3", "0.1 -> 1.2 over 2".
  std::vector<std::string> Sync() const {
    std::vector<std::string> out;
    for (const SyncEdge& edge : SyncEdges(r))
      out.push_back(Name(edge.from) + " -> " + Name(edge.to) + " by " +
                    std::to_string(r.objects[edge.object].id));
    return out;
  }
  std::vector<std::string> Data() const {
    std::vector<std::string> out;
    for (const DataEdge& edge : ComputeDataEdges(flow, EdgePages::kCount).edges)
      out.push_back(Name(edge.from) + " -> " + Name(edge.to) + " over " +
                    std::to_string(edge.pages));
    return out;
  }
  // "1.0", "2.0 unordered"; then "stdin 0-4".
  std::vector<std::string> Text(const Lineage& lineage) const {
    std::vector<std::string> out;
    for (const LineageSub& sub : lineage.subs)
      out.push_back(Name(sub.sub) + (sub.unordered ? " unordered" : ""));
    for (const LineageEnd& end : lineage.ends) {
      std::string text = end.name;
      for (const ByteRange& range : end.ranges)
        text += " " + std::to_string(range.begin) + "-" + std::to_string(range.end);
      out.push_back(text + (end.unordered ? " unordered" : ""));
    }
    return out;
  }
  std::vector<std::string> Of(const std::string& output, Steps steps = Steps::kAlsoUnordered,
                              RangeSet ranges = {}) const {
    return Text(finder.OfOutputs(finder.FindOutputs(output, ranges), steps));
  }
  std::vector<std::string> From(const std::string& input, Steps steps = Steps::kAlsoUnordered,
                                RangeSet ranges = {}) const {
    return Text(finder.FromInputs(finder.FindInputs(input, ranges), steps));
  }

  const recorder::Recording r;
  const recorder::Clocks clocks;
  const PageIndex pages;
  const DataFlow flow;
  const ByteFlows bytes;
  const LineageFinder finder;
};

}  // namespace wf::lineage
