#include "server/static_files.h"

namespace wf::server {

const StaticFile* FindStaticFile(std::string_view path) {
  for (const StaticFile& file : StaticFiles()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

std::string_view ContentTypeOf(std::string_view path) {
  struct Ending {
    std::string_view ending, type;
  };
  static constexpr Ending kEndings[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".json", "application/json"},
      {".png", "image/png"},
      {".woff2", "font/woff2"},
      {".ico", "image/x-icon"},
  };
  for (const Ending& e : kEndings) {
    if (path.size() >= e.ending.size() && path.substr(path.size() - e.ending.size()) == e.ending)
      return e.type;
  }
  return "application/octet-stream";
}

}  // namespace wf::server
