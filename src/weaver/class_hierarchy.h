// Which methods override a virtual one, by the class hierarchy in the debug information.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_image.h"

namespace wf::weaver {

struct Overriders {
  bool is_virtual = false;           // there is a virtual method of this name
  std::vector<std::string> symbols;  // mangled; the method itself is not included
  bool complete = true;              // false: a full search would have taken too long
};

// `method` as written: "ns::Base::method". Overloads are distinguished by `signature`, if `has_signature`.
Overriders FindOverriders(const elf::ElfImage& image, std::string_view method,
                          const std::string* signature);

}  // namespace wf::weaver
