#include "scenario/trace_events.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "json/json_writer.h"

namespace wf::scenario {

uint64_t TraceEvents::NewId() {
  // Ids of W3C's shape: 64 bits that look random, never 0.
  uint64_t id = 0;
  while (id == 0) id = MixBits(trace_.lo + 0x9E3779B97F4A7C15ull * ++last_id_) ^ trace_.hi;
  return id;
}

size_t TraceEvents::UnitIndex(uint64_t unit) const {
  const auto home = std::find_if(units_.begin(), units_.end(),
                                 [&](const UnitHome& known) { return known.id == unit; });
  WF_CHECK(home != units_.end());
  return static_cast<size_t>(home - units_.begin());
}

size_t TraceEvents::HomeOf(uint64_t block) const {
  for (auto at = block_homes_.rbegin(); at != block_homes_.rend(); ++at) {
    if (at->first == block) return at->second;
  }
  WF_CHECK(false && "an event in a block that did not begin");
  return 0;
}

void TraceEvents::Add(std::string_view type, uint64_t id1, uint64_t id2, size_t unit, Nanos at,
                      Annotations annotations) {
  events_.push_back({type, id1, id2, unit, at, std::move(annotations)});
}

uint64_t TraceEvents::BeginUnit(const SimulatedHost& host, std::string_view service,
                                std::string_view name, Nanos at, uint64_t cause, Annotations more) {
  const uint64_t unit = NewId();
  units_.push_back({unit, host.clock_offset});
  Annotations annotations = {{"label:name", std::string(name)},
                             {"label:service", std::string(service)},
                             {"label:host", host.name}};
  std::move(more.begin(), more.end(), std::back_inserter(annotations));
  Add("unit_begin", unit, cause, units_.size() - 1, at, std::move(annotations));
  return unit;
}

void TraceEvents::EndUnit(uint64_t unit, Nanos at) {
  Add("unit_end", unit, 0, UnitIndex(unit), at, {});
}

void TraceEvents::StartTrace(uint64_t unit, Nanos at, std::string_view owner) {
  Add("trace_start", unit, 0, UnitIndex(unit), at, {{"label:owner", std::string(owner)}});
}

uint64_t TraceEvents::BeginBlock(uint64_t unit, std::string_view name, Nanos at, Annotations more) {
  const uint64_t block = NewId();
  const size_t index = UnitIndex(unit);
  block_homes_.emplace_back(block, index);
  more.insert(more.begin(), {"label:name", std::string(name)});
  Add("block_begin", block, unit, index, at, std::move(more));
  return block;
}

void TraceEvents::EndBlock(uint64_t block, Nanos at, Annotations more) {
  const size_t home = HomeOf(block);
  Add("block_end", block, units_[home].id, home, at, std::move(more));
}

uint64_t TraceEvents::Block(uint64_t unit, std::string_view name, Nanos from, Nanos until,
                            Annotations more) {
  const uint64_t block = BeginBlock(unit, name, from, std::move(more));
  EndBlock(block, until);
  return block;
}

void TraceEvents::Point(uint64_t block, std::string_view name, Nanos at, Annotations more) {
  more.insert(more.begin(), {"label:name", std::string(name)});
  Add("point", NewId(), block, HomeOf(block), at, std::move(more));
}

void TraceEvents::Event(std::string_view type, uint64_t id, uint64_t block, Nanos at,
                        Annotations more) {
  Add(type, id, block, HomeOf(block), at, std::move(more));
}

void TraceEvents::Write(std::string& lines) const {
  // By true time; at one instant in the order of the calls, so that an end comes before the begin that
  // follows it.
  std::vector<const Pending*> order;
  for (const Pending& event : events_) order.push_back(&event);
  std::stable_sort(order.begin(), order.end(),
                   [](const Pending* a, const Pending* b) { return a->at < b->at; });
  std::vector<int64_t> numbers(units_.size(), 0);
  JsonWriter json;
  for (const Pending* event : order) {
    json.BeginObject().Field("trace_id", ToHex(trace_)).Field("type", event->type);
    json.Field("id1", ToHex64(event->id1));
    if (event->id2 != 0) json.Field("id2", ToHex64(event->id2));
    json.Field("seq", ++numbers[event->unit]);
    json.Field("time_ns", start_ + event->at + units_[event->unit].clock_offset);
    if (!event->annotations.empty()) {
      json.Key("annotations").BeginObject();
      for (const auto& [key, value] : event->annotations) json.Field(key, value);
      json.EndObject();
    }
    json.EndObject();
    lines += json.Take();
    lines += '\n';
  }
}

}  // namespace wf::scenario
