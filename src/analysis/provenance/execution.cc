#include "analysis/provenance/execution.h"

#include "analysis/provenance/execution_rows.h"

namespace wf::provenance {

uint32_t Execution::Find(std::string_view text) const {
  const uint32_t code = strings.Find(text);
  return code < event_of_id.size() ? event_of_id[code] : kNoEvent;
}

struct ExecutionBuilder::Impl {
  ExecutionRows rows;
};

ExecutionBuilder::ExecutionBuilder() : impl_(std::make_unique<Impl>()) {}
ExecutionBuilder::~ExecutionBuilder() = default;

Status ExecutionBuilder::Add(const ProvenanceEvent& event, std::string_view place) {
  // The columns use the smallest time as a mark for "not given", so events must not contain it.
  bool told_marker = event.ready_ns == kNotTold;
  if (event.holds) {
    for (const ProvenanceHold& hold : *event.holds)
      told_marker = told_marker || hold.since_ns == kNotTold;
  }
  if (told_marker || event.start_ns == kNotTold) {
    return BadInput("event " + event.id + ": the minimum 64-bit integer is not a valid time",
                    "docs/concepts/temporal-provenance.md describes the format of events");
  }
  EventView view;
  view.id = event.id;
  view.type = event.type;
  view.node = event.node;
  view.tuple = event.tuple;
  view.rule = event.rule;
  view.peer = event.peer;
  view.origin = event.origin;
  view.start_ns = event.start_ns;
  view.end_ns = event.end_ns;
  view.ready_ns = event.ready_ns.value_or(kNotTold);
  view.causes.assign(event.causes.begin(), event.causes.end());
  view.holds_told = event.holds.has_value();
  if (event.holds) {
    for (const ProvenanceHold& hold : *event.holds)
      view.holds.push_back({hold.resource, hold.since_ns.value_or(kNotTold)});
  }
  return impl_->rows.Add(view, 0, place);
}

Status ExecutionBuilder::Add(const ResourceServers& servers) {
  return impl_->rows.Add(servers.resource, servers.servers, {});
}

void ExecutionBuilder::RetainFrom(Nanos time) { impl_->rows.RetainFrom(time); }

Result<Execution> ExecutionBuilder::Finish() { return impl_->rows.Finish(); }

}  // namespace wf::provenance
