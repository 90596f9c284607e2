// Reads what a tracepoint exports into the record, by the recipes of its site.
#pragma once

#include <string_view>

#include "bpf/assembler.h"
#include "weaver/event_record.h"
#include "weaver/expression_code.h"
#include "weaver/probe_site.h"

namespace wf::weaver {

class ProgramFrame;
struct ProgramSpec;

// A variable as an operand of expressions: null if the layout has none of that name.
Operand VariableOperand(const RecordLayout& layout, std::string_view name);

class ObserveCode {
 public:
  ObserveCode(bpf::BpfAssembler& a, ProgramFrame& frame, const ProgramSpec& spec)
      : a_(a), frame_(frame), spec_(spec) {}

  // The values that the site itself can read.
  void ReadValues();
  // The values that the call's entry kept: `call` (one of r6–r9) points to them.
  void TakeFromEntry(bpf::BpfReg call);
  // The entry was not seen.
  void NothingFromEntry();

  // Puts the recipe's value into r8. Returns whether it can fail, by a jump.
  bool Follow(const Recipe& recipe, bpf::BpfAssembler::Label otherwise);

 private:
  void ReadNumber(size_t variable, const ValueRead& read);
  void ReadCString(size_t variable, const ValueRead& read);
  void ReadBytes(size_t variable, const ValueRead& read);
  void SetNull(size_t variable);
  bool FromEntry(size_t variable) const;

  bpf::BpfAssembler& a_;
  ProgramFrame& frame_;
  const ProgramSpec& spec_;
};

}  // namespace wf::weaver
