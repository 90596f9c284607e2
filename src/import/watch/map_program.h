// What the BPF programs here share: a stack frame, and maps whose keys and values are in it.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

#include "bpf/assembler.h"
#include "bpf/bpf_object.h"

namespace wf::watch {

class MapProgram {
 protected:
  // `counters`: an array of one value, of 8-byte slots. A full map increments the slot `table_full`.
  MapProgram(const bpf::BpfMap& counters, uint32_t table_full)
      : out_(a_.NewLabel()), counters_(counters), table_full_(table_full) {}

  void FrameAddress(bpf::BpfReg to, int16_t place) {
    a_.Move(to, bpf::BpfReg::r10);
    a_.Add(to, place);
  }
  void Lookup(const bpf::BpfMap& map, int16_t key) {
    a_.Map(bpf::BpfReg::r1, map.fd());
    FrameAddress(bpf::BpfReg::r2, key);
    a_.Call(BPF_FUNC_map_lookup_elem);
  }
  void Delete(const bpf::BpfMap& map, int16_t key) {
    a_.Map(bpf::BpfReg::r1, map.fd());
    FrameAddress(bpf::BpfReg::r2, key);
    a_.Call(BPF_FUNC_map_delete_elem);
  }
  void Update(const bpf::BpfMap& map, int16_t key, int16_t value) {
    const auto done = a_.NewLabel();
    a_.Map(bpf::BpfReg::r1, map.fd());
    FrameAddress(bpf::BpfReg::r2, key);
    FrameAddress(bpf::BpfReg::r3, value);
    a_.Move(bpf::BpfReg::r4, BPF_ANY);
    a_.Call(BPF_FUNC_map_update_elem);
    a_.JumpIf(bpf::BpfReg::r0, bpf::BpfCondition::kEqual, 0, done);
    Count(table_full_);
    a_.Bind(done);
  }
  void Count(uint32_t slot) {
    a_.MapValue(bpf::BpfReg::r1, counters_.fd(), slot * 8);
    a_.Move(bpf::BpfReg::r2, 1);
    a_.AtomicAdd(bpf::BpfReg::r1, 0, bpf::BpfReg::r2);
  }
  // The complete program: all jumps to out_ end here.
  std::vector<bpf_insn> End() {
    a_.Bind(out_);
    a_.Return(0);
    return a_.Finish();
  }

  bpf::BpfAssembler a_;
  const bpf::BpfAssembler::Label out_;

 private:
  const bpf::BpfMap& counters_;
  const uint32_t table_full_;
};

}  // namespace wf::watch
