// A program linked with libwherefore, for query_emit_test.py. Its name and the server are its arguments; commands come on
// stdin, a word and another:
//   request ITEMS    a request begins: so many hits of Item (n = 0, 1, …), half of them on another thread that is waited
//                    for; answers with the baggage, in hex; the next line is what came back, which is joined; then Done
//   serve HEX        a request that came with this baggage: Serve (k = 1); answers with the baggage, in hex
// "-" stands for none. Every other answer is "done".
#include <wherefore/baggage.h>
#include <wherefore/tracepoint.h>
#include <wherefore/tracer.h>

#include <iostream>
#include <sstream>
#include <string>
#include <thread>

namespace {

std::string ToHex(const std::string& bytes) {
  if (bytes.empty()) return "-";
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex.push_back("0123456789abcdef"[byte >> 4]);
    hex.push_back("0123456789abcdef"[byte & 15]);
  }
  return hex;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

void Items(long from, long to) {
  for (long n = from; n < to; ++n) WHEREFORE_TRACEPOINT("Item", {"n", n});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  wherefore::TracerOptions options;
  options.service_name = argv[1];
  options.endpoint = argv[2];
  wherefore::Tracer tracer(options);
  std::cout << "ready" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string what, argument;
    words >> what >> argument;
    wherefore::Block block(tracer, what);
    if (what == "request") {
      const long items = std::stol(argument);
      wherefore::Branch branch;
      std::thread other(branch.Bind([&] { Items(items / 2, items); }));
      Items(0, items / 2);
      other.join();
      branch.Join();
      std::cout << ToHex(wherefore::serialize_baggage()) << std::endl;
      std::getline(std::cin, line);
      wherefore::join_baggage(FromHex(line));
      WHEREFORE_TRACEPOINT("Done");
      std::cout << "done" << std::endl;
    } else if (what == "serve") {
      wherefore::join_baggage(FromHex(argument));
      WHEREFORE_TRACEPOINT("Serve", {"k", 1});
      std::cout << ToHex(wherefore::serialize_baggage()) << std::endl;
    }
  }
}
