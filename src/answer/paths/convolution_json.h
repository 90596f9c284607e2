// The forest of visits that convolution found, as JSON (docs/concepts/convolution.md).
#pragma once

#include <string>
#include <string_view>

#include "analysis/paths/convolution.h"

namespace wf::answer {

// `why`: how convolution came to be chosen.
std::string ConvolutionJson(const paths::ConvolutionResult& result, const StringTable& nodes,
                            std::string_view why);

}  // namespace wf::answer
