// System calls that bypass our own trap, and the places in gate.S that the handler of SIGSYS returns to.
#pragma once

#include <cstdint>

#pragma GCC visibility push(hidden)
extern "C" {
long wf_gate_call(long number, long a, long b, long c, long d, long e, long f);
long wf_enter_handler(long number, long a, long b);
void wf_gate_restorer();
void wf_trap_restorer();
void wf_stub_plain();
void wf_stub_post();
void wf_stub_vfork();
[[noreturn]] void wf_gate_end_thread(uint32_t* tid_word);
// The library from its first byte to the end of the code that may call the kernel.
extern const char __ehdr_start[];
extern const char __start_wf_trap[];
extern char wf_stub_plain_call[], wf_stub_plain_after[], wf_stub_post_call[], wf_stub_post_after[];
extern char wf_stub_trap_after[];
extern uint64_t* wf_vfork_return_slot;
}
#pragma GCC visibility pop

namespace wf::recorder::data {

constexpr long kCallAfterStub = 0x57460001;
constexpr long kCallOnPrivateStack = 0x57460002;
constexpr long kRedZone = 128;

// At the stack pointer of a stub.
struct StubFrame {
  uint64_t return_to;
  uint64_t number;
  uint64_t result;
  uint64_t verdict;  // of the policy: TransferFlags
};
static_assert(sizeof(StubFrame) == 32);

inline long Kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                   long f = 0) {
  return wf_gate_call(number, a, b, c, d, e, f);
}
template <typename T>
long Word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace wf::recorder::data
