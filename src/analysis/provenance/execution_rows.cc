// Rows → Execution: sort, link causes, derive ready times, read holds, assign servers. Each step rejects what
// it finds impossible, naming the ids of the events.
#include "analysis/provenance/execution_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace wf::provenance {
namespace {

// The part after the last row only decides how much memory is reserved at once.
template <typename T>
std::vector<T> Picked(std::vector<T>& column, const std::vector<uint32_t>& rows, bool all) {
  if (all) return std::move(column);
  std::vector<T> out;
  out.reserve(rows.size());
  for (const uint32_t row : rows) out.push_back(column[row]);
  column = {};
  return out;
}

bool InPlace(const std::vector<uint32_t>& rows, size_t all) {
  return rows.size() == all &&
         std::adjacent_find(rows.begin(), rows.end(), std::greater<>()) == rows.end();
}

bool Signed(std::string_view tuple) {
  return !tuple.empty() && (tuple[0] == '+' || tuple[0] == '-');
}

constexpr const char* kFormatHint =
    "docs/concepts/temporal-provenance.md describes the format of events";

}  // namespace

ExecutionRows::ExecutionRows() { row_of_id_.push_back(kNoEvent); }  // the empty text

uint32_t ExecutionRows::Code(std::string_view text) {
  const uint32_t code = out_.strings.Intern(text);
  if (code >= row_of_id_.size()) row_of_id_.resize(code + 1, kNoEvent);
  return code;
}

void ExecutionRows::Reserve(size_t events) {
  out_.strings.Reserve(events);
  for (auto* column : {&id_, &node_, &tuple_, &name_, &rule_, &peer_, &origin_, &line_})
    column->reserve(events);
  for (auto* column : {&start_, &end_, &ready_}) column->reserve(events);
}

std::string ExecutionRows::Place(std::string_view place, uint32_t line, std::string_view id) const {
  const std::string event = id.empty() ? "" : fmt::format("event {}", id);
  if (line != 0) return fmt::format("line {}{}{}", line, event.empty() ? "" : ", ", event);
  if (place.empty()) return event.empty() ? "an event" : event;
  return fmt::format("{}{}{}", place, event.empty() ? "" : ", ", event);
}

std::string ExecutionRows::Where(size_t row) const {
  const auto told = place_.find(static_cast<uint32_t>(row));
  return Place(told == place_.end() ? std::string_view() : told->second, line_[row],
               out_.strings.At(id_[row]));
}

Status ExecutionRows::Add(const EventView& event, uint32_t line, std::string_view place) {
  const auto bad = [&](const std::string& why) {
    return BadInput(fmt::format("{}: {}", Place(place, line, event.id), why), kFormatHint);
  };
  if (event.id.empty()) return bad("the id is empty");
  if (event.end_ns < event.start_ns)
    return bad(fmt::format("ends at {}, before it starts at {}", event.end_ns, event.start_ns));
  const bool message =
      event.type == ProvenanceType::kSend || event.type == ProvenanceType::kReceive;
  if (message && !Signed(event.tuple)) {
    return bad(fmt::format("the tuple of {} begins with + or -, not as \"{}\" does",
                           ProvenanceTypeName(event.type), event.tuple));
  }
  switch (event.type) {
    case ProvenanceType::kInsert:
    case ProvenanceType::kDelete:
      if (!event.causes.empty())
        return bad(fmt::format("{} has no cause", ProvenanceTypeName(event.type)));
      break;
    case ProvenanceType::kReceive:
      if (event.causes.size() != 1) return bad("RCV has exactly one cause, its SND");
      break;
    default:
      if (event.causes.empty())
        return bad(fmt::format("{} has at least one cause", ProvenanceTypeName(event.type)));
  }
  if (event.ready_ns != kNotTold && event.ready_ns > event.start_ns)
    return bad(
        fmt::format("is ready at {}, after its start at {}", event.ready_ns, event.start_ns));
  for (const EventView::HoldView& hold : event.holds) {
    if (hold.since_ns != kNotTold && hold.since_ns > event.start_ns) {
      return bad(fmt::format("holds {} since {}, after its start at {}", hold.resource,
                             hold.since_ns, event.start_ns));
    }
  }
  const auto row = static_cast<uint32_t>(id_.size());
  const uint32_t id = Code(event.id);
  if (row_of_id_[id] != kNoEvent)
    return bad(fmt::format("the id is taken already, by {}", Where(row_of_id_[id])));
  row_of_id_[id] = row;
  id_.push_back(id);
  type_.push_back(event.type);
  node_.push_back(Code(event.node));
  // Tuples are nearly all different and are never looked up.
  const std::string_view name = event.tuple.substr(0, event.tuple.find('('));
  name_.push_back(Code(name));
  tuple_.push_back(name.size() == event.tuple.size() ? name_.back()
                                                     : out_.strings.Keep(event.tuple));
  rule_.push_back(Code(event.rule));
  peer_.push_back(Code(event.peer));
  origin_.push_back(Code(event.origin));
  start_.push_back(event.start_ns);
  end_.push_back(event.end_ns);
  ready_.push_back(event.ready_ns);
  for (const std::string_view cause : event.causes) causes_.push_back(Code(cause));
  causes_begin_.push_back(static_cast<uint32_t>(causes_.size()));
  if (!event.holds_told) holds_.push_back({node_.back(), kNotTold});
  for (const EventView::HoldView& hold : event.holds)
    holds_.push_back({Code(hold.resource), hold.since_ns});
  holds_begin_.push_back(static_cast<uint32_t>(holds_.size()));
  line_.push_back(line);
  if (!place.empty()) place_.emplace(row, place);
  return {};
}

Status ExecutionRows::Add(std::string_view resource, int64_t servers, std::string_view place) {
  const std::string where = place.empty() ? "" : fmt::format("{}: ", place);
  if (servers < 1 || servers > UINT32_MAX)
    return BadInput(fmt::format("{}resource {}: {} servers", where, resource, servers),
                    "a resource has at least one");
  const auto [told, fresh] = servers_told_.emplace(Code(resource), static_cast<uint32_t>(servers));
  if (!fresh && told->second != static_cast<uint32_t>(servers)) {
    return BadInput(fmt::format("{}resource {}: {} servers here, {} before", where, resource,
                                servers, told->second),
                    "a resource has the same number all the time");
  }
  return {};
}

std::vector<uint32_t> ExecutionRows::SortedRows() const {
  struct Key {
    Nanos start, end;
    uint32_t row;
    bool operator<(const Key& o) const {
      return start != o.start ? start < o.start : end != o.end ? end < o.end : row < o.row;
    }
  };
  std::vector<Key> keys;
  keys.reserve(id_.size());
  for (uint32_t row = 0; row < id_.size(); ++row) {
    if (!retain_from_ || end_[row] >= *retain_from_) keys.push_back({start_[row], end_[row], row});
  }
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  std::vector<uint32_t> rows(keys.size());
  std::transform(keys.begin(), keys.end(), rows.begin(), [](const Key& key) { return key.row; });
  return rows;
}

void ExecutionRows::MoveColumns(const std::vector<uint32_t>& rows) {
  const size_t size = out_.strings.size();
  out_.event_of_id.assign(size, kNoEvent);
  for (uint32_t e = 0; e < rows.size(); ++e) out_.event_of_id[id_[rows[e]]] = e;
  const bool all = InPlace(rows, line_.size());
  out_.type = Picked(type_, rows, all);
  out_.node = Picked(node_, rows, all);
  out_.tuple = Picked(tuple_, rows, all);
  out_.name = Picked(name_, rows, all);
  out_.rule = Picked(rule_, rows, all);
  out_.peer = Picked(peer_, rows, all);
  out_.origin = Picked(origin_, rows, all);
  out_.start_ns = Picked(start_, rows, all);
  out_.end_ns = Picked(end_, rows, all);
  out_.id.reserve(rows.size());
  for (const uint32_t row : rows) out_.id.push_back(id_[row]);  // errors still name rows
}

Status ExecutionRows::LinkCauses(const std::vector<uint32_t>& rows) {
  out_.causes.reserve(causes_.size());
  out_.causes_begin.reserve(rows.size() + 1);
  out_.causes_begin.push_back(0);
  out_.lost_cause.assign(rows.size(), false);
  std::vector<uint32_t> effect_of(rows.size(), kNoEvent);  // the last one seen
  for (uint32_t e = 0; e < rows.size(); ++e) {
    const uint32_t row = rows[e];
    for (uint32_t i = causes_begin_[row]; i < causes_begin_[row + 1]; ++i) {
      const uint32_t cause = out_.event_of_id[causes_[i]];
      const auto bad = [&](const std::string& why) {
        return BadInput(
            fmt::format("{}: cause {} {}", Where(row), out_.strings.At(causes_[i]), why),
            kFormatHint);
      };
      if (cause == kNoEvent) {
        if (!retain_from_) {
          return BadInput(
              fmt::format("{}: cause {} is unknown", Where(row), out_.strings.At(causes_[i])),
              "give all events, or the time of the first with --retain-from-ns");
        }
        out_.lost_cause[e] = true;
        out_.lost_causes.emplace_back(e, causes_[i]);
        continue;
      }
      if (cause >= e) return bad("does not precede it (start, then end, then line)");
      if (out_.end_ns[cause] > out_.start_ns[e]) {
        return bad(fmt::format("ends at {}, after its effect starts at {}", out_.end_ns[cause],
                               out_.start_ns[e]));
      }
      if (out_.type[e] == ProvenanceType::kReceive && out_.type[cause] != ProvenanceType::kSend)
        return bad(
            fmt::format("is {}; that of RCV is its SND", ProvenanceTypeName(out_.type[cause])));
      if (effect_of[cause] == e) continue;  // a tuple joined with itself
      effect_of[cause] = e;
      out_.causes.push_back(cause);
    }
    out_.causes_begin.push_back(static_cast<uint32_t>(out_.causes.size()));
  }
  return {};
}

Status ExecutionRows::TakeReady(const std::vector<uint32_t>& rows) {
  out_.ready_ns.reserve(rows.size());
  out_.ready_told.assign(rows.size(), false);
  for (uint32_t e = 0; e < rows.size(); ++e) {
    // A lost cause ended before the time retained from.
    Nanos last = out_.lost_cause[e] ? SaturatingSub(*retain_from_, 1) : kNotTold;
    uint32_t last_cause = kNoEvent;
    for (uint32_t i = out_.causes_begin[e]; i < out_.causes_begin[e + 1]; ++i) {
      const uint32_t cause = out_.causes[i];
      if (last_cause != kNoEvent && out_.end_ns[cause] <= last) continue;
      last = out_.end_ns[cause];
      last_cause = cause;
    }
    const Nanos told = ready_[rows[e]];
    if (told != kNotTold) {
      if (last_cause != kNoEvent && told < last) {
        return BadInput(
            fmt::format("{}: is ready at {}, before its cause {} ends at {}", Where(rows[e]), told,
                        out_.strings.At(out_.id[last_cause]), last),
            kFormatHint);
      }
      out_.ready_told[e] = true;
      out_.ready_ns.push_back(told);
      continue;
    }
    const ProvenanceType type = out_.type[e];
    const bool waits = type == ProvenanceType::kDerive || type == ProvenanceType::kUnderive ||
                       type == ProvenanceType::kSend;
    out_.ready_ns.push_back(waits ? std::min(last, out_.start_ns[e]) : out_.start_ns[e]);
  }
  return {};
}

void ExecutionRows::TakeHolds(const std::vector<uint32_t>& rows) {
  std::vector<uint32_t> resource_of(out_.strings.size(), UINT32_MAX);
  out_.holds.reserve(holds_.size());
  out_.holder.reserve(holds_.size());
  out_.holds_begin.reserve(rows.size() + 1);
  out_.holds_begin.push_back(0);
  for (uint32_t e = 0; e < rows.size(); ++e) {
    for (uint32_t i = holds_begin_[rows[e]]; i < holds_begin_[rows[e] + 1]; ++i) {
      const RowHold& hold = holds_[i];
      uint32_t& resource = resource_of[hold.resource];
      if (resource == UINT32_MAX) {
        resource = static_cast<uint32_t>(out_.resource_name.size());
        out_.resource_name.push_back(hold.resource);
        const auto told = servers_told_.find(hold.resource);
        out_.servers.push_back(told == servers_told_.end() ? 1 : told->second);
      }
      out_.holds.push_back(
          {resource, 0, hold.since_ns == kNotTold ? out_.start_ns[e] : hold.since_ns});
      out_.holder.push_back(e);
    }
    out_.holds_begin.push_back(static_cast<uint32_t>(out_.holds.size()));
  }
}

Result<Execution> ExecutionRows::Finish() {
  const std::vector<uint32_t> rows = SortedRows();
  MoveColumns(rows);
  WF_TRY(LinkCauses(rows));
  WF_TRY(TakeReady(rows));
  TakeHolds(rows);
  WF_TRY(AssignServers(out_));
  return std::move(out_);
}

}  // namespace wf::provenance
