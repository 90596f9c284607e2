// An execution before it is sorted: one row per event, in the order of arrival.
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

// An event as it is passed in: what is kept of it is copied.
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
  bool holds_told = false;  // false: it holds its node
};

class ExecutionRows {
 public:
  ExecutionRows();
  // Rejects an event that is wrong in itself. `line`: 0 if it did not come from a file.
  Status Add(const EventView& event, uint32_t line, std::string_view place = {});
  Status Add(std::string_view resource, int64_t servers, std::string_view place);
  void RetainFrom(Nanos time) { retain_from_ = time; }
  void Reserve(size_t events);  // expects about this many
  Result<Execution> Finish();   // once

 private:
  struct RowHold {
    uint32_t resource;  // in strings
    Nanos since_ns;
  };

  uint32_t Code(std::string_view text);
  std::string Where(size_t row) const;  // "line 12, event x"
  std::string Place(std::string_view place, uint32_t line, std::string_view id) const;
  std::vector<uint32_t> SortedRows() const;  // the retained rows, in order of time
  void MoveColumns(const std::vector<uint32_t>& rows);
  Status LinkCauses(const std::vector<uint32_t>& rows);
  Status TakeReady(const std::vector<uint32_t>& rows);
  void TakeHolds(const std::vector<uint32_t>& rows);

  Execution out_;  // strings are filled from the start, the rest by Finish
  std::vector<ProvenanceType> type_;
  std::vector<uint32_t> id_, node_, tuple_, name_, rule_, peer_, origin_;
  std::vector<Nanos> start_, end_, ready_;  // ready_ may be kNotTold
  std::vector<uint32_t> causes_begin_ = {0}, causes_, holds_begin_ = {0};
  std::vector<RowHold> holds_;
  std::vector<uint32_t> row_of_id_;  // by code; kNoEvent
  std::vector<uint32_t> line_;
  std::unordered_map<uint32_t, std::string> place_;      // by row, where given
  std::unordered_map<uint32_t, uint32_t> servers_told_;  // by resource, in strings
  std::optional<Nanos> retain_from_;
};

// Assigns a server to each hold, and lists the holders of each server in order. Rejects more occupants than
// servers.
Status AssignServers(Execution& execution);

}  // namespace wf::provenance
