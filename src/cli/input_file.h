// A file that a verb reads, named on the command line. One that is not there is a slip of the pen (exit code 2), one
// that the system will not let us read is the environment's (3); either is named with the system's own words.
#pragma once

#include <string>

#include "base/result.h"

namespace wf::cli {

// Takes the bytes as they are, or without their gzip or zstd.
enum class InputCoding : uint8_t { kPlain, kCompressed };

// All of it; "-" is standard input. `hint`: what to give instead.
Result<std::string> ReadInputFile(const std::string& path, const std::string& hint,
                                  InputCoding coding = InputCoding::kPlain);

}  // namespace wf::cli
