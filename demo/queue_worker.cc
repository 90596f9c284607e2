// An order queue held in memory, and the workers that empty it. `POST /publish` puts an order into
// a partition and is answered at once; one thread per partition works the orders off in the order of their arrival.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "peer.h"
#include "roles.h"

namespace shop {

using wherefore::Block;
using wherefore::BlockKind;
using wherefore::BlockOptions;
using wherefore::RequestContext;

namespace {

constexpr size_t kInvoicesPerBatch = 8;

struct Order {
  RequestContext producer;
  int64_t arrival_ns;
};

class Partition {
 public:
  Partition(wherefore::Tracer& tracer, Peer& storage, int number)
      : tracer_(tracer), storage_(storage), number_(std::to_string(number)) {
    worker_ = std::thread([this] { Work(); });
  }
  ~Partition() {  // works off what is left
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    arrived_.notify_one();
    worker_.join();
  }

  void Put(Order order) {
    {
      const std::lock_guard lock(mutex_);
      orders_.push_back(std::move(order));
    }
    arrived_.notify_one();
  }

 private:
  void Work() {
    while (true) {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [&] { return stopping_ || !orders_.empty(); });
      if (orders_.empty()) return;
      const Order order = std::move(orders_.front());
      orders_.pop_front();
      lock.unlock();
      Process(order);
      if (processed_.size() >= kInvoicesPerBatch) SendInvoices();
    }
  }

  void Process(const Order& order) {
    BlockOptions options;
    options.kind = BlockKind::kConsumer;
    options.parent = order.producer;
    Block block(tracer_, "process orders", options);
    block.Label("messaging.system", "shop-queue");
    block.Label("messaging.operation.type", "process");
    block.Label("messaging.destination.name", "orders");
    block.Label("messaging.destination.partition.id", number_);
    block.Label("wherefore.arrival_ns", order.arrival_ns);
    for (const char* table : {"orders", "ledger"}) {
      if (storage_.Call("PUT", std::string("/put?table=") + table).status != 200) {
        block.Fail(std::string("could not write ") + table);
      }
    }
    processed_.push_back(block.context());
  }

  // A batch belongs to no single order: it starts a trace of its own and links to the orders in it.
  void SendInvoices() {
    BlockOptions options;
    options.parent = RequestContext();
    Block batch(tracer_, "send invoices", options);
    batch.Label("messaging.batch.message_count", processed_.size());
    for (const RequestContext& order : processed_) batch.Link(order);
    WorkFor(3, 6);
    processed_.clear();
  }

  wherefore::Tracer& tracer_;
  Peer& storage_;
  const std::string number_;
  std::vector<RequestContext> processed_;  // worker thread only

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Order> orders_;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace

int RunQueueWorker(const Settings& settings) {
  wherefore::Tracer tracer(TracerOptionsFor("queue-worker", settings));
  Peer storage(tracer, "storage", settings.peers.at("storage"), 2);
  {
    Partition zero(tracer, storage, 0);
    Partition one(tracer, storage, 1);
    // The queue itself is not traced, as brokers often are not; the consumers continue the producer's trace.
    const HttpServer server(settings.listen_fd, 2, [&](const Request& request) -> Response {
      if (request.path != "/publish") return {404, "no such queue"};
      const auto producer = RequestContext::FromHeaders(request.message.Header("traceparent"),
                                                        request.message.Header("tracestate"));
      (request.Parameter("partition") == "1" ? one : zero)
          .Put({producer.value_or(RequestContext()), request.arrival_ns});
      return {200, "queued"};
    });
    WaitForStop();
  }
  Finish("queue-worker", tracer);
  return 0;
}

}  // namespace shop
