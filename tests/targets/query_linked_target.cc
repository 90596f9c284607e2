// A program linked with libwherefore, for query_live_test.py. Its name and the server are its arguments; it reads
// commands from stdin, a word and numbers:
//   count CALLS       so many hits of Count, without any request
//   requests CALLS    so many requests, each: Enter (with its kind), then three times Step (with n = 1, 2, 3)
//   exit CALLS        so many hits of Count, and exit(): nobody destroys the tracer
// and answers "done".
#include <wherefore/tracepoint.h>
#include <wherefore/tracer.h>

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

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
    std::string what;
    long calls = 0;
    words >> what >> calls;
    for (long i = 0; i < calls; ++i) {
      if (what == "count" || what == "exit") WHEREFORE_TRACEPOINT("Count", {"n", i});
      if (what == "requests") {
        wherefore::Block block(tracer, "request");
        WHEREFORE_TRACEPOINT("Enter", {"kind", i % 2 == 0 ? "even" : "odd"});
        for (int n = 1; n <= 3; ++n) WHEREFORE_TRACEPOINT("Step", {"n", n});
      }
    }
    std::cout << "done" << std::endl;
    if (what == "exit") std::exit(0);
  }
}
