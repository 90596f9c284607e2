// What the tests of advice share: a tracepoint's event and a baggage without instances.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "advice/interpreter.h"
#include "advice/results.h"

namespace wf::advice {

struct TestEvent : Event {
  std::map<std::string, Value, std::less<>> variables;
  int64_t time = 0;
  std::string name;

  TestEvent(std::map<std::string, Value, std::less<>> v, int64_t t = 0, std::string i = "e")
      : variables(std::move(v)), time(t), name(std::move(i)) {}
  Value Variable(std::string_view variable) const override {
    const auto at = variables.find(variable);
    return at != variables.end() ? at->second : Value();
  }
  int64_t time_ns() const override { return time; }
  std::string_view id() const override { return name; }
};

// One branch, one instance.
struct TestBaggage : Baggage {
  std::map<uint32_t, PackedTuples> slots;
  PackedTuples Unpack(const Program&, uint32_t slot) override { return slots[slot]; }
  void Pack(const Program& program, uint32_t slot, int64_t time, std::string_view id,
            Rows rows) override {
    if (program.slots[slot].keep == Keep::kAll) {
      slots[slot].Add(program.slots[slot], rows);
    } else {
      slots[slot].AddEvent(program.slots[slot], time, id, rows);
    }
  }
};

struct TestEmitter : Emitter {
  Results results;
  explicit TestEmitter(const Program& program) : results(program) {}
  void EmitTuples(const Program&, Rows rows) override { results.Add(rows); }
};

// A program is put together as the compiler would: slots follow from the Pack steps.
inline Program MakeProgram(std::vector<Advice> advice) {
  Program program;
  program.query = 0x0123456789abcdef;
  program.advice = std::move(advice);
  for (const Advice& one : program.advice) {
    if (const auto* pack = std::get_if<Pack>(&one.steps.back())) {
      if (program.slots.size() <= pack->slot) program.slots.resize(pack->slot + 1);
      program.slots[pack->slot] = SlotOf(*pack);
    }
    if (const auto* emit = std::get_if<Emit>(&one.steps.back())) {
      for (size_t i = 0; i < emit->select.size(); ++i)
        program.result_columns.push_back("c" + std::to_string(i));
    }
  }
  return program;
}

inline AggregateInput Over(AggregateKind kind, Expression argument) {
  AggregateInput input;
  input.aggregate.kind = kind;
  input.argument = std::move(argument);
  return input;
}
inline AggregateInput CarriedFrom(AggregateKind kind, uint32_t unpack, uint32_t state) {
  AggregateInput input;
  input.aggregate.kind = kind;
  input.carried = AggregateInput::Carried{unpack, state};
  return input;
}
inline Expression Compared(Op op, Expression a, Expression b) {
  const auto shift = static_cast<uint32_t>(a.constants.size());
  for (Instruction step : b.code) {
    if (step.op == Op::kConstant) step.operand += shift;
    a.code.push_back(step);
  }
  for (Value& constant : b.constants) a.constants.push_back(std::move(constant));
  a.code.push_back({op, 0});
  return a;
}

}  // namespace wf::advice
