// The units a number may carry in our languages: times in nanoseconds, sizes in bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace wf::lang {

struct NumberUnit {
  std::string_view name;
  int64_t factor;
};
inline constexpr NumberUnit kNumberUnits[] = {{"ns", 1},
                                              {"us", 1'000},
                                              {"ms", 1'000'000},
                                              {"s", 1'000'000'000},
                                              {"m", 60'000'000'000},
                                              {"h", 3'600'000'000'000},
                                              {"B", 1},
                                              {"kB", 1'000},
                                              {"MB", 1'000'000},
                                              {"GB", 1'000'000'000}};

}  // namespace wf::lang
