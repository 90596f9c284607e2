// The forest of visits that convolution found, for people: a tree per root, within 100 columns.
#pragma once

#include <string>
#include <string_view>

#include "analysis/paths/convolution.h"

namespace wf::answer {

std::string ConvolutionText(const paths::ConvolutionResult& result, const StringTable& nodes,
                            std::string_view why);

// "50 ms" or, of several, "0 ns ×9100, 10.0 s ×512": by falling count.
std::string DelaysText(const paths::ConvolutionEdge& edge);

}  // namespace wf::answer
