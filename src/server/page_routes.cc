// Routes of the web interface's pages.
#include "server/routes.h"
#include "server/static_files.h"

namespace wf::server {
namespace {

net::HttpResponse ServeFile(const StaticFile& file) {
  const bool hashed = file.path.substr(0, 8) == "/assets/";  // the name changes with the content
  return {200,
          {{"Content-Type", std::string(ContentTypeOf(file.path))},
           {"Cache-Control", hashed ? "public, max-age=31536000, immutable" : "no-cache"}},
          std::string(file.content)};
}

// The UI's own paths (/search, /trace/…) all open index.html; a path with a file's ending must exist.
net::HttpResponse ServeUi(const RouteRequest& request) {
  const std::string& path = request.http.path;
  if (const StaticFile* file = FindStaticFile(path)) return ServeFile(*file);
  const bool names_file = path.substr(path.rfind('/') + 1).find('.') != std::string::npos;
  if (const StaticFile* index = FindStaticFile("/index.html"); index != nullptr && !names_file)
    return ServeFile(*index);
  return ErrorAnswer(NotFound(path + ": no such page",
                              "open / for the web interface, /api/v1/routes for the API"));
}

}  // namespace

void AddPageRoutes(std::vector<Route>& routes) {
  for (const char* page : {"/{page}", "/"})
    routes.push_back({"GET", page, security::Right::kRead, ServeUi, nullptr,
                      security::HostCheck::kStrict, Route::Audience::kAnybody});
}

}  // namespace wf::server
