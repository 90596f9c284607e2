// What a probe costs by the instruction it stands on: the measurement behind CostClass and PredictedNanos. Needs root.
#include <benchmark/benchmark.h>

#include <string>

#include "bpf/assembler.h"
#include "bpf/bpf_object.h"
#include "bpf/uprobe.h"
#include "elf/elf_image.h"

// Each function does what it must and has the instruction of interest at its label.
#define WF_TARGET(name, before, probed, after)                                                 \
  asm(".text\n.globl wf_bench_" #name "\n.type wf_bench_" #name ", @function\nwf_bench_" #name \
      ":\n" before "\n.globl wf_place_" #name "\n.type wf_place_" #name                        \
      ", @function\nwf_place_" #name ":\n" probed "\n" after "\n.size wf_bench_" #name         \
      ", . - wf_bench_" #name "\n");                                                           \
  extern "C" void wf_bench_##name();

WF_TARGET(nop, "", "nop", "ret")
WF_TARGET(nop_2_bytes, "", ".byte 0x66, 0x90", "ret")
WF_TARGET(nop_4_bytes, "", ".byte 0x0f, 0x1f, 0x40, 0x00", "ret")
WF_TARGET(nop_5_bytes_first, "", ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00", "ret")
WF_TARGET(push_rbp, "", "push %rbp", "pop %rbp\nret")
WF_TARGET(push_r12, "", "push %r12", "pop %r12\nret")
WF_TARGET(jump, "", "jmp 1f", "1: ret")
WF_TARGET(jump_if, "xor %eax, %eax", "jne 1f", "1: ret")
WF_TARGET(call, "", "call 1f", "ret\n1: ret")
WF_TARGET(endbr64, "", "endbr64", "ret")
WF_TARGET(sub_rsp, "", "sub $8, %rsp", "add $8, %rsp\nret")
WF_TARGET(mov, "", "mov %rdi, %rax", "ret")
WF_TARGET(lea, "", "lea 8(%rdi), %rax", "ret")
WF_TARGET(test, "", "test %rdi, %rdi", "ret")
WF_TARGET(pop, "push %rbx", "pop %rbx", "ret")
WF_TARGET(ret, "", "ret", "")

namespace {

using wf::bpf::BpfAssembler;

uint64_t OffsetOf(const std::string& name) {
  auto image = wf::elf::ElfImage::Open("/proc/self/exe");
  if (!image.ok()) return 0;
  for (const auto& symbol : (*image)->symbols()) {
    if (symbol.name == name) return (*image)->OffsetOf(symbol.address).value_or(0);
  }
  return 0;
}

void Probed(benchmark::State& state, const char* name, void (*function)()) {
  wf::bpf::BpfAssembler assembler;
  assembler.Return(0);
  auto program =
      wf::bpf::BpfProgram::Load("wf_cost", wf::bpf::BpfProgramType::kProbe, assembler.Finish());
  if (!program.ok()) return state.SkipWithError(program.error().message.c_str());
  auto probe = wf::bpf::Uprobe::Attach(
      *program, {"/proc/self/exe", {OffsetOf(std::string("wf_place_") + name)}, getpid()},
      wf::bpf::ProbeSite::kEntry);
  if (!probe.ok()) return state.SkipWithError(probe.error().message.c_str());
  for (auto _ : state) function();
}

#define WF_BENCH(name) BENCHMARK_CAPTURE(Probed, name, #name, &wf_bench_##name)->Iterations(20000);
WF_BENCH(nop)
WF_BENCH(nop_2_bytes)
WF_BENCH(nop_4_bytes)
WF_BENCH(nop_5_bytes_first)
WF_BENCH(push_rbp)
WF_BENCH(push_r12)
WF_BENCH(jump)
WF_BENCH(jump_if)
WF_BENCH(call)
WF_BENCH(endbr64)
WF_BENCH(sub_rsp)
WF_BENCH(mov)
WF_BENCH(lea)
WF_BENCH(test)
WF_BENCH(pop)
WF_BENCH(ret)

}  // namespace
