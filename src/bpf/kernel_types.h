// Where the running kernel keeps the members of its structures, by its own type information (BTF).
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"

struct btf;

namespace wf {

class KernelTypes {
 public:
  // An error if this kernel carries no type information (CONFIG_DEBUG_INFO_BTF).
  static Result<KernelTypes> Load();
  KernelTypes(KernelTypes&&) noexcept;
  KernelTypes& operator=(KernelTypes&&) = delete;
  ~KernelTypes();

  // In bytes from the structure's beginning; members of unnamed structures in it are its own. An error if there is none.
  Result<int32_t> OffsetOf(const char* structure, const char* member) const;

 private:
  explicit KernelTypes(btf* types) : types_(types) {}
  btf* types_;
};

}  // namespace wf
