#include "client/runtime/stack_text.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace wherefore::client {
namespace {

std::string NameOf(uint64_t address) {
  // A return address may stand behind the function it returns to, when the call was its last instruction.
  const uint64_t call = address - 1;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(call), &info) == 0 || info.dli_fname == nullptr) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
  }
  std::string name;
  if (info.dli_sname != nullptr) {
    int status = -1;
    char* readable = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    name = status == 0 ? readable : info.dli_sname;
    std::free(readable);
  } else {
    const char* slash = std::strrchr(info.dli_fname, '/');
    char offset[24];
    std::snprintf(
        offset, sizeof offset, "+0x%llx",
        static_cast<unsigned long long>(call - reinterpret_cast<uint64_t>(info.dli_fbase)));
    name = std::string(slash != nullptr ? slash + 1 : info.dli_fname) + offset;
  }
  for (char& c : name) {
    if (c == ';') c = ':';  // separates frames
  }
  return name;
}

}  // namespace

std::string StackText(std::string_view frames) {
  // Hot addresses repeat. Bounded: a program has that many only when it loads code for ever.
  thread_local std::unordered_map<uint64_t, std::string> known;
  if (known.size() > 65'536) known.clear();
  std::string text;
  for (size_t i = frames.size() / 8; i-- > 0;) {
    uint64_t address;
    std::memcpy(&address, frames.data() + 8 * i, 8);
    auto at = known.find(address);
    if (at == known.end()) at = known.emplace(address, NameOf(address)).first;
    if (!text.empty()) text.push_back(';');
    text.append(at->second);
  }
  return text;
}

}  // namespace wherefore::client
