// A program linked with libwherefore whose function Order is woven, for query_kernel_test.py.
//
//   query_kernel_target NAME SERVER [back]
//
// With `back` it answers HTTP requests, each with a hit of Back.Work, and prints its port. Else it reads commands:
//   requests CALLS ORDERS THREADS PORT   on so many threads so many requests, each: so many Orders (by this thread's
//                                        name, amounts 1, 2, …), a hit of Front.Done, and a call to the one behind
//                                        PORT (0: none). Between requests the thread orders for "nobody".
//   many THREADS                         as many threads one after the other, each with a request of one Order
// and answers "done". Built with WITHOUT_TRACEPOINTS it has none of its own.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wherefore/rpc.h>
#include <wherefore/tracepoint.h>
#include <wherefore/tracer.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

extern "C" __attribute__((noinline)) void Order(const char* who, long amount) {
  asm volatile("nop" ::"r"(who), "r"(amount) : "memory");
}

namespace {

void Done(long number) {
#ifndef WITHOUT_TRACEPOINTS
  WHEREFORE_TRACEPOINT("Front.Done", {"n", number});
#else
  (void)number;
#endif
}

std::string ReadHead(int connection) {
  std::string head;
  char byte;
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (read(connection, &byte, 1) != 1) return {};
    head.push_back(byte);
  }
  return head;
}

std::string Header(const std::string& head, const std::string& name) {
  const size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

void SendAll(int connection, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(connection, text.data() + sent, text.size() - sent);
    if (n <= 0) std::exit(1);
    sent += static_cast<size_t>(n);
  }
}

int Connected(long port) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::exit(1);
  return connection;
}

void CallBack(wherefore::Tracer& tracer, int connection) {
  wherefore::RpcCall call(tracer, "call");
  std::string request = "GET / HTTP/1.1\r\nHost: back\r\n";
  for (const auto& [name, value] : call.Send()) request += name + ": " + value + "\r\n";
  SendAll(connection, request + "\r\n");
  const std::string head = ReadHead(connection);
  if (head.empty()) std::exit(1);
  call.Received(Header(head, "traceresponse"), Header(head, "baggage"));
}

void Requests(wherefore::Tracer& tracer, long calls, long orders, int thread, long port) {
  // On the stack: pages that were touched, which programs of the kernel can read.
  char name[16], nobody[] = "nobody";
  std::snprintf(name, sizeof name, "thread%d", thread);
  const int connection = port != 0 ? Connected(port) : -1;
  for (long i = 0; i < calls; ++i) {
    Order(nobody, 1000);
    wherefore::Block block(tracer, "request");
    for (long n = 1; n <= orders; ++n) Order(name, n);
    Done(i);
    if (connection >= 0) CallBack(tracer, connection);
  }
  if (connection >= 0) close(connection);
}

void Answer(wherefore::Tracer& tracer, int connection) {
  for (std::string head; !(head = ReadHead(connection)).empty();) {
    const auto caller = wherefore::RequestContext::FromHeaders(
        Header(head, "traceparent"), Header(head, "tracestate"), Header(head, "baggage"));
    if (!caller) std::exit(1);
    wherefore::RpcHandler handler(tracer, "work", *caller);
    static thread_local long number = 0;
#ifndef WITHOUT_TRACEPOINTS
    WHEREFORE_TRACEPOINT("Back.Work", {"n", ++number});
#endif
    std::string response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
    for (const auto& [name, value] : handler.ResponseHeaders())
      response += name + ": " + value + "\r\n";
    SendAll(connection, response + "\r\n");
  }
  close(connection);
}

int Serve(wherefore::Tracer& tracer) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 64) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return 1;
  std::cout << ntohs(address.sin_port) << std::endl;
  while (true) {
    const int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) return 1;
    std::thread([&tracer, connection] { Answer(tracer, connection); }).detach();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  wherefore::TracerOptions options;
  options.service_name = argv[1];
  options.endpoint = argv[2];
  wherefore::Tracer tracer(options);
  if (argc > 3 && std::string(argv[3]) == "back") return Serve(tracer);
  std::cout << "ready" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "many") {
      long threads = 0;
      words >> threads;
      for (long i = 0; i < threads; ++i) std::thread([&] { Requests(tracer, 1, 1, 0, 0); }).join();
    } else {
      long calls = 0, orders = 0, threads = 0, port = 0;
      words >> calls >> orders >> threads >> port;
      std::vector<std::thread> running;
      for (int i = 0; i < threads; ++i)
        running.emplace_back([&, i] { Requests(tracer, calls, orders, i, port); });
      for (std::thread& each : running) each.join();
    }
    std::cout << "done" << std::endl;
  }
}
