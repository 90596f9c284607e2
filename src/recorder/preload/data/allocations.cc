// The allocators are not interposed by name, because that would cost every program at every depth: at data depth the
// entries of the modules' offset tables that lead to them are changed. Modules loaded later keep theirs; their
// allocations have no site.
#include "recorder/preload/data/allocations.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>

#include "recorder/format/memory_events.h"
#include "recorder/preload/control/emulator.h"
#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/state.h"
#include "recorder/preload/recording.h"
#include "recorder/preload/ring.h"

namespace wf::recorder::data {
namespace {

// An allocation made on behalf of another one, by operator new, is not a second one.
thread_local uint32_t t_within __attribute__((tls_model("initial-exec"))) = 0;

// Into the record that stands open at the end of the thread's ring. False: there is none that it fits in, or the thread
// is in the middle of writing another, and this is a signal handler.
bool AddToOpenRecord(Slot* slot, const MemoryEvent& event) {
  if (slot->writing.load(std::memory_order_relaxed) != 0 ||
      slot->holding.load(std::memory_order_relaxed) != 0)
    return false;
  slot->writing.store(1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const uint64_t head = slot->head.load(std::memory_order_relaxed);
  uint8_t* const at = slot->ring + (head & (kRingSize - 1));
  const bool open = slot->open_record.load(std::memory_order_relaxed) != 0;
  RecordHead record = {RecordKind::kMemory, 0, sizeof(Memory)};
  if (open) std::memcpy(&record, at, sizeof record);
  const bool fits =
      open ? record.size + kMaxMemoryEvent <= kOpenRecord
           : EndOf(head, kOpenRecord) == head + kOpenRecord && HasRoom(slot, kOpenRecord);
  if (fits) {
    if (!open) {
      self->open_last = {};
      self->open_used = sizeof(Memory);
    }
    uint8_t* end = PutMemoryEvent(at + self->open_used, event, &self->open_last);
    self->open_used = static_cast<uint32_t>(end - at);
    while ((end - at) % 8 != 0) *end++ = 0;
    ++record.detail;
    record.size = static_cast<uint32_t>(end - at);
    std::memcpy(at, &record, sizeof record);
    slot->room_end = head;
    slot->open_record.store(1, std::memory_order_release);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  slot->writing.store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (WF_UNLIKELY(slot->deferred.size.load(std::memory_order_relaxed) != 0)) FlushDeferred(slot);
  return fits;
}

void NoteEvent(Slot* slot, const MemoryEvent& event) {
  // The emulator's plugin writes into the ring, too, and knows nothing of open records.
  if (!UnderEmulator() && AddToOpenRecord(slot, event)) return;
  struct {
    Memory record;
    uint8_t bytes[kMaxMemoryEvent];
  } alone = {};
  MemoryEvent none;
  const uint8_t* const end = PutMemoryEvent(alone.bytes, event, &none);
  const auto size = static_cast<uint32_t>(sizeof(Memory) + (end - alone.bytes) + 7) / 8 * 8;
  alone.record.head = {RecordKind::kMemory, 1, size};
  Append(slot, &alone, size);
}

void NoteAllocation(uint64_t address, uint64_t size, uint64_t site) {
  Slot* slot = t_slot;
  if (slot == nullptr || address == 0 || t_within != 0) return;
  const OwnWork own;
  NoteEvent(slot, {Now(), address, size, site, false});
}

void NoteRelease(uint64_t address, uint64_t time_ns) {
  Slot* slot = t_slot;
  if (slot == nullptr || address == 0) return;
  const OwnWork own;
  NoteEvent(slot, {time_ns, address, 0, 0, true});
}

uint64_t ReleaseTime() {
  if (t_slot == nullptr) return 0;
  const OwnWork own;
  return Now();
}

void* Malloc(size_t size) {
  void* address = ::malloc(size);
  NoteAllocation(reinterpret_cast<uint64_t>(address), size, WF_SITE);
  return address;
}

void* Calloc(size_t count, size_t size) {
  void* address = ::calloc(count, size);
  NoteAllocation(reinterpret_cast<uint64_t>(address), count * size, WF_SITE);
  return address;
}

// A release is noted before the address can be another thread's.
void Free(void* address) {
  NoteRelease(reinterpret_cast<uint64_t>(address), ReleaseTime());
  ::free(address);
}

void* Realloc(void* old, size_t size) {
  const uint64_t time_ns = ReleaseTime();
  auto old_address = reinterpret_cast<uint64_t>(old);
  asm("" : "+r"(old_address));  // a number from here on: the pointer itself is not used again
  void* address = ::realloc(old, size);
  if (address != nullptr || size == 0) NoteRelease(old_address, time_ns);
  NoteAllocation(reinterpret_cast<uint64_t>(address), size, WF_SITE);
  return address;
}

void* Memalign(size_t alignment, size_t size) {
  void* address = ::memalign(alignment, size);
  NoteAllocation(reinterpret_cast<uint64_t>(address), size, WF_SITE);
  return address;
}

void* AlignedAlloc(size_t alignment, size_t size) {
  void* address = ::aligned_alloc(alignment, size);
  NoteAllocation(reinterpret_cast<uint64_t>(address), size, WF_SITE);
  return address;
}

int PosixMemalign(void** address, size_t alignment, size_t size) {
  const int rc = ::posix_memalign(address, alignment, size);
  if (rc == 0) NoteAllocation(reinterpret_cast<uint64_t>(*address), size, WF_SITE);
  return rc;
}

// Operators new of whichever C++ library is loaded; found where the modules' own entries led. One that throws leaves
// t_within set behind it unless the count is restored by the next: it is set, not counted.
using New = void* (*)(size_t);
using NewNothrow = void* (*)(size_t, const void*);
using NewAligned = void* (*)(size_t, size_t);
New real_new, real_new_array;
NewNothrow real_new_nothrow, real_new_array_nothrow;
NewAligned real_new_aligned, real_new_array_aligned;

template <auto& kReal, typename... More>
void* WatchedNew(size_t size, More... more) {
  struct Within {
    Within() { t_within = 1; }
    ~Within() { t_within = 0; }
  };
  void* address = nullptr;
  {
    Within within;
    address = kReal(size, more...);
  }
  NoteAllocation(reinterpret_cast<uint64_t>(address), size, WF_SITE);
  return address;
}

struct Entry {
  const char* name;
  void* ours;
  void** real;  // null: libc's, called by its name
};

template <typename F>
void* Pointer(F* function) {
  return reinterpret_cast<void*>(function);
}

constexpr int kEntriesCount = 13;
struct Entries {
  Entry all[kEntriesCount];
};

// Made when it is needed: this runs before the constructors of the library's own objects.
Entries MakeEntries() {
  return {{
      {"malloc", Pointer(&Malloc), nullptr},
      {"calloc", Pointer(&Calloc), nullptr},
      {"free", Pointer(&Free), nullptr},
      {"realloc", Pointer(&Realloc), nullptr},
      {"memalign", Pointer(&Memalign), nullptr},
      {"aligned_alloc", Pointer(&AlignedAlloc), nullptr},
      {"posix_memalign", Pointer(&PosixMemalign), nullptr},
      {"_Znwm", Pointer(&WatchedNew<real_new>), reinterpret_cast<void**>(&real_new)},
      {"_Znam", Pointer(&WatchedNew<real_new_array>), reinterpret_cast<void**>(&real_new_array)},
      {"_ZnwmRKSt9nothrow_t", Pointer(&WatchedNew<real_new_nothrow, const void*>),
       reinterpret_cast<void**>(&real_new_nothrow)},
      {"_ZnamRKSt9nothrow_t", Pointer(&WatchedNew<real_new_array_nothrow, const void*>),
       reinterpret_cast<void**>(&real_new_array_nothrow)},
      {"_ZnwmSt11align_val_t", Pointer(&WatchedNew<real_new_aligned, size_t>),
       reinterpret_cast<void**>(&real_new_aligned)},
      {"_ZnamSt11align_val_t", Pointer(&WatchedNew<real_new_array_aligned, size_t>),
       reinterpret_cast<void**>(&real_new_array_aligned)},
  }};
}

struct Module {
  ElfW(Addr) base;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * tables[2] = {};
  size_t sizes[2] = {};
  ElfW(Addr) relro_start = 0, relro_end = 0;
};

void ReadDynamic(Module* module, const ElfW(Dyn) * dynamic) {
  const auto at = [&](ElfW(Addr) value) {
    return value < module->base ? value + module->base : value;
  };
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        module->symbols = reinterpret_cast<const ElfW(Sym)*>(at(dynamic->d_un.d_ptr));
        break;
      case DT_STRTAB:
        module->strings = reinterpret_cast<const char*>(at(dynamic->d_un.d_ptr));
        break;
      case DT_RELA:
        module->tables[0] = reinterpret_cast<const ElfW(Rela)*>(at(dynamic->d_un.d_ptr));
        break;
      case DT_RELASZ:
        module->sizes[0] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_JMPREL:
        module->tables[1] = reinterpret_cast<const ElfW(Rela)*>(at(dynamic->d_un.d_ptr));
        break;
      case DT_PLTRELSZ:
        module->sizes[1] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
        break;
      default:
        break;
    }
  }
}

void SetEntry(const Module& module, ElfW(Addr) address, const Entry& entry) {
  auto* slot = reinterpret_cast<void**>(address);
  if (entry.real != nullptr) {
    // A lazily bound one leads back into its own module, to the linker.
    const void* symbol = ::dlsym(RTLD_DEFAULT, entry.name);
    if (symbol == nullptr) return;
    if (*entry.real == nullptr) *entry.real = const_cast<void*>(symbol);
  }
  const ElfW(Addr) page = address & ~(kPage - 1);
  const bool sealed =
      page >= (module.relro_start & ~(kPage - 1)) && page < (module.relro_end & ~(kPage - 1));
  if (sealed && Kernel(SYS_mprotect, static_cast<long>(page), kPage, PROT_READ | PROT_WRITE) < 0)
    return;
  *slot = entry.ours;
  if (sealed) Kernel(SYS_mprotect, static_cast<long>(page), kPage, PROT_READ);
}

int WatchModule(dl_phdr_info* info, size_t, void* given) {
  const auto* entries = static_cast<const Entries*>(given);
  Module module;
  module.base = info->dlpi_addr;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + part.p_vaddr);
    if (part.p_type == PT_GNU_RELRO) {
      module.relro_start = info->dlpi_addr + part.p_vaddr;
      module.relro_end = module.relro_start + part.p_memsz;
    }
  }
  const bool own = info->dlpi_addr == reinterpret_cast<ElfW(Addr)>(__ehdr_start);
  const bool special = std::strstr(info->dlpi_name, "ld-linux") != nullptr ||
                       std::strstr(info->dlpi_name, "vdso") != nullptr;
  if (own || special || dynamic == nullptr) return 0;
  ReadDynamic(&module, dynamic);
  if (module.symbols == nullptr || module.strings == nullptr) return 0;
  for (int table = 0; table < 2; ++table) {
    for (size_t i = 0; i < module.sizes[table]; ++i) {
      const ElfW(Rela)& relocation = module.tables[table][i];
      const auto type = ELF64_R_TYPE(relocation.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      const char* name = module.strings + module.symbols[ELF64_R_SYM(relocation.r_info)].st_name;
      for (const Entry& entry : entries->all)
        if (std::strcmp(name, entry.name) == 0)
          SetEntry(module, module.base + relocation.r_offset, entry);
    }
  }
  return 0;
}

}  // namespace

void WatchAllocations() {
  Entries entries = MakeEntries();
  ::dl_iterate_phdr(&WatchModule, &entries);
}

}  // namespace wf::recorder::data
