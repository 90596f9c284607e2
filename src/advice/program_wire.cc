// Programs in bytes: a version, then everything in the order of the structs.
#include <utility>

#include "advice/program.h"
#include "advice/wire.h"

namespace wf::advice {
namespace {

constexpr uint8_t kVersion = 1;

enum class StepTag : uint8_t { kObserve, kFilter, kRequireTuples, kUnpack, kPack, kEmit };

class ProgramWriter {
 public:
  explicit ProgramWriter(Writer& out) : out_(out) {}

  void Write(const Program& program) {
    out_.Byte(kVersion);
    out_.Fixed64(program.query);
    out_.Byte(program.sample ? 1 : 0);
    if (program.sample) out_.Double(*program.sample);
    WriteNames(program.result_columns);
    out_.Varint(program.slots.size());
    for (const Slot& slot : program.slots) Write(slot);
    out_.Varint(program.advice.size());
    for (const Advice& advice : program.advice) {
      WriteNames(advice.tracepoints);
      out_.Varint(advice.steps.size());
      for (const Step& step : advice.steps) Write(step);
    }
  }

 private:
  void WriteNames(const std::vector<std::string>& names) {
    out_.Varint(names.size());
    for (const std::string& name : names) out_.Text(name);
  }
  void Write(const Slot& slot) {
    out_.Byte(static_cast<uint8_t>(slot.keep));
    out_.Varint(slot.limit);
    out_.Varint(slot.columns);
    out_.Varint(slot.aggregates.size());
    for (const Aggregate& aggregate : slot.aggregates) Write(aggregate);
  }
  void Write(const Aggregate& aggregate) {
    out_.Byte(static_cast<uint8_t>(aggregate.kind));
    out_.Double(aggregate.parameter);
  }
  void Write(const Expression& expression) {
    StringTable strings;
    out_.Varint(expression.constants.size());
    for (const Value& constant : expression.constants) WriteValue(constant, out_, strings);
    out_.Varint(expression.code.size());
    for (const Instruction& step : expression.code) {
      out_.Byte(static_cast<uint8_t>(step.op));
      if (step.op == Op::kConstant || step.op == Op::kColumn) out_.Varint(step.operand);
    }
  }
  void Write(const std::vector<Expression>& expressions) {
    out_.Varint(expressions.size());
    for (const Expression& expression : expressions) Write(expression);
  }
  void Write(const Grouping& grouping) {
    Write(grouping.columns);
    out_.Varint(grouping.aggregates.size());
    for (const AggregateInput& input : grouping.aggregates) {
      Write(input.aggregate);
      out_.Byte(input.carried ? 1 : 0);
      if (input.carried) {
        out_.Varint(input.carried->unpack);
        out_.Varint(input.carried->state);
      } else {
        Write(input.argument);
      }
    }
  }
  void Write(const Step& step) {
    out_.Byte(static_cast<uint8_t>(step.index()));
    if (const auto* observe = std::get_if<Observe>(&step)) WriteNames(observe->variables);
    if (const auto* filter = std::get_if<Filter>(&step)) Write(filter->condition);
    if (const auto* unpack = std::get_if<Unpack>(&step)) {
      out_.Varint(unpack->slot);
      out_.Byte(unpack->finish ? 1 : 0);
      Write(unpack->select);
    }
    if (const auto* pack = std::get_if<Pack>(&step)) {
      out_.Varint(pack->slot);
      out_.Byte(static_cast<uint8_t>(pack->keep));
      out_.Varint(pack->limit);
      Write(pack->grouping);
    }
    if (const auto* emit = std::get_if<Emit>(&step)) {
      Write(emit->grouping);
      out_.Byte(emit->grouped ? 1 : 0);
      Write(emit->select);
    }
  }

  Writer& out_;
};

// Whatever goes wrong shows in in_.ok(); Valid looks at the rest.
class ProgramReader {
 public:
  explicit ProgramReader(std::string_view bytes) : in_(bytes) {}

  bool Read(Program& program) {
    if (in_.Byte() != kVersion) return false;
    program.query = in_.Fixed64();
    if (Flag()) program.sample = in_.Double();
    ReadNames(program.result_columns);
    Repeat([&] { program.slots.push_back(ReadSlot()); });
    Repeat([&] {
      Advice& advice = program.advice.emplace_back();
      ReadNames(advice.tracepoints);
      Repeat([&] { advice.steps.push_back(ReadStep()); });
    });
    return in_.Done();
  }

 private:
  bool Flag() {
    const uint8_t byte = in_.Byte();
    if (byte > 1) in_.Fail();
    return byte == 1;
  }
  uint32_t Number() {
    const uint64_t value = in_.Varint();
    if (value > UINT32_MAX) in_.Fail();
    return static_cast<uint32_t>(value);
  }
  template <class Body>
  void Repeat(Body&& body) {
    const size_t count = in_.Count();
    for (size_t i = 0; i < count && in_.ok(); ++i) body();
  }
  void ReadNames(std::vector<std::string>& names) {
    Repeat([&] { names.emplace_back(in_.Text()); });
  }
  Keep ReadKeep() {
    const uint8_t keep = in_.Byte();
    if (keep > static_cast<uint8_t>(Keep::kMostRecent)) in_.Fail();
    return static_cast<Keep>(keep);
  }
  Aggregate ReadAggregate() {
    Aggregate aggregate;
    const uint8_t kind = in_.Byte();
    if (kind > static_cast<uint8_t>(AggregateKind::kHistogram)) {
      in_.Fail();
    } else {
      aggregate.kind = static_cast<AggregateKind>(kind);
    }
    aggregate.parameter = in_.Double();
    return aggregate;
  }
  Slot ReadSlot() {
    Slot slot;
    slot.keep = ReadKeep();
    slot.limit = Number();
    slot.columns = Number();
    Repeat([&] { slot.aggregates.push_back(ReadAggregate()); });
    return slot;
  }
  Expression ReadExpression() {
    Expression expression;
    StringReferences strings;
    Repeat([&] { expression.constants.push_back(ReadValue(in_, strings)); });
    Repeat([&] {
      Instruction step;
      const uint8_t op = in_.Byte();
      if (op > static_cast<uint8_t>(Op::kSize)) return in_.Fail();
      step.op = static_cast<Op>(op);
      if (step.op == Op::kConstant || step.op == Op::kColumn) step.operand = Number();
      expression.code.push_back(step);
    });
    return expression;
  }
  std::vector<Expression> ReadExpressions() {
    std::vector<Expression> expressions;
    Repeat([&] { expressions.push_back(ReadExpression()); });
    return expressions;
  }
  Grouping ReadGrouping() {
    Grouping grouping;
    grouping.columns = ReadExpressions();
    Repeat([&] {
      AggregateInput& input = grouping.aggregates.emplace_back();
      input.aggregate = ReadAggregate();
      if (Flag()) {
        input.carried.emplace();
        input.carried->unpack = Number();
        input.carried->state = Number();
      } else {
        input.argument = ReadExpression();
      }
    });
    return grouping;
  }
  Step ReadStep() {
    switch (static_cast<StepTag>(in_.Byte())) {
      case StepTag::kObserve: {
        Observe observe;
        ReadNames(observe.variables);
        return observe;
      }
      case StepTag::kFilter:
        return Filter{ReadExpression()};
      case StepTag::kRequireTuples:
        return RequireTuples{};
      case StepTag::kUnpack: {
        Unpack unpack;
        unpack.slot = Number();
        unpack.finish = Flag();
        unpack.select = ReadExpressions();
        return unpack;
      }
      case StepTag::kPack: {
        Pack pack;
        pack.slot = Number();
        pack.keep = ReadKeep();
        pack.limit = Number();
        pack.grouping = ReadGrouping();
        return pack;
      }
      case StepTag::kEmit: {
        Emit emit;
        emit.grouping = ReadGrouping();
        emit.grouped = Flag();
        emit.select = ReadExpressions();
        return emit;
      }
    }
    in_.Fail();
    return RequireTuples{};
  }

  Reader in_;
};

}  // namespace

std::string Encode(const Program& program) {
  std::string bytes;
  Writer out(bytes);
  ProgramWriter(out).Write(program);
  out.Finish();
  return bytes;
}

bool Decode(std::string_view bytes, Program& out) {
  if (bytes.size() > kMaxProgramBytes) return false;
  try {
    out = Program();
    return ProgramReader(bytes).Read(out) && Valid(out);
  } catch (...) {  // out of memory, in someone else's process
    return false;
  }
}

}  // namespace wf::advice
