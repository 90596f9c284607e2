// A recording and what is computed from it, each when first asked for: clocks, edges, pages, symbols. The questions about
// a recording (recording_*.h) share it. Thread safety: one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/lineage/byte_flows.h"
#include "analysis/lineage/data_edges.h"
#include "analysis/lineage/lineage.h"
#include "analysis/lineage/page_index.h"
#include "analysis/lineage/sync_edges.h"
#include "base/result.h"
#include "json/json_writer.h"
#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"
#include "recorder/reader/symbols.h"

namespace wf::answer {

// Takes the pieces of an answer, in order: a graph may be larger than one wants in memory twice.
using PieceSink = std::function<Status(std::string_view)>;

class OpenedRecording {
 public:
  explicit OpenedRecording(recorder::Recording recording);

  const recorder::Recording& recording() const { return recording_; }
  const recorder::Clocks& clocks();
  const std::vector<lineage::SyncEdge>& sync_edges();
  recorder::Symbols& symbols();
  // Of recordings at data depth only; others have no pages. BadInput if they are too many.
  Result<const lineage::DataFlow*> data_flow();
  Result<const lineage::ByteFlows*> byte_flows();

  // BadInput, and how to record what is asked for.
  Status Require(recorder::Depth depth) const;
  // "3.14". BadInput if it is not so written, NotFound if there is none.
  Result<recorder::SubId> FindSub(const std::string& text) const;
  std::string SubNameOf(recorder::SubId sub) const {
    return recorder::SubName(recording_.subs[sub]);
  }
  // The call that ended it; empty: unknown, or it still runs.
  std::string_view OpOf(const recorder::SubComputation& sub) const;
  // The place of that call.
  const recorder::SitePlace& SiteOf(const recorder::SubComputation& sub);
  // A name for people: "mutex lock_of_x", "thread 3", "mutex 0x5581…".
  std::string ObjectLabel(uint32_t object);

 private:
  recorder::Recording recording_;
  bool running_ = false;  // its process is still there
  std::optional<recorder::Clocks> clocks_;
  std::optional<std::vector<lineage::SyncEdge>> sync_edges_;
  std::unique_ptr<recorder::Symbols> symbols_;
  std::optional<lineage::PageIndex> pages_;
  std::unique_ptr<lineage::DataFlow> data_flow_;
  std::optional<lineage::ByteFlows> byte_flows_;
};

std::string HexAddress(uint64_t address);  // "0x7f…"
std::string PageAddress(uint64_t page);
// "schedule", "data", "control", as far as recorded.
std::vector<std::string_view> DepthNames(const recorder::Recording& recording);
// {"function","file","line","module","offset"}; what is not known is null.
void WriteSite(JsonWriter& json, const recorder::SitePlace& site);
// "compact() at store.cc:41"; empty if nothing is known.
std::string SiteText(const recorder::SitePlace& site);
void WriteText(JsonWriter& json, std::string_view key, const std::optional<std::string>& text);

}  // namespace wf::answer
