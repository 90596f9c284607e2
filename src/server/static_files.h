// The web UI, embedded in the binary at build time (cmake/EmbedFiles.cmake).
#pragma once

#include <span>
#include <string_view>

namespace wf::server {

struct StaticFile {
  std::string_view path;  // "/assets/index-1a2b.js"
  std::string_view content;
};

std::span<const StaticFile> StaticFiles();
// nullptr when there is none of that path.
const StaticFile* FindStaticFile(std::string_view path);
std::string_view ContentTypeOf(std::string_view path);

}  // namespace wf::server
