// bench/paths: what nesting, and linking beside it, costs at the sizes of the paper's table 1, from sightings in memory to patterns, on one core.
// Seconds are of CPU, best of three rounds.
// bench/paths --write N [RATE]: N messages of the same system as message text on standard output, RATE paths a second.
// bench/paths --pipe N: these through a pipe into `wherefore paths - --algorithm nesting`, with its memory.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "analysis/paths/call_pairing.h"
#include "analysis/paths/linking.h"
#include "analysis/paths/nesting_stream.h"
#include "analysis/paths/pattern.h"
#include "base/check.h"
#include "multi_tier.h"

namespace wf {
namespace {

struct Row {
  const char* name;
  uint64_t messages;
  double paths_per_second;  // sets the parallelism
};

// Aguilera et al. table 1: its lengths, and rates that give its parallelism (1.6 to 1.8, 1.1, 5 and 45).
constexpr Row kRows[] = {
    {"multi-tier (short)", 20'164, 10},   {"multi-tier normal", 202'520, 10},
    {"multi-tier (long)", 2'026'658, 10}, {"parallelism low", 769'638, 2.2},
    {"parallelism medium", 770'344, 62},  {"parallelism high", 775'254, 660},
};

struct Cost {
  double pair_s = 0, nest_s = 0, link_s = 0, parallelism = 0;
  uint64_t paths = 0, patterns = 0;
};

// Of this process: others may be at work on the machine.
Nanos CpuNow() {
  struct timespec now {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

// Seconds for the first kLinked messages, on one thread, without patterns. It is much slower than nesting, and its time
// is linear in the messages too.
constexpr size_t kLinked = 40'000;
double MeasureLinking(const std::vector<Sighting>& sightings) {
  std::vector<paths::Call> calls;
  paths::CallPairing pairing({}, [&](const paths::Call& call) { calls.push_back(call); });
  for (size_t i = 0; i < std::min(kLinked, sightings.size()); ++i) pairing.Add(sightings[i]);
  pairing.Finish();
  std::sort(calls.begin(), calls.end(),
            [](const paths::Call& a, const paths::Call& b) { return a.place < b.place; });
  paths::LinkOptions options;
  options.threads = 1;
  const Nanos begin = CpuNow();
  WF_CHECK(paths::LinkCalls(calls, options).size() == calls.size());
  return static_cast<double>(CpuNow() - begin) / 1e9;
}

Cost Measure(const std::vector<Sighting>& sightings, const StringTable& names) {
  Cost cost;
  paths::PatternTable table(names);
  paths::NestingStream stream({}, paths::NestingStream::kWindow, [&](paths::PathBatch& batch) {
    table.Add(batch.calls, batch.forest, batch.roots);
  });
  // Pairing alone first, then both: the difference is nesting's.
  std::vector<paths::Call> calls;
  calls.reserve(sightings.size() / 2);
  const Nanos begin = CpuNow();
  paths::CallPairing pairing({}, [&](const paths::Call& call) { calls.push_back(call); });
  for (const Sighting& sighting : sightings) pairing.Add(sighting);
  pairing.Finish();
  const Nanos paired = CpuNow();
  for (const paths::Call& call : calls) stream.Add(call);
  stream.Finish();
  const Nanos nested = CpuNow();
  cost.pair_s = static_cast<double>(paired - begin) / 1e9;
  cost.nest_s = static_cast<double>(nested - paired) / 1e9;
  cost.parallelism = stream.counts().Parallelism();
  cost.paths = table.paths();
  cost.patterns = table.patterns().size();
  return cost;
}

double PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == "VmHWM:") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes / 1000;
    }
  return 0;
}

// Each row in a process of its own, so that peak memory is the row's.
int MeasureRow(const Row& row) {
  StringTable names;
  MultiTier system(row.paths_per_second, 1, names);
  std::vector<Sighting> sightings;
  sightings.reserve(row.messages);
  for (uint64_t i = 0; i < row.messages; ++i) sightings.push_back(system.Next());
  const double before = PeakMegabytes();
  Cost best;
  double memory = 0;
  for (int round = 0; round < 3; ++round) {
    const Cost cost = Measure(sightings, names);
    if (round == 0) memory = PeakMegabytes() - before;
    if (round == 0 || cost.pair_s + cost.nest_s < best.pair_s + best.nest_s) best = cost;
  }
  // At a parallelism of 45 linking is not what one would use, nor wait for.
  if (best.parallelism < 10) best.link_s = MeasureLinking(sightings);
  const double messages = static_cast<double>(row.messages);
  fmt::print("{:<20} {:>10} {:>11.2f} {:>8} {:>5.0f} {:>9.3f} {:>9.3f} {:>11.2f} {:>8.2f} {:>11}\n",
             row.name, row.messages, best.parallelism, best.patterns, memory, best.pair_s,
             best.nest_s, messages / best.nest_s / 1e6,
             messages / (best.nest_s + best.pair_s) / 1e6,
             best.link_s > 0
                 ? fmt::format("{:.3f}", std::min<double>(messages, kLinked) / best.link_s / 1e6)
                 : "-");
  std::fflush(stdout);
  return 0;
}

int MeasureTable() {
  fmt::print("{:<20} {:>10} {:>11} {:>8} {:>5} {:>9} {:>9} {:>11} {:>8} {:>11}\n", "trace",
             "messages", "parallelism", "patterns", "MB", "pairing s", "nesting s", "nesting M/s",
             "both M/s", "linking M/s");
  std::fflush(stdout);
  for (const Row& row : kRows) {
    const pid_t child = ::fork();
    WF_CHECK(child >= 0);
    if (child == 0) ::_exit(MeasureRow(row));
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
  return 0;
}

int Write(uint64_t messages, double rate) {
  StringTable names;
  MultiTier system(rate, 1, names);
  std::string text;
  for (uint64_t i = 0; i < messages; ++i) {
    const Sighting s = system.Next();
    fmt::format_to(std::back_inserter(text), "{}.{:09} {} {} {} {}\n", s.time_ns / kSecond,
                   s.time_ns % kSecond, s.kind == MessageKind::kCall ? "CALL" : "RET",
                   names.At(s.sender), names.At(s.receiver), s.id);
    if (text.size() < size_t{1} << 20 && i + 1 < messages) continue;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) return 1;
    text.clear();
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int Pipe(const char* self, const char* messages) {
  const std::string folder(self, std::strrchr(self, '/') == nullptr
                                     ? 0
                                     : static_cast<size_t>(std::strrchr(self, '/') - self) + 1);
  int ends[2];
  WF_CHECK(::pipe(ends) == 0);
  const Nanos begin = MonotonicNow();
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]), ::close(ends[1]);
    ::execl(self, self, "--write", messages, nullptr);
    ::_exit(127);
  }
  const pid_t reader = ::fork();
  if (reader == 0) {
    ::dup2(ends[0], 0);
    ::close(ends[0]), ::close(ends[1]);
    ::execl((folder + "wherefore").c_str(), "wherefore", "paths", "-", "--algorithm", "nesting",
            "--top", "1", nullptr);
    ::_exit(127);
  }
  ::close(ends[0]), ::close(ends[1]);
  int status = 0;
  struct rusage usage {};
  ::wait4(reader, &status, 0, &usage);
  const double seconds = static_cast<double>(MonotonicNow() - begin) / 1e9;
  ::waitpid(writer, nullptr, 0);
  const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  fmt::print(
      "{} messages through a pipe: {:.1f} s, {:.1f} s of CPU ({:.2f} M messages/s), "
      "{:.0f} MB resident at most\n",
      messages, seconds, cpu, std::strtod(messages, nullptr) / cpu / 1e6,
      static_cast<double>(usage.ru_maxrss) / 1000);
  return status == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what.empty()) return MeasureTable();
  if (what == "--write" && argc > 2)
    return Write(std::strtoull(argv[2], nullptr, 10), argc > 3 ? std::atof(argv[3]) : 10);
  if (what == "--pipe" && argc > 2) return Pipe(argv[0], argv[2]);
  std::fprintf(stderr, "bench_paths [--write N [RATE] | --pipe N]\n");
  return 2;
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) { return wf::Main(argc, argv); }
