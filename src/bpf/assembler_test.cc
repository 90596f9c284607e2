#include "bpf/assembler.h"

#include <gtest/gtest.h>

namespace wf::bpf {
namespace {

using R = BpfReg;

TEST(BpfAssembler, EncodesAsTheKernelReadsIt) {
  BpfAssembler a;
  a.Move(R::r6, R::r1);
  a.Move(R::r2, -7);
  a.Load(BpfWidth::k8, R::r7, R::r6, 112);
  a.Store(BpfWidth::k4, R::r10, -8, R::r7);
  a.AtomicAdd(R::r1, 16, R::r2);
  a.Call(BPF_FUNC_ktime_get_ns);
  a.Return(0);
  const std::vector<bpf_insn> text = a.Finish();
  ASSERT_EQ(text.size(), 8u);
  const auto is = [&](size_t i, uint8_t code, int to, int from, int offset, int constant) {
    EXPECT_EQ(text[i].code, code) << i;
    EXPECT_EQ(text[i].dst_reg, to) << i;
    EXPECT_EQ(text[i].src_reg, from) << i;
    EXPECT_EQ(text[i].off, offset) << i;
    EXPECT_EQ(text[i].imm, constant) << i;
  };
  is(0, 0xBF, 6, 1, 0, 0);    // r6 = r1
  is(1, 0xB7, 2, 0, 0, -7);   // r2 = -7
  is(2, 0x79, 7, 6, 112, 0);  // r7 = *(u64*)(r6 + 112)
  is(3, 0x63, 10, 7, -8, 0);  // *(u32*)(r10 - 8) = r7
  is(4, 0xDB, 1, 2, 16, 0);   // lock *(u64*)(r1 + 16) += r2
  is(5, 0x85, 0, 0, 0, 5);    // call 5
  is(6, 0xB7, 0, 0, 0, 0);    // r0 = 0
  is(7, 0x95, 0, 0, 0, 0);    // exit
}

TEST(BpfAssembler, WideConstantsTakeTwoPlaces) {
  BpfAssembler a;
  a.Constant(R::r3, 0x1122334455667788);
  a.MapValue(R::r4, 9, 24);
  const std::vector<bpf_insn> text = a.Finish();
  ASSERT_EQ(text.size(), 4u);
  EXPECT_EQ(text[0].code, 0x18);
  EXPECT_EQ(text[0].imm, 0x55667788);
  EXPECT_EQ(text[1].imm, 0x11223344);
  EXPECT_EQ(text[2].src_reg, BPF_PSEUDO_MAP_VALUE);
  EXPECT_EQ(text[2].imm, 9);
  EXPECT_EQ(text[3].imm, 24);
}

TEST(BpfAssembler, JumpsCountFromTheNextInstruction) {
  BpfAssembler a;
  const auto out = a.NewLabel(), top = a.NewLabel();
  a.Bind(top);
  a.JumpIf(R::r1, BpfCondition::kEqual, 0, out);     // 0
  a.Constant(R::r2, 1);                              // 1, 2
  a.JumpIf(R::r1, BpfCondition::kLess, R::r2, top);  // 3
  a.Bind(out);
  a.Return(0);  // 4
  const std::vector<bpf_insn> text = a.Finish();
  EXPECT_EQ(text[0].off, 3);
  EXPECT_EQ(text[3].off, -4);
}

}  // namespace
}  // namespace wf::bpf
