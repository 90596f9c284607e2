#include "roles.h"

namespace shop {

using wherefore::Block;

namespace {

// A spindle's worth of work. Reads and writes are short; a scan takes a few times as long, which is
// harmless unless somebody asks for hundreds of them.
Response Handle(const Request& request, Block& block) {
  const std::string table = request.Parameter("table");
  block.Label("db.system.name", "shop-storage");
  block.Label("db.collection.name", table);
  if (request.path == "/get") {
    block.Label("db.operation.name", "get");
    if (OnceIn(10)) block.Point("page cache miss", {{"table", table}});
    WorkFor(1, 2);
    return {200, "row of " + table};
  }
  if (request.path == "/put") {
    block.Label("db.operation.name", "put");
    WorkFor(2, 3);
    return {200, "stored"};
  }
  if (request.path == "/scan") {
    block.Label("db.operation.name", "scan");
    WorkFor(5, 7);
    return {200, "scanned"};
  }
  return {404, "no such operation"};
}

}  // namespace

int RunStorage(const Settings& settings) {
  wherefore::Tracer tracer(TracerOptionsFor("storage", settings));
  {
    const HttpServer server(settings.listen_fd, settings.storage_workers, Traced(tracer, Handle));
    WaitForStop();
  }
  Finish("storage", tracer);
  return 0;
}

}  // namespace shop
