// The libraries that run in the recorded program and in its emulator, as built with this binary, and a place
// on disk to load them from.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::recorder {

std::string_view EmbeddedLibrary();  // libwherefore_record.so
std::string_view EmbeddedPlugin();   // libwherefore_qemu.so

// A file with exactly those bytes, in a folder that no other user may write to, usable for LD_PRELOAD:
// installed beside the binary, or unpacked once into the cache folder and reused.
Result<std::string> LibraryOnDisk();
Result<std::string> PluginOnDisk();

}  // namespace wf::recorder
