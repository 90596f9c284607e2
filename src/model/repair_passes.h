// The passes that make a sound trace from any received events, in the order in which BuildTrace runs them.
// Each pass records its changes on the element and counts them; recorded values stay in the repair's `before`
// and in the events.
#pragma once

#include "model/build_state.h"

namespace wf {

// repair_ids.cc: one id for a CLIENT and its SERVER (the SERVER becomes the child), other ids used twice.
void GiveOwnIds(BuildState& state);
// repair_parents.cc: parents by id; one stand-in for each that is not there; cycles cut above their earliest block.
// Afterwards BuildState::order holds parents before children.
void LinkParents(BuildState& state);
void BreakCycles(BuildState& state);
// repair_times.cc: missing begins and ends, ends before starts, stand-ins stretched over what is below them.
void MendTimes(BuildState& state);
// span_units.cc: units of spans, edges between parent and child, edges of links.
void AssignUnits(BuildState& state);
void RelateSpans(BuildState& state);
void AdoptUnits(
    BuildState&
        state);  // a recorded unit without parent belongs to who sent the first edge into it
// repair_times.cc: points into their blocks; extents of units.
void MendPoints(BuildState& state);
void MendUnits(BuildState& state);
// trace_layout.cc: canonical order of all elements, children, roots.
void LayOut(BuildState& state);
// completeness.cc: several roots, late events, what is missing and may still come.
void JudgeCompleteness(BuildState& state, const std::vector<uint32_t>& rows);
// invariants.cc: what must hold of every trace; violations are recorded, never repaired.
void CheckInvariants(BuildState& state);

}  // namespace wf
