#include "cluster/role.h"

namespace wf::cluster {

Result<Role> ParseRole(std::string_view text) {
  for (const Role role : {Role::kAll, Role::kReceive, Role::kTail, Role::kQuery})
    if (RoleName(role) == text) return role;
  return BadInput("--role: \"" + std::string(text) + "\" is not a role",
                  "choose all, receive, tail or query");
}

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kAll:
      return "all";
    case Role::kReceive:
      return "receive";
    case Role::kTail:
      return "tail";
    case Role::kQuery:
      return "query";
  }
  return "all";
}

RoleParts PartsOf(Role role) {
  switch (role) {
    case Role::kAll:
      return {true, true, true};
    case Role::kReceive:
      return {true, false, false};
    case Role::kTail:
      return {false, true, false};
    case Role::kQuery:
      return {false, false, true};
  }
  return {};
}

}  // namespace wf::cluster
