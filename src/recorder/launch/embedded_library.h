// libwherefore_record.so as it was built with this binary, and a place on disk where a program can load it from.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::recorder {

std::string_view EmbeddedLibrary();

// A file with exactly those bytes, in a folder that nobody else may write to, fit for LD_PRELOAD: installed beside the
// binary, or unpacked into the cache folder once and found again afterwards.
Result<std::string> LibraryOnDisk();

}  // namespace wf::recorder
