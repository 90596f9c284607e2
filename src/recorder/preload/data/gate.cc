// How the recorded process enters the kernel. Syscall user dispatch lets the calls that this library's text makes
// through and turns every other one into SIGSYS; what lies in the section wf_trap is of the library and yet trapped.
//
// A call of the program that is to be made as it is, is made from wf_stub_*: the handler of SIGSYS puts a StubFrame
// below the red zone of the program's stack and returns here, not into the kernel, so that the call blocks, restarts,
// is interrupted and cancelled exactly where the program stands. The frame's unwind rules (160 bytes: red zone and
// StubFrame) lead an asynchronous cancellation or an exception through the stub into the program.
#include "recorder/preload/data/gate.h"

static_assert(wf::recorder::data::kRedZone + sizeof(wf::recorder::data::StubFrame) == 160);
static_assert(wf::recorder::data::kCallAfterStub == 0x57460001);

asm(R"(
  .pushsection .text
  .balign 64

# long wf_gate_call(number, a, b, c, d, e, f)
  .globl wf_gate_call
  .hidden wf_gate_call
  .type wf_gate_call, @function
wf_gate_call:
  .cfi_startproc
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  ret
  .cfi_endproc
  .size wf_gate_call, .-wf_gate_call

# Unwinders know a signal frame by these very bytes, so it carries no unwind rules of its own.
  .balign 16
  nop
  .globl wf_gate_restorer
  .hidden wf_gate_restorer
  .type wf_gate_restorer, @function
wf_gate_restorer:
  mov $15, %rax
  syscall
  .size wf_gate_restorer, .-wf_gate_restorer

  .balign 16
  .globl wf_stub_plain
  .hidden wf_stub_plain
  .type wf_stub_plain, @function
wf_stub_plain:
  .cfi_startproc
  .cfi_def_cfa %rsp, 160
  .cfi_offset %rip, -160
  nop
  .globl wf_stub_plain_call
  .hidden wf_stub_plain_call
wf_stub_plain_call:
  syscall
  .globl wf_stub_plain_after
  .hidden wf_stub_plain_after
wf_stub_plain_after:
  cmp $-14, %rax
  je wf_stub_trap
  ret $152
  .cfi_endproc
  .size wf_stub_plain, .-wf_stub_plain

  .balign 16
  .globl wf_stub_post
  .hidden wf_stub_post
  .type wf_stub_post, @function
wf_stub_post:
  .cfi_startproc
  .cfi_def_cfa %rsp, 160
  .cfi_offset %rip, -160
  nop
  .globl wf_stub_post_call
  .hidden wf_stub_post_call
wf_stub_post_call:
  syscall
  .globl wf_stub_post_after
  .hidden wf_stub_post_after
wf_stub_post_after:
  jmp wf_stub_trap
  .cfi_endproc
  .size wf_stub_post, .-wf_stub_post

# vfork: the child runs on the parent's stack and would overwrite a frame there, so the way back is kept apart.
  .balign 16
  .globl wf_stub_vfork
  .hidden wf_stub_vfork
wf_stub_vfork:
  syscall
  mov wf_vfork_return_slot(%rip), %rcx
  jmp *(%rcx)

# Ends a thread: its stack may be used by another as soon as the word is zero, so nothing here needs one.
  .balign 16
  .globl wf_gate_end_thread
  .hidden wf_gate_end_thread
wf_gate_end_thread:
  test %rdi, %rdi
  jz 1f
  movl $0, (%rdi)
  mov $202, %eax
  mov $1, %esi
  mov $1, %edx
  xor %r10d, %r10d
  syscall
1:
  mov $60, %eax
  xor %edi, %edi
  syscall
  ud2

  .popsection

# Outside the gate on purpose: this call is the signal that the stub's call has returned. The section's name makes the
# linker put it behind .text and define where it starts.
  .pushsection wf_trap, "ax", @progbits
  .balign 16
  .type wf_stub_trap, @function
wf_stub_trap:
  .cfi_startproc
  .cfi_def_cfa %rsp, 160
  .cfi_offset %rip, -160
  mov %rax, 16(%rsp)
  mov $0x57460001, %eax
  syscall
  .globl wf_stub_trap_after
  .hidden wf_stub_trap_after
wf_stub_trap_after:
  ud2
  .cfi_endproc
  .size wf_stub_trap, .-wf_stub_trap

# What a handler of the program returns to. It is trapped, because the frame above it may be closed to the kernel; by its
# bytes unwinders know it too.
  .balign 16
  nop
  .globl wf_trap_restorer
  .hidden wf_trap_restorer
  .type wf_trap_restorer, @function
wf_trap_restorer:
  mov $15, %rax
  syscall
  .size wf_trap_restorer, .-wf_trap_restorer

# long wf_enter_handler(number, a, b): a call that is meant to be seen by the handler of SIGSYS.
  .balign 16
  .globl wf_enter_handler
  .hidden wf_enter_handler
  .type wf_enter_handler, @function
wf_enter_handler:
  .cfi_startproc
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  syscall
  ret
  .cfi_endproc
  .size wf_enter_handler, .-wf_enter_handler

  .popsection
  .pushsection .bss
  .globl wf_vfork_return_slot
  .hidden wf_vfork_return_slot
  .balign 8
wf_vfork_return_slot:
  .zero 8

  .popsection
)");
