// Adding an event to its group, in eBPF.
#pragma once

#include <vector>

#include "advice/program.h"
#include "weaver/event_program.h"
#include "weaver/expression_code.h"

namespace wf::weaver {

class ProgramFrame;

class GroupCode {
 public:
  // `memory`: BytesFor bytes in the record. `inexact`: where the code jumps if user space must process the
  // event; nothing that matters was added.
  GroupCode(bpf::BpfAssembler& a, ProgramFrame& frame, ExpressionCode& code, const GroupMaps& maps,
            int16_t memory, bpf::BpfAssembler::Label inexact)
      : a_(a), frame_(frame), code_(code), maps_(maps), memory_(memory), inexact_(inexact) {}

  void Add(const advice::Grouping& grouping, const std::vector<Operand>& columns);

  static size_t BytesFor(const GroupShape& shape);

 private:
  void WriteKey(const advice::Grouping& grouping, const std::vector<Operand>& columns);
  void AddTo(const bpf::BpfMap& map, const std::vector<Operand>& arguments);
  void FindValue(const bpf::BpfMap& map);
  void RaiseExtreme(const AggregateCells& cells, const Operand& argument);
  void AddToCells(const AggregateCells& cells, const Operand& argument);
  void AddToHistogram(const AggregateCells& cells);

  bpf::BpfAssembler& a_;
  ProgramFrame& frame_;
  ExpressionCode& code_;
  const GroupMaps& maps_;
  const int16_t memory_;
  const bpf::BpfAssembler::Label inexact_;
};

}  // namespace wf::weaver
