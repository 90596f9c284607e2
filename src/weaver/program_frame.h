// What every woven program begins and ends with: the process that runs it, the record of the event, and what
// happens to the record.
//
// The record is in the program's frame (512 bytes, the rest of which is used from the top), or, if it is too
// large, in the ring from the start: then it is discarded there unless it is sent.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/assembler.h"
#include "weaver/expression_code.h"
#include "weaver/woven_maps.h"

namespace wf::weaver {

struct ProgramSpec;

// Slots in a program's frame.
inline constexpr int16_t kReadAt = -8;     // what was just read
inline constexpr int16_t kThreadAt = -16;  // eight bytes each
inline constexpr int16_t kProcessAt = -24;
inline constexpr int16_t kLimitAt = -32;  // of frames
inline constexpr int16_t kLimit2At = -40;
inline constexpr int16_t kCallKeyAt = -56;  // CallKey
inline constexpr int16_t kTurnAt = -64;
inline constexpr int16_t kVerdictAt = -72;  // VerdictKey
inline constexpr int16_t kKindAt = -80;
inline constexpr int16_t kZeroAt = -88;
inline constexpr int16_t kRecordEnd = -88;
inline constexpr size_t kFrameBytes = 512;

class ProgramFrame {
 public:
  ProgramFrame(bpf::BpfAssembler& a, const ProgramSpec& spec, size_t scratch_bytes);

  void Begin();
  // Where the program continues when an event is finished.
  bpf::BpfAssembler::Label out() const { return out_; }
  void set_out(bpf::BpfAssembler::Label out) { out_ = out; }
  void restore_out() { out_ = end_; }
  std::vector<bpf_insn> Finish();

  void BeginRecord();
  void DropRecord();
  void SendRecord(Counter counted_as);
  void ReadClock();
  // In the record, after everything that is sent.
  int16_t scratch() const { return scratch_; }

  void JumpIfUnknownProcess(bpf::BpfAssembler::Label to);
  void Count(Counter counter);
  void Address(bpf::BpfReg to, int16_t place);
  int control_fd() const;

 private:
  bool in_ring() const;
  bool anonymous() const;  // the process is not needed, so the kernel need not look it up
  void RememberName();

  bpf::BpfAssembler& a_;
  const ProgramSpec& spec_;
  const bpf::BpfAssembler::Label end_;
  bpf::BpfAssembler::Label out_;
  int16_t scratch_;
  size_t bytes_;
  bool clock_read_ = false;
};

}  // namespace wf::weaver
