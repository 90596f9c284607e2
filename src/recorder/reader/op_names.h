// The names of calls, objects and transfers, as answers write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "recorder/format/records.h"

namespace wf::recorder {

// The function that was called: "pthread_mutex_lock"; empty if unknown. Futexes are used through syscall().
std::string_view NameOf(Op op);
// More specific than the function's name: "futex_wait"; else the same.
std::string_view CallOf(Op op);
std::string_view NameOf(ObjectKind kind);    // "mutex"; empty if unknown
std::string_view NameOf(TransferKind kind);  // "file"; empty if unknown
// "read"; "argv" for an argument; "syscall 17" for a number without a name here.
std::string TransferOpName(const Transfer& transfer);
std::string TransferOpName(TransferKind kind, uint16_t flags, uint32_t op);

}  // namespace wf::recorder
