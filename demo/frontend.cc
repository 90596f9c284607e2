#include "peer.h"
#include "roles.h"

namespace shop {

using wherefore::Block;
using wherefore::BlockKind;

namespace {

class Frontend {
 public:
  Frontend(wherefore::Tracer& tracer, const Settings& settings)
      : tracer_(tracer),
        compute_(tracer, "compute", settings.peers.at("compute"), 64),
        queue_(tracer, "queue-worker", settings.peers.at("queue-worker"), 16) {}

  Response Handle(const Request& request, Block& block) {
    const std::string user = request.Parameter("user");
    block.Label("user.id", std::atoi(user.c_str()));
    block.Label("session.id", request.Parameter("session"));
    if (request.path == "/browse") return Page("GET", "/recommend?user=" + user);
    if (request.path == "/search") return Page("GET", "/search?q=" + request.Parameter("q"));
    if (request.path == "/checkout") return Checkout(user, block);
    return {404, "no such page"};
  }

 private:
  Response Page(const std::string& method, const std::string& target) {
    const Response answer = compute_.Call(method, target);
    if (answer.status != 200) return {502, "compute: " + answer.body};
    Block render(tracer_, "render page");
    WorkFor(1, 2);
    return {200, "<html>" + answer.body + "</html>"};
  }

  Response Checkout(const std::string& user, Block& block) {
    const Response price = compute_.Call("GET", "/price?user=" + user);
    if (price.status != 200) return {502, "compute: " + price.body};
    {
      Block charge(tracer_, "charge card");
      WorkFor(3, 6);
      if (OnceIn(25)) {
        charge.Fail("card declined");
        block.Fail("card declined");
        return {402, "card declined"};
      }
    }
    const Response reserved = compute_.Call("POST", "/reserve?user=" + user);
    if (reserved.status != 200) return {502, "compute: " + reserved.body};
    return Publish(user);
  }

  Response Publish(const std::string& user) {
    const std::string partition = std::to_string(std::atoi(user.c_str()) % 2);
    Block publish(tracer_, "publish orders", BlockKind::kProducer);
    publish.Label("messaging.system", "shop-queue");
    publish.Label("messaging.operation.type", "send");
    publish.Label("messaging.destination.name", "orders");
    publish.Label("messaging.destination.partition.id", partition);
    const Response taken =
        queue_.Send(publish.context(), "POST", "/publish?partition=" + partition);
    if (taken.status != 200) {
      publish.Fail("queue: " + taken.body);
      return {502, "queue: " + taken.body};
    }
    return {200, "thank you"};
  }

  wherefore::Tracer& tracer_;
  Peer compute_;
  Peer queue_;
};

}  // namespace

int RunFrontend(const Settings& settings) {
  wherefore::Tracer tracer(TracerOptionsFor("frontend", settings));
  Frontend frontend(tracer, settings);
  {
    const HttpServer server(settings.listen_fd, 64,
                            Traced(tracer, [&](const Request& request, Block& block) {
                              return frontend.Handle(request, block);
                            }));
    WaitForStop();
  }
  Finish("frontend", tracer);
  return 0;
}

}  // namespace shop
