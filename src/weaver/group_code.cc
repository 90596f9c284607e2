#include "weaver/group_code.h"

#include <cstddef>

#include "weaver/program_frame.h"

namespace wf::weaver {
namespace {

using advice::AggregateKind;
using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;
using M = bpf::BpfMath;

constexpr size_t kArgumentBytes = 16;
// A value that changes under us so often while it is raised: others raise it, too.
constexpr int kRaises = 6;

}  // namespace

size_t GroupCode::BytesFor(const GroupShape& shape) {
  return shape.cells.size() * kArgumentBytes + shape.key_bytes;
}

void GroupCode::Add(const advice::Grouping& grouping, const std::vector<Operand>& columns) {
  // Arguments are all there before anything is added: one that is inexact must leave no half of the event behind.
  std::vector<Operand> arguments;
  for (size_t i = 0; i < grouping.aggregates.size(); ++i) {
    Operand value = *code_.Compile(grouping.aggregates[i].argument, columns);
    const bool simple = grouping.aggregates[i].argument.code.size() == 1;
    if (!simple && !value.constant &&
        (value.type == Operand::Type::kInteger || value.type == Operand::Type::kBool)) {
      const auto at = static_cast<int16_t>(memory_ + static_cast<int16_t>(i * kArgumentBytes));
      a_.Load(W::k8, R::r1, kRecord, value.at);
      a_.Store(W::k8, kRecord, at, R::r1);
      value.at = at;
      if (value.null_at >= 0) {
        a_.Load(W::k8, R::r1, kRecord, value.null_at);
        value.null_at = static_cast<int16_t>(at + 8);
        a_.Store(W::k8, kRecord, value.null_at, R::r1);
      }
    }
    arguments.push_back(std::move(value));
  }
  WriteKey(grouping, columns);
  const auto second = a_.NewLabel(), done = a_.NewLabel();
  a_.MapValue(R::r1, frame_.control_fd(), offsetof(Control, active));
  a_.Load(W::k8, R::r1, R::r1, 0);
  a_.JumpIf(R::r1, C::kNotEqual, 0, second);
  AddTo(maps_.maps[0], arguments);
  a_.Jump(done);
  a_.Bind(second);
  AddTo(maps_.maps[1], arguments);
  a_.Bind(done);
}

void GroupCode::WriteKey(const advice::Grouping& grouping, const std::vector<Operand>& columns) {
  const GroupShape& shape = maps_.shape;
  if (shape.key_bytes == 0) {
    a_.Store(W::k8, R::r10, kZeroAt, 0);
    return;
  }
  const auto key =
      static_cast<int16_t>(memory_ + static_cast<int16_t>(shape.cells.size() * kArgumentBytes));
  bool nulls = false;
  for (const KeyColumn& column : shape.key) nulls = nulls || column.null_bit >= 0;
  if (nulls) a_.Store(W::k8, kRecord, key, 0);
  for (size_t i = 0; i < shape.key.size(); ++i) {
    const KeyColumn& column = shape.key[i];
    const Operand value = *code_.Compile(grouping.columns[i], columns);
    if (column.kind == KeyColumn::Kind::kConstant) continue;
    const auto at = static_cast<int16_t>(key + static_cast<int16_t>(column.offset));
    const size_t bytes = column.kind == KeyColumn::Kind::kString ? 8 + shape.string_bytes : 8;
    const auto null = a_.NewLabel(), done = a_.NewLabel();
    code_.JumpIfNull(value, null);
    for (size_t word = 0; word < bytes; word += 8) {
      a_.Load(W::k8, R::r1, kRecord, static_cast<int16_t>(value.at + static_cast<int16_t>(word)));
      a_.Store(W::k8, kRecord, static_cast<int16_t>(at + static_cast<int16_t>(word)), R::r1);
    }
    if (column.null_bit < 0) continue;
    a_.Jump(done);
    a_.Bind(null);
    for (size_t word = 0; word < bytes; word += 8)
      a_.Store(W::k8, kRecord, static_cast<int16_t>(at + static_cast<int16_t>(word)), 0);
    a_.Load(W::k8, R::r1, kRecord, key);
    a_.Constant(R::r2, uint64_t{1} << column.null_bit);
    a_.Math(M::kOr, R::r1, R::r2);
    a_.Store(W::k8, kRecord, key, R::r1);
    a_.Bind(done);
  }
}

// r0: this processor's value of the group.
void GroupCode::FindValue(const bpf::BpfMap& map) {
  const auto lookup = [&] {
    a_.Map(R::r1, map.fd());
    if (maps_.shape.key_bytes == 0) {
      frame_.Address(R::r2, kZeroAt);
    } else {
      a_.Move(R::r2, kRecord);
      a_.Add(R::r2, memory_ + static_cast<int32_t>(maps_.shape.cells.size() * kArgumentBytes));
    }
  };
  lookup();
  a_.Call(BPF_FUNC_map_lookup_elem);
  if (maps_.shape.key_bytes == 0) {
    a_.JumpIf(R::r0, C::kEqual, 0, inexact_);
    return;
  }
  const auto found = a_.NewLabel();
  a_.JumpIf(R::r0, C::kNotEqual, 0, found);
  lookup();
  a_.MapValue(R::r3, maps_.zeros.fd(), 0);
  a_.Move(R::r4, BPF_NOEXIST);
  a_.Call(BPF_FUNC_map_update_elem);  // another processor may have been faster
  lookup();
  a_.Call(BPF_FUNC_map_lookup_elem);
  a_.JumpIf(R::r0, C::kEqual, 0, inexact_);  // the map is full
  a_.Bind(found);
}

void GroupCode::AddTo(const bpf::BpfMap& map, const std::vector<Operand>& arguments) {
  FindValue(map);
  a_.Move(R::r9, R::r0);
  const auto& cells = maps_.shape.cells;
  // Extremes first: they may give up, and raising one twice does no harm.
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].never) continue;
    if (cells[i].kind == AggregateKind::kMin || cells[i].kind == AggregateKind::kMax)
      RaiseExtreme(cells[i], arguments[i]);
  }
  a_.Move(R::r1, 1);
  a_.AtomicAdd(R::r9, 0, R::r1);
  for (size_t i = 0; i < cells.size(); ++i)
    if (!cells[i].never) AddToCells(cells[i], arguments[i]);
}

void GroupCode::RaiseExtreme(const AggregateCells& cells, const Operand& argument) {
  const auto done = a_.NewLabel();
  const auto at = static_cast<int16_t>(cells.at);
  code_.JumpIfNull(argument, done);
  code_.LoadNumber(R::r3, argument);
  a_.Constant(R::r1, uint64_t{1} << 63);
  a_.Math(M::kXor, R::r3, R::r1);
  if (cells.kind == AggregateKind::kMin) a_.Math(M::kXor, R::r3, -1);
  for (int i = 0; i < kRaises; ++i) {
    a_.Load(W::k8, R::r0, R::r9, at);
    a_.JumpIf(R::r3, C::kLessEqual, R::r0, done);
    a_.Move(R::r4, R::r0);
    a_.CompareExchange(R::r9, at, R::r3);
    a_.JumpIf(R::r0, C::kEqual, R::r4, done);
  }
  a_.Jump(inexact_);
  a_.Bind(done);
}

void GroupCode::AddToCells(const AggregateCells& cells, const Operand& argument) {
  const auto done = a_.NewLabel();
  code_.JumpIfNull(argument, done);
  if (cells.count_at >= 0) {
    a_.Move(R::r1, 1);
    a_.AtomicAdd(R::r9, static_cast<int16_t>(cells.count_at), R::r1);
  }
  switch (cells.kind) {
    case AggregateKind::kSum:
    case AggregateKind::kAverage:
      code_.LoadNumber(R::r1, argument);
      if (cells.narrow) {
        a_.AtomicAdd(R::r9, static_cast<int16_t>(cells.at), R::r1);
        break;
      }
      a_.Move(R::r2, R::r1);
      a_.Math(M::kShiftLeft, R::r1, 32);
      a_.Math(M::kShiftRight, R::r1, 32);
      a_.AtomicAdd(R::r9, static_cast<int16_t>(cells.at), R::r1);
      a_.Math(M::kShiftRightSigned, R::r2, 32);
      a_.AtomicAdd(R::r9, static_cast<int16_t>(cells.at + 8), R::r2);
      break;
    case AggregateKind::kHistogram:
      code_.LoadNumber(R::r1, argument);
      AddToHistogram(cells);
      break;
    default:
      break;
  }
  a_.Bind(done);
}

// r1: the number. Its bucket is 0 if negative, 1 if zero, else two more than its highest bit.
void GroupCode::AddToHistogram(const AggregateCells& cells) {
  const auto known = a_.NewLabel();
  a_.Move(R::r2, 0);
  a_.JumpIf(R::r1, C::kLessSigned, 0, known);
  a_.Move(R::r2, 1);
  a_.JumpIf(R::r1, C::kEqual, 0, known);
  a_.Move(R::r2, 2);
  for (const int32_t shift : {32, 16, 8, 4, 2, 1}) {
    const auto below = a_.NewLabel();
    a_.Move(R::r3, R::r1);
    a_.Math(M::kShiftRight, R::r3, shift);
    a_.JumpIf(R::r3, C::kEqual, 0, below);
    a_.Move(R::r1, R::r3);
    a_.Add(R::r2, shift);
    a_.Bind(below);
  }
  a_.Bind(known);
  a_.JumpIf(R::r2, C::kGreaterEqual, static_cast<int32_t>(kHistogramCells), inexact_);
  a_.Math(M::kShiftLeft, R::r2, 3);
  a_.Move(R::r3, R::r9);
  a_.Math(M::kAdd, R::r3, R::r2);
  a_.Move(R::r1, 1);
  a_.AtomicAdd(R::r3, static_cast<int16_t>(cells.at), R::r1);
}

}  // namespace wf::weaver
