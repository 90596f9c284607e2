// The part of QEMU's plugin interface, version 1, that is used here. Debian's qemu-user has no header for it;
// names, types and order are those of the interface, so they do not follow our style. All functions are
// QEMU's, found when it loads the plugin.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = uint64_t;
using qemu_plugin_meminfo_t = uint32_t;

struct qemu_plugin_tb;    // a block of guest code, translated at once
struct qemu_plugin_insn;  // one instruction of it; valid while the block is being translated

struct qemu_info_t {
  const char* target_name;
  struct {
    int min;
    int cur;
  } version;
  bool system_emulation;
  struct {
    int smp_vcpus;
    int max_vcpus;
  } system;
};

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

using qemu_plugin_vcpu_simple_cb_t = void (*)(qemu_plugin_id_t, unsigned vcpu_index);
using qemu_plugin_vcpu_udata_cb_t = void (*)(unsigned vcpu_index, void* userdata);
using qemu_plugin_vcpu_tb_trans_cb_t = void (*)(qemu_plugin_id_t, qemu_plugin_tb*);
using qemu_plugin_vcpu_mem_cb_t = void (*)(unsigned vcpu_index, qemu_plugin_meminfo_t,
                                           uint64_t vaddr, void* userdata);
using qemu_plugin_vcpu_syscall_cb_t = void (*)(qemu_plugin_id_t, unsigned vcpu_index,
                                               int64_t number, uint64_t a1, uint64_t a2,
                                               uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                                               uint64_t a7, uint64_t a8);
using qemu_plugin_vcpu_syscall_ret_cb_t = void (*)(qemu_plugin_id_t, unsigned vcpu_index,
                                                   int64_t number, int64_t result);

void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t, qemu_plugin_vcpu_simple_cb_t);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_plugin_vcpu_tb_trans_cb_t);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn*, qemu_plugin_vcpu_udata_cb_t,
                                            qemu_plugin_cb_flags, void* userdata);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn*, qemu_plugin_vcpu_mem_cb_t,
                                      qemu_plugin_cb_flags, qemu_plugin_mem_rw, void* userdata);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, qemu_plugin_vcpu_syscall_cb_t);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t, qemu_plugin_vcpu_syscall_ret_cb_t);

size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb*);
uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb*);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb*, size_t index);
const void* qemu_plugin_insn_data(const qemu_plugin_insn*);
size_t qemu_plugin_insn_size(const qemu_plugin_insn*);
uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn*);
void* qemu_plugin_insn_haddr(const qemu_plugin_insn*);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);

// The symbols that QEMU looks up in a plugin.
__attribute__((visibility("default"))) extern int qemu_plugin_version;
__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t, const qemu_info_t*,
                                                               int argc, char** argv);
}
