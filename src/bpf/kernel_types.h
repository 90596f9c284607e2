// Offsets of members in the running kernel's structures, from its type information (BTF). Reading the five
// megabytes takes some ten milliseconds, and they do not change while the kernel runs: results are cached,
// and BTF is read only for a new request.
//
// Thread safety: one thread at a time for an object; objects of different threads are independent.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"

struct btf;

namespace wf::bpf {

class KernelTypes {
 public:
  // An error if this kernel has no type information (CONFIG_DEBUG_INFO_BTF).
  static Result<KernelTypes> Load();
  KernelTypes(KernelTypes&&) noexcept;
  KernelTypes& operator=(KernelTypes&&) = delete;
  ~KernelTypes();

  // In bytes from the structure's beginning; members of unnamed structures in it count as its own. An error
  // if there is no such member.
  Result<int32_t> OffsetOf(const char* structure, const char* member);

 private:
  KernelTypes() = default;
  Status Read();
  btf* types_ = nullptr;  // not read yet
};

}  // namespace wf::bpf
