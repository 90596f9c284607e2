// bench_weave: what a hit of a woven tracepoint costs the program, beside bpftrace doing the same count at the same place in
// the same run, and how long it takes to weave and to unweave.
//
// A child calls a function over and over; the time of a call without any probe is taken off. Ways take turns, so that what
// else the machine does falls on all alike; the median of the rounds is told.
//
//   bench_weave [--calls N] [--rounds N]
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "advice/results.h"
#include "base/base64.h"
#include "client/queries/query_agent.h"
#include "client/runtime/json_text.h"
#include "lang/query/parser.h"
#include "lang/query/rewrite.h"
#include "weaver/weaver.h"
#include "wherefore/tracepoint.h"

extern "C" {
// Saves a register first, as most functions that call others do: the kernel does that instruction itself.
[[gnu::noinline]] int64_t wf_bench_pushes(int64_t n) {
  asm volatile("" : "+r"(n)::"rbx", "memory");
  return n + 1;
}
// A leaf: its first instruction is run in a single step, wherever the probe is put.
[[gnu::noinline]] int64_t wf_bench_leaf(int64_t n) {
  asm volatile("" : "+r"(n)::"memory");
  return n + 1;
}
// Nine places for one query. Different in what they do, so that they stay nine.
#define WF_BENCH_MANY(number)                                  \
  [[gnu::noinline]] int64_t wf_bench_many##number(int64_t n) { \
    asm volatile("" : "+r"(n)::"rbx", "memory");               \
    return n + (number);                                       \
  }
WF_BENCH_MANY(0)
WF_BENCH_MANY(1)
WF_BENCH_MANY(2)
WF_BENCH_MANY(3)
WF_BENCH_MANY(4)
WF_BENCH_MANY(5)
WF_BENCH_MANY(6)
WF_BENCH_MANY(7)
WF_BENCH_MANY(8)
}

namespace {

using namespace wf;
using Clock = std::chrono::steady_clock;

using Function = int64_t (*)(int64_t);
struct Place {
  const char* symbol;
  const char* what;
  Function function;
};
constexpr int kMany = 9;
[[maybe_unused]] const Function kManyFunctions[kMany] = {
    &wf_bench_many0, &wf_bench_many1, &wf_bench_many2, &wf_bench_many3, &wf_bench_many4,
    &wf_bench_many5, &wf_bench_many6, &wf_bench_many7, &wf_bench_many8};
const Place kPlaces[] = {{"wf_bench_pushes", "begins with push", &wf_bench_pushes},
                         {"wf_bench_leaf", "a leaf", &wf_bench_leaf}};

double Milliseconds(Clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

// What this thread has used: what others do meanwhile does not count.
double ThreadNanos() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The program that is asked. A byte says which function to call; the answer is how long a call took, in ns.
class Target {
 public:
  explicit Target(int64_t calls) {
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0) std::exit(1);
    pid_ = fork();
    if (pid_ == 0) {
      close(there[1]);
      Serve(there[0], back[1], calls);
    }
    to_ = there[1];
    from_ = back[0];
    close(there[0]);
    close(back[1]);
  }
  ~Target() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  double Call(size_t place) const {
    const char command = static_cast<char>(place);
    double ns = 0;
    if (write(to_, &command, 1) != 1 || read(from_, &ns, sizeof ns) != sizeof ns) std::exit(1);
    return ns;
  }

 private:
  [[noreturn]] static void Serve(int in, int out, int64_t calls) {
    char command = 0;
    while (read(in, &command, 1) == 1) {
      Function volatile function = kPlaces[static_cast<size_t>(command)].function;
      const double begin = ThreadNanos();
      for (int64_t i = 0; i < calls; ++i) function(i);
      const double ns = (ThreadNanos() - begin) / static_cast<double>(calls);
      if (write(out, &ns, sizeof ns) != sizeof ns) break;
    }
    _exit(0);
  }

  pid_t pid_ = 0;
  int to_ = -1, from_ = -1;
};

std::vector<weaver::TracepointDefinition> Definitions() {
  std::string text = "[";
  for (const Place& place : kPlaces) {
    text += fmt::format(R"({}{{"version":1,"name":"{}","locations":[{{"exe":"bench_weave",)"
                        R"("function":"{}","at":"entry"}}],"exports":{{"n":"arg0"}}}})",
                        text.size() > 1 ? "," : "", place.symbol, place.symbol);
  }
  auto read = weaver::ParseTracepointFile(text + "]");
  if (!read.ok()) {
    fmt::print(stderr, "{}\n", read.error().message);
    std::exit(1);
  }
  for (int i = 0; i < kMany; ++i) {
    weaver::TracepointDefinition one = read->front();
    one.name = fmt::format("wf_bench_many{}", i);
    one.locations[0].function = one.name;
    read->push_back(std::move(one));
  }
  return std::move(*read);
}

advice::Program Compile(const std::string& text) {
  const auto parsed = query::ParseQuery(text);
  if (!parsed.ok()) std::exit(1);
  auto compiled = query::Rewrite(**parsed);
  if (!compiled.ok()) std::exit(1);
  return compiled->program;
}

struct Ours {
  double ns = 0, weave_ms = 0, unweave_ms = 0;
};

// Status text and exit if it cannot be woven here.
Ours Measure(const Target& target, size_t place, const std::string& text, weaver::LinkChoice link,
             int64_t calls) {
  const advice::Program program = Compile(text);
  weaver::WeaveTarget where;
  where.pids = {target.pid()};
  weaver::WeaveOptions options;
  options.link = link;
  Ours ours;
  const auto begin = Clock::now();
  auto woven = weaver::Woven::Weave(program, Definitions(), where, options);
  if (!woven.ok()) {
    fmt::print("cannot weave here: {}\n", woven.error().message);
    std::exit(3);
  }
  ours.weave_ms = Milliseconds(Clock::now() - begin);
  ours.ns = target.Call(place);
  const auto end = Clock::now();
  if (!(*woven)->Unweave().ok()) std::exit(1);
  ours.unweave_ms = Milliseconds(Clock::now() - end);
  advice::Results results((*woven)->program());
  const auto counted = (*woven)->Collect(results);
  if (!counted.ok() || counted->hits != static_cast<uint64_t>(calls)) {
    fmt::print("counted {} of {} calls\n", counted.ok() ? counted->hits : 0, calls);
    std::exit(1);
  }
  return ours;
}

// Nine places, each with a program of its own, or (as one tracepoint's would be) a join besides: what it takes to weave
// and to unweave them, in ms.
std::pair<double, double> MeasureMany(const Target& target, const std::string& text,
                                      weaver::LinkChoice link) {
  weaver::WeaveTarget where;
  where.pids = {target.pid()};
  weaver::WeaveOptions options;
  options.link = link;
  const auto begin = Clock::now();
  auto woven = weaver::Woven::Weave(Compile(text), Definitions(), where, options);
  if (!woven.ok()) {
    fmt::print("cannot weave here: {}\n", woven.error().message);
    std::exit(3);
  }
  const auto middle = Clock::now();
  if ((*woven)->places().size() != kMany) std::exit(1);
  if (!(*woven)->Unweave().ok()) std::exit(1);
  return {Milliseconds(middle - begin), Milliseconds(Clock::now() - middle)};
}

// bpftrace while it lives. Nothing if there is none.
class Bpftrace {
 public:
  static std::unique_ptr<Bpftrace> Start(const std::string& program, pid_t target) {
    int out[2];
    if (pipe(out) != 0) return nullptr;
    auto trace = std::unique_ptr<Bpftrace>(new Bpftrace);
    trace->pid_ = fork();
    if (trace->pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
      execlp("bpftrace", "bpftrace", "-p", std::to_string(target).c_str(), "-e", program.c_str(),
             nullptr);
      _exit(127);
    }
    close(out[1]);
    // It says "Attaching" before, and runs BEGIN after, it has attached.
    std::string told;
    char buffer[512];
    for (ssize_t n = 0; told.find("woven") == std::string::npos;) {
      n = read(out[0], buffer, sizeof buffer);
      if (n <= 0) return nullptr;
      told.append(buffer, static_cast<size_t>(n));
    }
    usleep(300'000);  // probes are attached in order, BEGIN's first
    return trace;
  }
  ~Bpftrace() {
    kill(pid_, SIGINT);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

// A tracepoint that is compiled in, in this process: ns a pass, above an empty loop.
double CompiledIn(int64_t passes) {
  const auto loop = [&](auto&& body) {
    const double begin = ThreadNanos();
    for (int64_t i = 0; i < passes; ++i) {
      asm volatile("" : "+r"(i)::"memory");
      body(i);
    }
    return (ThreadNanos() - begin) / static_cast<double>(passes);
  };
  const double empty = loop([](int64_t) {});
  return loop([](int64_t i) { WHEREFORE_TRACEPOINT("bench.compiled_in", {"n", i}); }) - empty;
}

// The same while a query counts it. The reports go nowhere.
double CompiledInWoven(int64_t passes) {
  using namespace wherefore::client;
  QueryAgentOptions options;
  options.endpoint = *HttpUrl::Parse("http://127.0.0.1:1/");
  options.service = options.instance = "bench";
  const auto agent = QueryAgent::Start(options);
  advice::Program program = Compile("From e In bench.compiled_in Select COUNT");
  program.query = 1;
  const auto answer = ParseJson(fmt::format(
      R"({{"queries":[{{"id":"0000000000000001","program":"{}","interval_ms":1000,"max_tuples":256,)"
      R"("max_bytes":3000}}]}})",
      Base64Encode(advice::Encode(program))));
  if (agent == nullptr || !answer) std::exit(1);
  agent->Install(*answer);
  const double ns = CompiledIn(passes);
  agent->Stop(std::chrono::milliseconds(100));
  return ns;
}

struct Way {
  std::string name;
  std::function<double()> run;  // ns a call; below 0: not here
  std::vector<double> ns;
};

}  // namespace

int main(int argc, char** argv) {
  int64_t calls = 50'000;
  int rounds = 7;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--calls") calls = std::atoll(argv[i + 1]);
    if (std::string_view(argv[i]) == "--rounds") rounds = std::atoi(argv[i + 1]);
  }
  const Target target(calls);
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return 1;
  std::vector<double> weave_ms, unweave_ms;
  double worst = 0;
  for (size_t place = 0; place < std::size(kPlaces); ++place) {
    const std::string symbol = kPlaces[place].symbol;
    const std::string count = fmt::format("From e In {} Select COUNT", symbol);
    const std::string sum = fmt::format("From e In {} Select SUM(e.n)", symbol);
    const auto ours = [&](const std::string& text, weaver::LinkChoice link) {
      const Ours measured = Measure(target, place, text, link, calls);
      if (link == weaver::LinkChoice::kAuto) {
        weave_ms.push_back(measured.weave_ms);
        unweave_ms.push_back(measured.unweave_ms);
      }
      return measured.ns;
    };
    const auto theirs = [&](const std::string& action) {
      const auto trace =
          Bpftrace::Start(fmt::format("BEGIN {{ printf(\"woven\\n\"); }} uprobe:{}:{} {{ {} }}",
                                      self, symbol, action),
                          target.pid());
      return trace == nullptr ? -1 : target.Call(place);
    };
    std::vector<Way> ways = {
        {"no probe", [&] { return target.Call(place); }, {}},
        {"COUNT", [&] { return ours(count, weaver::LinkChoice::kAuto); }, {}},
        {"COUNT, perf links", [&] { return ours(count, weaver::LinkChoice::kPerf); }, {}},
        {"bpftrace count()", [&] { return theirs("@ = count();"); }, {}},
        {"SUM of an argument", [&] { return ours(sum, weaver::LinkChoice::kAuto); }, {}},
        {"bpftrace sum(arg0)", [&] { return theirs("@ = sum(arg0);"); }, {}},
    };
    for (int round = 0; round < rounds; ++round) {
      for (Way& way : ways) {
        const double ns = way.run();
        if (ns >= 0) way.ns.push_back(ns);
      }
    }
    fmt::print("{} ({})\n", symbol, kPlaces[place].what);
    const double base = Median(ways[0].ns);
    for (const Way& way : ways) {
      if (way.ns.empty()) {
        fmt::print("  {:<20} not here\n", way.name);
      } else if (&way == &ways[0]) {
        fmt::print("  {:<20} {:8.1f} ns a call\n", way.name, base);
      } else {
        fmt::print("  {:<20} {:8.1f} ns a hit\n", way.name, Median(way.ns) - base);
      }
    }
    if (ways[3].ns.empty()) continue;
    for (const auto& [a, b] : {std::pair(1, 3), std::pair(4, 5)}) {
      const double ratio = (Median(ways[a].ns) - base) / (Median(ways[b].ns) - base);
      worst = std::max(worst, ratio);
      fmt::print("  {} / {}: {:.2f}\n", ways[a].name, ways[b].name, ratio);
    }
  }
  std::string many;
  for (int i = 0; i < kMany; ++i) many += fmt::format("{}wf_bench_many{}", i == 0 ? "" : ",", i);
  const struct {
    const char* what;
    std::string text;
    weaver::LinkChoice link;
  } queries[] = {
      {"count", "From e In " + many + " Select COUNT", weaver::LinkChoice::kAuto},
      {"count, perf links", "From e In " + many + " Select COUNT", weaver::LinkChoice::kPerf},
      {"join",
       "From e In wf_bench_many8 Join b In MostRecent(" + many.substr(0, many.rfind(',')) +
           ") On b -> e Select COUNT",
       weaver::LinkChoice::kAuto},
  };
  fmt::print("{} places\n", kMany);
  for (const auto& query : queries) {
    std::vector<double> weaves, unweaves;
    for (int round = 0; round < rounds; ++round) {
      const auto [weave, unweave] = MeasureMany(target, query.text, query.link);
      weaves.push_back(weave);
      unweaves.push_back(unweave);
    }
    fmt::print("  {:<20} weave {:.0f} ms, unweave {:.0f} ms; worst {:.0f} and {:.0f}; limit 100\n",
               query.what, Median(weaves), Median(unweaves),
               *std::max_element(weaves.begin(), weaves.end()),
               *std::max_element(unweaves.begin(), unweaves.end()));
  }
  constexpr int64_t kPasses = 20'000'000;
  std::vector<double> off, on;
  for (int round = 0; round < rounds; ++round) {
    off.push_back(CompiledIn(kPasses));
    on.push_back(CompiledInWoven(kPasses / 20));
  }
  fmt::print("compiled in\n  off                  {:8.2f} ns a pass; limit 1\n", Median(off));
  fmt::print("  COUNT                {:8.1f} ns a pass\n", Median(on));
  fmt::print(
      "weave {:.0f} ms, unweave {:.0f} ms (median of {}); worst {:.0f} and {:.0f} ms; limit 100\n",
      Median(weave_ms), Median(unweave_ms), weave_ms.size(),
      *std::max_element(weave_ms.begin(), weave_ms.end()),
      *std::max_element(unweave_ms.begin(), unweave_ms.end()));
  if (worst != 0) fmt::print("ours / bpftrace at most {:.2f}; limit 1\n", worst);
  return 0;
}
