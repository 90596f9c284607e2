// What is known of an execution before it is sorted: one row an event, in the order they came.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/provenance/execution.h"

namespace wf::provenance {

constexpr Nanos kNotTold = std::numeric_limits<Nanos>::min();

// An event as it is handed over: nothing of it is kept but by copy.
struct EventView {
  struct HoldView {
    std::string_view resource;
    Nanos since_ns = kNotTold;
  };
  std::string_view id, node, tuple, rule, peer, origin;
  ProvenanceType type = ProvenanceType::kInsert;
  Nanos start_ns = 0, end_ns = 0, ready_ns = kNotTold;
  std::vector<std::string_view> causes;
  std::vector<HoldView> holds;
  bool holds_told = false;  // else it holds its node
};

class ExecutionRows {
 public:
  ExecutionRows();
  // Refuses what an event alone shows to be wrong. `line`: 0 if it came from no file.
  Status Add(const EventView& event, uint32_t line, std::string_view place = {});
  Status Add(std::string_view resource, int64_t servers, std::string_view place);
  void RetainFrom(Nanos time) { retain_from_ = time; }
  void Reserve(size_t events);  // about so many will come
  Result<Execution> Finish();   // once

 private:
  struct RowHold {
    uint32_t resource;  // in strings
    Nanos since_ns;
  };

  uint32_t Code(std::string_view text);
  std::string Where(size_t row) const;  // "line 12, event x"
  std::string Place(std::string_view place, uint32_t line, std::string_view id) const;
  std::vector<uint32_t> SortedRows() const;  // those retained, in the order of time
  void MoveColumns(const std::vector<uint32_t>& rows);
  Status LinkCauses(const std::vector<uint32_t>& rows);
  Status TakeReady(const std::vector<uint32_t>& rows);
  void TakeHolds(const std::vector<uint32_t>& rows);

  Execution out_;  // its strings from the start, the rest by Finish
  std::vector<ProvenanceType> type_;
  std::vector<uint32_t> id_, node_, tuple_, name_, rule_, peer_, origin_;
  std::vector<Nanos> start_, end_, ready_;  // ready_: kNotTold
  std::vector<uint32_t> causes_begin_ = {0}, causes_, holds_begin_ = {0};
  std::vector<RowHold> holds_;
  std::vector<uint32_t> row_of_id_;  // by code; kNoEvent
  std::vector<uint32_t> line_;
  std::unordered_map<uint32_t, std::string> place_;      // by row, where told
  std::unordered_map<uint32_t, uint32_t> servers_told_;  // by resource, in strings
  std::optional<Nanos> retain_from_;
};

// Says which server each hold takes, and who holds each one after another. Refuses more occupants than servers.
Status AssignServers(Execution& execution);

}  // namespace wf::provenance
