// How our programs hand a record to the reader of a ring.
#pragma once

#include "bpf/assembler.h"
#include "bpf/bpf_object.h"

namespace wf::bpf {

// Submits the record in `record` (one of r6–r9; r0–r5 are lost). The reader is not woken for each: that would interrupt
// whoever is being watched, 20 µs a record on a small virtual machine. It looks by itself as often as it polls
// (BpfRingReader::Poll), and is woken when a quarter of the ring is full.
void AppendRingSubmit(BpfAssembler& a, const BpfMap& ring, BpfReg record);

// The same for a record of so many bytes that lies elsewhere: `record` (one of r6–r9) points to it. r0 is not zero if the
// ring is full.
void AppendRingOutput(BpfAssembler& a, const BpfMap& ring, BpfReg record, int32_t bytes);

}  // namespace wf::bpf
