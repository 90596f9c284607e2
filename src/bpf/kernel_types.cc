#include "bpf/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "bpf/bpf_object.h"

namespace wf::bpf {
namespace {

std::optional<uint32_t> MemberBits(const btf* types, uint32_t structure, const char* member) {
  const btf_type* type = btf__type_by_id(types, structure);
  if (type == nullptr || (!btf_is_struct(type) && !btf_is_union(type))) return std::nullopt;
  const btf_member* members = btf_members(type);
  for (uint32_t i = 0; i < btf_vlen(type); ++i) {
    const char* name = btf__name_by_offset(types, members[i].name_off);
    const uint32_t at = btf_member_bit_offset(type, i);
    if (name != nullptr && std::strcmp(name, member) == 0) return at;
    if (name != nullptr && *name != '\0') continue;
    if (const auto inner = MemberBits(types, members[i].type, member)) return at + *inner;
  }
  return std::nullopt;
}

// What has been asked of this kernel.
struct KnownOffsets {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, int32_t> by_name;
};
KnownOffsets& Known() {
  static KnownOffsets known;
  return known;
}

}  // namespace

Result<KernelTypes> KernelTypes::Load() {
  KernelTypes types;
  bool any_known;
  {
    const std::lock_guard lock(Known().mutex);
    any_known = !Known().by_name.empty();
  }
  if (!any_known) WF_TRY(types.Read());
  return types;
}

Status KernelTypes::Read() {
  errno = 0;
  types_ = btf__load_vmlinux_btf();
  if (types_ != nullptr) return {};
  return EnvironmentError(
      fmt::format("types of the kernel: {}", std::strerror(errno != 0 ? errno : ENOENT)),
      "this kernel was built without CONFIG_DEBUG_INFO_BTF, or /sys is not mounted");
}

KernelTypes::KernelTypes(KernelTypes&& other) noexcept
    : types_(std::exchange(other.types_, nullptr)) {}
KernelTypes::~KernelTypes() { btf__free(types_); }

Result<int32_t> KernelTypes::OffsetOf(const char* structure, const char* member) {
  const std::pair<std::string, std::string> name(structure, member);
  {
    const std::lock_guard lock(Known().mutex);
    const auto known = Known().by_name.find(name);
    if (known != Known().by_name.end()) return known->second;
  }
  if (types_ == nullptr) WF_TRY(Read());
  const int32_t id = btf__find_by_name_kind(types_, structure, BTF_KIND_STRUCT);
  const auto bits = id > 0 ? MemberBits(types_, static_cast<uint32_t>(id), member) : std::nullopt;
  if (!bits || *bits % 8 != 0) {
    return EnvironmentError(fmt::format("kernel: struct {} has no member {}", structure, member),
                            "this kernel is unlike those that were tried");
  }
  const auto offset = static_cast<int32_t>(*bits / 8);
  const std::lock_guard lock(Known().mutex);
  Known().by_name.emplace(name, offset);
  return offset;
}

}  // namespace wf::bpf
