#include "weaver/event_program.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weaver/group_code.h"
#include "weaver/observe_code.h"
#include "weaver/program_frame.h"

namespace wf::weaver {
namespace {

using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;
using M = bpf::BpfMath;

// How many calls one exception may leave before the rest is forgotten, and how many that were left without a trace
// (longjmp) an entry clears away.
constexpr int32_t kMostUnwound = 32;
constexpr int kMostStale = 4;

std::vector<Operand> ObservedColumns(const advice::Advice& advice, const RecordLayout& layout,
                                     std::string_view tracepoint) {
  std::vector<Operand> columns;
  const auto* observe = std::get_if<advice::Observe>(&advice.steps.front());
  if (observe == nullptr) return columns;
  for (const std::string& name : observe->variables) {
    Operand column;
    if (name == "time") {
      column.type = Operand::Type::kInteger;
      column.at = offsetof(RecordHeader, time);
    } else if (name == "procId") {
      column.type = Operand::Type::kInteger;
      column.narrow = true;
      column.at = offsetof(RecordHeader, process);
    } else if (name == "procName") {
      column.type = Operand::Type::kProcessName;
      column.at = offsetof(RecordHeader, process);
    } else if (name == "host") {
      column.type = Operand::Type::kHost;
      column.at = offsetof(RecordHeader, process);
    } else if (name == "tracepoint") {
      column.type = Operand::Type::kString;
      column.constant = true;
      column.text = tracepoint;
    } else {
      column = VariableOperand(layout, name);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

bool Observes(const advice::Advice& advice, std::string_view name) {
  const auto* observe = std::get_if<advice::Observe>(&advice.steps.front());
  return observe != nullptr && std::find(observe->variables.begin(), observe->variables.end(),
                                         name) != observe->variables.end();
}

const advice::Emit* OnlyEmit(const advice::Advice& advice) {
  for (size_t i = 1; i + 1 < advice.steps.size(); ++i)
    if (!std::holds_alternative<advice::Filter>(advice.steps[i])) return nullptr;
  return std::get_if<advice::Emit>(&advice.steps.back());
}

size_t ScratchBytes(const ProgramSpec& spec) {
  if (spec.advice == nullptr) return 0;
  size_t expression = 0;
  const auto needs = [&](const advice::Expression& e) {
    expression = std::max(expression, ExpressionCode::BytesFor(e));
  };
  for (const size_t step : spec.plan->filters)
    needs(std::get<advice::Filter>(spec.advice->steps[step]).condition);
  size_t groups = 0;
  if (spec.groups != nullptr) {
    const auto& grouping = std::get<advice::Emit>(spec.advice->steps.back()).grouping;
    for (const auto& column : grouping.columns) needs(column);
    for (const auto& input : grouping.aggregates) needs(input.argument);
    groups = GroupCode::BytesFor(spec.groups->shape);
  }
  return expression + groups;
}

class Builder {
 public:
  explicit Builder(const ProgramSpec& spec)
      : spec_(spec), frame_(a_, spec, ScratchBytes(spec)), observe_(a_, frame_, spec) {}

  std::vector<bpf_insn> Build() {
    frame_.Begin();
    switch (spec_.kind) {
      case SiteKind::kEntry:
      case SiteKind::kLine:
        Entry();
        break;
      case SiteKind::kReturn:
      case SiteKind::kTailJump:
        End();
        break;
      case SiteKind::kUnwinder:
        Unwinder();
        break;
    }
    return frame_.Finish();
  }

 private:
  void Entry() {
    frame_.BeginRecord();
    observe_.ReadValues();
    if (spec_.calls != nullptr && spec_.kind == SiteKind::kEntry) Open();
    if (spec_.happens) {
      Advise();
    } else {
      frame_.DropRecord();
    }
  }

  void Open() {
    const auto unreadable = a_.NewLabel();
    if (!observe_.Follow(*spec_.frame, unreadable)) a_.JumpIf(R::r8, C::kEqual, 0, unreadable);
    a_.Store(W::k8, R::r10, kLimitAt, R::r8);
    a_.Call(BPF_FUNC_ktime_get_ns);
    a_.Store(W::k8, kRecord, offsetof(RecordHeader, entered), R::r0);
    if (spec_.calls->innermost) ForgetStale();
    a_.Load(W::k8, R::r8, R::r10, kLimitAt);
    WriteCallKey(R::r8);
    a_.Map(R::r1, spec_.calls->calls.fd());
    frame_.Address(R::r2, kCallKeyAt);
    a_.Move(R::r3, kRecord);
    a_.Add(R::r3, offsetof(RecordHeader, entered));
    a_.Move(R::r4, BPF_ANY);
    a_.Call(BPF_FUNC_map_update_elem);
    if (spec_.calls->innermost) SetInnermost(kLimitAt);
    a_.Bind(unreadable);
  }

  // The innermost call around this one becomes `previous`; calls that cannot be running any more are taken out.
  void ForgetStale() {
    const auto known = a_.NewLabel();
    a_.Move(R::r9, 0);
    LookupInnermost(known);
    a_.Load(W::k8, R::r9, R::r0, 0);
    for (int i = 0; i < kMostStale; ++i) {
      const auto gone = a_.NewLabel(), next = a_.NewLabel();
      a_.JumpIf(R::r9, C::kEqual, 0, known);
      a_.Load(W::k8, R::r1, R::r10, kLimitAt);
      a_.JumpIf(R::r9, C::kGreater, R::r1, known);
      WriteCallKey(R::r9);
      LookupCall(gone);
      a_.Load(W::k8, R::r9, R::r0,
              offsetof(RecordHeader, previous) - offsetof(RecordHeader, entered));
      DeleteCall();
      a_.Jump(next);
      a_.Bind(gone);
      a_.Move(R::r9, 0);
      a_.Bind(next);
    }
    a_.Bind(known);
    a_.Store(W::k8, kRecord, offsetof(RecordHeader, previous), R::r9);
  }

  void End() {
    frame_.BeginRecord();
    if (spec_.calls != nullptr) {
      const auto unknown = a_.NewLabel(), done = a_.NewLabel();
      if (!observe_.Follow(*spec_.frame, unknown)) a_.JumpIf(R::r8, C::kEqual, 0, unknown);
      WriteCallKey(R::r8);
      LookupCall(unknown);
      TakeCall();
      a_.Jump(done);
      a_.Bind(unknown);
      observe_.NothingFromEntry();
      a_.Bind(done);
    }
    if (!spec_.happens) {
      frame_.DropRecord();
      return;
    }
    observe_.ReadValues();
    Advise();
  }

  // r0: the call. It is over.
  void TakeCall() {
    a_.Move(R::r9, R::r0);
    observe_.TakeFromEntry(R::r9);
    if (spec_.calls->innermost) {
      a_.Load(W::k8, R::r1, R::r9,
              offsetof(RecordHeader, previous) - offsetof(RecordHeader, entered));
      a_.Store(W::k8, R::r10, kLimit2At, R::r1);
    }
    DeleteCall();
    if (spec_.calls->innermost) SetInnermost(kLimit2At);
  }

  // Every call of this thread up to the frame that it is about to have ends here.
  void Unwinder() {
    const auto again = a_.NewLabel(), nothing = a_.NewLabel();
    if (!observe_.Follow(*spec_.frame, frame_.out())) a_.JumpIf(R::r8, C::kEqual, 0, frame_.out());
    a_.Store(W::k8, R::r10, kLimitAt, R::r8);
    a_.Store(W::k8, R::r10, kTurnAt, 0);
    a_.Bind(again);
    a_.Load(W::k8, R::r1, R::r10, kTurnAt);
    a_.JumpIf(R::r1, C::kGreaterEqual, kMostUnwound, frame_.out());
    a_.Add(R::r1, 1);
    a_.Store(W::k8, R::r10, kTurnAt, R::r1);
    LookupInnermost(frame_.out());
    a_.Load(W::k8, R::r8, R::r0, 0);
    a_.JumpIf(R::r8, C::kEqual, 0, frame_.out());
    a_.Load(W::k8, R::r1, R::r10, kLimitAt);
    a_.JumpIf(R::r8, C::kGreater, R::r1, frame_.out());
    WriteCallKey(R::r8);
    frame_.set_out(again);
    frame_.BeginRecord();
    LookupCall(nothing);
    TakeCall();
    observe_.ReadValues();
    Advise();
    a_.Bind(nothing);  // it was forgotten because there were too many
    a_.Store(W::k8, R::r10, kLimit2At, 0);
    SetInnermost(kLimit2At);
    frame_.DropRecord();
    frame_.restore_out();
  }

  void Advise() {
    if (spec_.advice == nullptr || spec_.plan == nullptr) {
      frame_.SendRecord(Counter::kSingly);
      return;
    }
    if (Observes(*spec_.advice, "time")) frame_.ReadClock();
    const std::vector<Operand> columns =
        ObservedColumns(*spec_.advice, *spec_.layout, spec_.tracepoint);
    const auto inexact = a_.NewLabel(), filtered = a_.NewLabel();
    bool filters = false;
    // Not every expression can be inexact, and the verifier rejects unreachable code.
    a_.Move(R::r1, 0);
    a_.JumpIf(R::r1, C::kNotEqual, 0, inexact);
    ExpressionCode code(a_, frame_.scratch(), spec_.layout->string_bytes, inexact);
    for (const size_t step : spec_.plan->filters) {
      const auto& condition = std::get<advice::Filter>(spec_.advice->steps[step]).condition;
      const auto value = code.Compile(condition, columns);
      code.JumpUnlessTrue(*value, filtered);
      filters = true;
    }
    if (spec_.groups == nullptr) {
      frame_.SendRecord(Counter::kSingly);
    } else {
      frame_.JumpIfUnknownProcess(inexact);
      const auto& grouping = std::get<advice::Emit>(spec_.advice->steps.back()).grouping;
      size_t expression = 0;
      for (const auto& column : grouping.columns)
        expression = std::max(expression, ExpressionCode::BytesFor(column));
      for (const auto& input : grouping.aggregates)
        expression = std::max(expression, ExpressionCode::BytesFor(input.argument));
      for (const size_t step : spec_.plan->filters)
        expression = std::max(expression,
                              ExpressionCode::BytesFor(
                                  std::get<advice::Filter>(spec_.advice->steps[step]).condition));
      GroupCode(a_, frame_, code, *spec_.groups,
                static_cast<int16_t>(frame_.scratch() + static_cast<int16_t>(expression)), inexact)
          .Add(grouping, columns);
      frame_.DropRecord();
    }
    if (filters) {
      a_.Bind(filtered);
      frame_.Count(Counter::kFiltered);
      frame_.DropRecord();
    }
    a_.Bind(inexact);
    frame_.SendRecord(Counter::kInexact);
  }

  void WriteCallKey(R frame) {
    a_.Load(W::k8, R::r1, R::r10, kThreadAt);
    a_.Store(W::k8, R::r10, kCallKeyAt, R::r1);
    a_.Store(W::k8, R::r10, kCallKeyAt + 8, frame);
  }
  void LookupCall(bpf::BpfAssembler::Label otherwise) {
    a_.Map(R::r1, spec_.calls->calls.fd());
    frame_.Address(R::r2, kCallKeyAt);
    a_.Call(BPF_FUNC_map_lookup_elem);
    a_.JumpIf(R::r0, C::kEqual, 0, otherwise);
  }
  void DeleteCall() {
    a_.Map(R::r1, spec_.calls->calls.fd());
    frame_.Address(R::r2, kCallKeyAt);
    a_.Call(BPF_FUNC_map_delete_elem);
  }
  void LookupInnermost(bpf::BpfAssembler::Label otherwise) {
    a_.Map(R::r1, spec_.calls->innermost->fd());
    frame_.Address(R::r2, kThreadAt);
    a_.Call(BPF_FUNC_map_lookup_elem);
    a_.JumpIf(R::r0, C::kEqual, 0, otherwise);
  }
  void SetInnermost(int16_t value) {
    a_.Map(R::r1, spec_.calls->innermost->fd());
    frame_.Address(R::r2, kThreadAt);
    frame_.Address(R::r3, value);
    a_.Move(R::r4, BPF_ANY);
    a_.Call(BPF_FUNC_map_update_elem);
  }

  bpf::BpfAssembler a_;
  const ProgramSpec& spec_;
  ProgramFrame frame_;
  ObserveCode observe_;
};

}  // namespace

Result<CallMaps> CallMaps::Create(const RecordLayout& layout, CallExceptions exceptions) {
  CallMaps maps;
  // As many calls as a large program has threads, some deep in recursion; what is not touched for longest goes first.
  constexpr uint32_t kMostCalls = 1 << 14;
  const auto bytes = static_cast<uint32_t>(layout.bytes - offsetof(RecordHeader, entered));
  WF_ASSIGN(maps.calls, bpf::BpfMap::Create("wf_calls", {bpf::BpfMapType::kRecentHash,
                                                         sizeof(CallKey), bytes, kMostCalls}));
  if (exceptions == CallExceptions::kTold) {
    WF_ASSIGN(maps.innermost, bpf::BpfMap::Create("wf_innermost", {bpf::BpfMapType::kRecentHash, 8,
                                                                   8, kMostCalls}));
  }
  return maps;
}

Result<GroupMaps> GroupMaps::Create(const GroupShape& shape, uint32_t groups) {
  GroupMaps maps;
  maps.shape = shape;
  bpf::BpfMap::Shape map{bpf::BpfMapType::kCpuHash, shape.key_bytes, shape.value_bytes, groups};
  if (shape.key_bytes == 0) map = {bpf::BpfMapType::kCpuArray, 4, shape.value_bytes, 1};
  for (bpf::BpfMap& each : maps.maps) {
    WF_ASSIGN(each, bpf::BpfMap::Create("wf_groups", map));
  }
  WF_ASSIGN(maps.zeros,
            bpf::BpfMap::Create("wf_zeros", {bpf::BpfMapType::kArray, 4, shape.value_bytes, 1}));
  return maps;
}

KernelPlan PlanKernel(const advice::Advice& advice, const RecordLayout& layout,
                      std::string_view tracepoint) {
  KernelPlan plan;
  const std::vector<Operand> columns = ObservedColumns(advice, layout, tracepoint);
  // Tried on an assembler of its own; only what comes out is kept.
  bpf::BpfAssembler a;
  ExpressionCode code(a, 0, layout.string_bytes, a.NewLabel());
  bool all = true;
  // An event of First or MostRecent is picked before Where looks at it: it must reach user space either way.
  if (!std::holds_alternative<advice::Emit>(advice.steps.back())) return plan;
  for (size_t i = 1; i < advice.steps.size(); ++i) {
    const auto* filter = std::get_if<advice::Filter>(&advice.steps[i]);
    if (filter == nullptr) break;
    if (code.Compile(filter->condition, columns)) {
      plan.filters.push_back(i);
    } else {
      all = false;
    }
  }
  const advice::Emit* emit = OnlyEmit(advice);
  if (!all || emit == nullptr || !emit->grouped) return plan;
  std::vector<Operand> keys, arguments;
  for (const auto& column : emit->grouping.columns) {
    const auto key = code.Compile(column, columns);
    if (!key) return plan;
    keys.push_back(*key);
  }
  for (const auto& input : emit->grouping.aggregates) {
    if (input.carried) return plan;
    const auto argument = code.Compile(input.argument, columns);
    if (!argument) return plan;
    arguments.push_back(*argument);
  }
  GroupShape shape;
  if (ShapeGroups(emit->grouping, keys, arguments, layout.string_bytes, shape))
    plan.groups = std::move(shape);
  return plan;
}

std::vector<bpf_insn> EventProgram(const ProgramSpec& spec) { return Builder(spec).Build(); }

}  // namespace wf::weaver
