// Where the running kernel keeps the members of its structures, by its own type information (BTF). Five megabytes take
// some ten milliseconds to read, and say the same as long as the kernel runs: what was asked once is remembered, and
// they are read only if something else is asked.
//
// Thread safety: one thread at a time for an object; objects of different threads do not mind each other.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"

struct btf;

namespace wf::bpf {

class KernelTypes {
 public:
  // An error if this kernel carries no type information (CONFIG_DEBUG_INFO_BTF).
  static Result<KernelTypes> Load();
  KernelTypes(KernelTypes&&) noexcept;
  KernelTypes& operator=(KernelTypes&&) = delete;
  ~KernelTypes();

  // In bytes from the structure's beginning; members of unnamed structures in it are its own. An error if there is none.
  Result<int32_t> OffsetOf(const char* structure, const char* member);

 private:
  KernelTypes() = default;
  Status Read();
  btf* types_ = nullptr;  // not read yet
};

}  // namespace wf::bpf
