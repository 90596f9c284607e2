#include "base/byte_size.h"

#include <charconv>
#include <string_view>

namespace wf {

Result<int64_t> ParseByteSize(const std::string& text) {
  struct Unit {
    std::string_view name;
    int64_t size;
  };
  static constexpr Unit kUnits[] = {{"", 1},
                                    {"B", 1},
                                    {"kB", 1000},
                                    {"KB", 1000},
                                    {"MB", 1000'000},
                                    {"GB", 1000'000'000},
                                    {"TB", 1000'000'000'000},
                                    {"KiB", 1 << 10},
                                    {"MiB", 1 << 20},
                                    {"GiB", 1 << 30},
                                    {"TiB", int64_t{1} << 40}};
  int64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const Unit& unit : kUnits) {
    int64_t bytes;
    if (ec == std::errc() && number >= 0 && rest == unit.name &&
        !__builtin_mul_overflow(number, unit.size, &bytes)) {
      return bytes;
    }
  }
  return BadInput("size \"" + text + "\": not a number of bytes",
                  "write a number and B, kB, MB, GB, TB, MiB or GiB, as in 20GB");
}

}  // namespace wf
