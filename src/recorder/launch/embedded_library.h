// The libraries that run in the recorded program and in its emulator, as they were built with this binary, and a place on
// disk where they can be loaded from.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::recorder {

std::string_view EmbeddedLibrary();  // libwherefore_record.so
std::string_view EmbeddedPlugin();   // libwherefore_qemu.so

// A file with exactly those bytes, in a folder that nobody else may write to, fit for LD_PRELOAD: installed beside the
// binary, or unpacked into the cache folder once and found again afterwards.
Result<std::string> LibraryOnDisk();
Result<std::string> PluginOnDisk();

}  // namespace wf::recorder
