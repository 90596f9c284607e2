#include "peer.h"
#include "roles.h"

namespace shop {

using wherefore::Block;

namespace {

// Asks storage step by step, as business logic does: each answer decides the next question.
class Compute {
 public:
  Compute(wherefore::Tracer& tracer, const Settings& settings)
      : tracer_(tracer), storage_(tracer, "storage", settings.peers.at("storage"), 64) {}

  Response Handle(const Request& request, Block&) {
    if (request.path == "/recommend") return Read({"customers", "catalog"}, 1, 2);
    if (request.path == "/search") return Read({"index", "catalog", "stock"}, 2, 4);
    if (request.path == "/price") return Read({"prices"}, 0.5, 1);
    if (request.path == "/reserve") return Write({"stock"});
    return {404, "no such computation"};
  }

 private:
  Response Read(std::initializer_list<const char*> tables, double rank_from, double rank_to) {
    for (const char* table : tables) {
      const Response row = storage_.Call("GET", std::string("/get?table=") + table);
      if (row.status != 200) return {502, "storage: " + row.body};
    }
    Block rank(tracer_, "rank");
    WorkFor(rank_from, rank_to);
    return {200, "ranked"};
  }

  Response Write(std::initializer_list<const char*> tables) {
    for (const char* table : tables) {
      const Response written = storage_.Call("PUT", std::string("/put?table=") + table);
      if (written.status != 200) return {502, "storage: " + written.body};
    }
    return {200, "written"};
  }

  wherefore::Tracer& tracer_;
  Peer storage_;
};

}  // namespace

int RunCompute(const Settings& settings) {
  wherefore::Tracer tracer(TracerOptionsFor("compute", settings));
  Compute compute(tracer, settings);
  {
    const HttpServer server(settings.listen_fd, 64,
                            Traced(tracer, [&](const Request& request, Block& block) {
                              return compute.Handle(request, block);
                            }));
    WaitForStop();
  }
  Finish("compute", tracer);
  return 0;
}

}  // namespace shop
