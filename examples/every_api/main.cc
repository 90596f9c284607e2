// A small shop in one process that uses every API of libwherefore once. Prints the id of its trace; see it with
//   wherefore trace ID
#include <wherefore/instrument.h>
#include <wherefore/rpc.h>
#include <wherefore/tracepoint.h>
#include <wherefore/tracer.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

extern "C" void pay(void);

using namespace wherefore;
using std::chrono::milliseconds;

namespace {

// Work that waits its turn, and who asked for it.
class Packing {
 public:
  explicit Packing(Tracer& tracer) : tracer_(tracer), worker_([this] { Run(); }) {}
  ~Packing() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_one();
    worker_.join();
  }
  void Put() {
    const std::lock_guard lock(mutex_);
    orders_.push_back(enqueue("packing"));
    wake_.notify_one();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return closed_ || !orders_.empty(); });
      if (orders_.empty()) return;
      const QueueTicket ticket = std::move(orders_.front());
      orders_.pop_front();
      lock.unlock();
      std::this_thread::sleep_for(milliseconds(3));  // the order waits in line
      {
        Dequeued order(ticket, "packing");
        Block block(tracer_, "wrap");
        std::this_thread::sleep_for(milliseconds(2));
      }
      lock.lock();
    }
  }

  Tracer& tracer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<QueueTicket> orders_;
  bool closed_ = false;
  std::thread worker_;
};

// The other end of a call; in life, another process.
RpcHeaders ServeStock(Tracer& tracer, const RpcHeaders& headers) {
  std::string traceparent, tracestate, baggage;
  for (const auto& [name, value] : headers) {
    if (name == "traceparent") traceparent = value;
    if (name == "tracestate") tracestate = value;
    if (name == "baggage") baggage = value;
  }
  RpcHandler handler(tracer, "stock",
                     *RequestContext::FromHeaders(traceparent, tracestate, baggage));
  std::this_thread::sleep_for(milliseconds(2));
  label("user", *RequestContext::Current().BaggageEntry("user"));
  WHEREFORE_TRACEPOINT("stock.looked_up", {"items", 3}, {"warehouse", "north"});
  return handler.ResponseHeaders();
}

std::mutex shelf;

void Checkout(Tracer& tracer, Packing& packing) {
  BlockOptions options;
  options.kind = BlockKind::kServer;
  options.properties = {{"endpoint", "/checkout"}};
  Block request(tracer, "checkout", options);
  std::printf("%s\n", request.context().TraceHex().c_str());
  const ContextScope with_user(request.context().WithBaggage("user", "4711"));

  inform("cart loaded");
  label("region", "eu");
  count("items", 3);
  point("priced", {{"total", 99.5}});
  measure("validate", [] { std::this_thread::sleep_for(milliseconds(1)); });

  {  // a call
    RpcCall call(tracer, "get stock");
    const RpcHeaders headers = call.Send();
    RpcHeaders response;
    std::thread other([&] { response = ServeStock(tracer, headers); });
    other.join();
    std::string traceresponse, baggage;
    for (const auto& [name, value] : response)
      (name == "baggage" ? baggage : traceresponse) = value;
    call.Received(traceresponse, baggage);
  }
  {  // work on somebody else's thread, and we wait for it: what queries pack there is seen from here on
    Branch branch;
    std::thread pool(branch.Bind([] { inform("prices compared"); }));
    pool.join();
    branch.Join();
  }
  {  // two threads at one lock
    TracedThread rival("restock", [] {
      const TracedLock lock(shelf, "shelf");
      std::this_thread::sleep_for(milliseconds(5));
    });
    std::this_thread::sleep_for(milliseconds(1));
    { const TracedLock lock(shelf, "shelf"); }
    rival.join();
  }
  {  // an event loop
    std::function<void()> posted = continuation("notify", [] { inform("notified"); });
    std::thread loop([&] { posted(); });
    loop.join();
  }
  const Edge picture = edge_begin("resource", {{"resource", "cart.png"}});
  {
    Block show(tracer, "show");
    edge_end(picture, "resource");
  }
  const ReachedPath path("happy path");
  pay();
  packing.Put();
  log_event(EventType::kPoint, new_id(), request.id(), {{AnnotationKind::kSet, "shards", "1,2"}});
}

}  // namespace

int main(int argc, char** argv) {
  TracerOptions options;
  options.service_name = "every-api";
  if (argc > 1) options.endpoint = argv[1];
  options.detail = Detail::kEverything;
  options.os_data = TracerOptions::OsData::kBlocks;
  Tracer tracer(options);
  std::atomic<int64_t> orders{7};
  const RegisteredCounter counter(
      "orders", "", [](void* n) { return static_cast<std::atomic<int64_t>*>(n)->load(); }, &orders);
  start_stack_sampling();
  {
    Packing packing(tracer);
    Checkout(tracer, packing);
  }
  stop_stack_sampling();
  const bool sent = tracer.Flush(std::chrono::seconds(20));
  const TracerStats stats = tracer.stats();
  if (!sent || stats.recorded != stats.exported) {
    std::fprintf(stderr, "%llu events recorded, %llu arrived: %s\n",
                 static_cast<unsigned long long>(stats.recorded),
                 static_cast<unsigned long long>(stats.exported), tracer.LastError().c_str());
    return 1;
  }
  return 0;
}
