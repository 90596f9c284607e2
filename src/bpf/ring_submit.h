// How our programs pass a record to the reader of a ring.
#pragma once

#include "bpf/assembler.h"
#include "bpf/bpf_object.h"

namespace wf::bpf {

// Submits the record in `record` (one of r6–r9; r0–r5 are lost). The reader is not woken for each record:
// that would interrupt the watched process for 20 µs per record on a small virtual machine. It looks as often
// as it polls (BpfRingReader::Poll), and is woken when a quarter of the ring is full.
void AppendRingSubmit(BpfAssembler& a, const BpfMap& ring, BpfReg record);

// The same for a record of `bytes` bytes elsewhere: `record` (one of r6–r9) points to it. r0 is nonzero if
// the ring is full.
void AppendRingOutput(BpfAssembler& a, const BpfMap& ring, BpfReg record, int32_t bytes);

}  // namespace wf::bpf
