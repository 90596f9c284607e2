// bench/turnaround FILE FROM TO: where the time from stored provenance events to an explanation goes (Zeno figure 11):
// lookup (reading), construction, annotation, post-processing. One line of JSON, milliseconds, best of five.
// bench/turnaround --recording R1..R4 [SEED]: what recording a run of network datalog costs it, by interleaved runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "analysis/provenance/blame.h"
#include "analysis/provenance/raw_graph.h"
#include "answer/explain/explain_json.h"
#include "scenario/network_incident.h"

namespace wf {
namespace {

double Ms(Nanos from, Nanos to) { return static_cast<double>(to - from) / 1e6; }

Status Turnaround(const std::string& path, const std::string& from, const std::string& to) {
  double best[4] = {1e18, 1e18, 1e18, 1e18};
  for (int i = 0; i < 5; ++i) {
    const Nanos begin = MonotonicNow();
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    WF_ASSIGN(const provenance::Execution execution, provenance::ReadExecution(text, path));
    const Nanos read = MonotonicNow();
    provenance::ExplainOptions options;
    options.from = execution.Find(from);
    options.to = execution.Find(to);
    if (options.from == provenance::kNoEvent || options.to == provenance::kNoEvent)
      return NotFound(path + ": no such event");
    const Nanos asked = MonotonicNow();
    const provenance::RawGraph raw = provenance::BuildRawGraph(execution, options.to);
    const Nanos constructed = MonotonicNow();
    const provenance::Blame blame = provenance::FindBlame(execution, options.from, options.to);
    const Nanos annotated = MonotonicNow();
    // Explain does both of these again, and then what is left: pruning, merging, writing.
    WF_ASSIGN(const provenance::Explanation explanation, provenance::Explain(execution, options));
    const std::string json = answer::ExplanationJson(execution, explanation, options.view);
    const Nanos all = MonotonicNow();
    const double parts[4] = {Ms(begin, read), Ms(asked, constructed), Ms(constructed, annotated),
                             std::max(0.0, Ms(annotated, all) - Ms(asked, annotated))};
    for (int p = 0; p < 4; ++p) best[p] = std::min(best[p], parts[p]);
    if (raw.vertices != explanation.sizes.raw || blame.delay_ns.empty())
      return EnvironmentError(path + ": the parts do not agree with the whole");
  }
  fmt::print(
      "{{\"lookup\":{:.2f},\"construction\":{:.2f},\"annotation\":{:.2f},\"post\":{:.2f}}}\n",
      best[0], best[1], best[2], best[3]);
  return {};
}

// Runs with and without a recording alternate; each pair gives one ratio.
Status Recording(const std::string& name, uint64_t seed) {
  scenario::ScenarioOptions scenario;
  scenario.name = name;
  scenario.seed = seed;
  WF_ASSIGN(const scenario::NetworkIncident incident, scenario::PlanNetworkIncident(scenario));
  std::vector<double> increase;
  ndlog::Recording recording;
  int64_t events = 0;
  const auto run = [&](std::vector<ndlog::RecordedEvent>* record) -> Result<Nanos> {
    ndlog::RunOptions options;
    options.seed = seed;
    options.record = record;
    const Nanos begin = MonotonicNow();
    WF_ASSIGN(const ndlog::RunResult result, ndlog::RunFromTexts(incident.texts, options));
    events = result.events;
    return MonotonicNow() - begin;
  };
  for (int i = 0; i < 101; ++i) {
    recording.events.clear();
    WF_ASSIGN(const Nanos without, run(nullptr));
    WF_ASSIGN(const Nanos with, run(&recording.events));
    increase.push_back(100.0 * static_cast<double>(with - without) / static_cast<double>(without));
  }
  std::sort(increase.begin(), increase.end());
  // The interval of the median by its order statistics: binomial, 95%.
  const double n = static_cast<double>(increase.size());
  const auto low = static_cast<size_t>(std::floor(n / 2 - 0.98 * std::sqrt(n)));
  const auto high = static_cast<size_t>(std::ceil(n / 2 + 0.98 * std::sqrt(n)));
  const double bytes =
      static_cast<double>(ndlog::WriteRecording(recording).size()) / static_cast<double>(events);
  fmt::print(
      "{{\"events\":{},\"increase\":{:.1f},\"low\":{:.1f},\"high\":{:.1f},"
      "\"bytes_per_event\":{:.0f}}}\n",
      events, increase[increase.size() / 2], increase[low], increase[high], bytes);
  return {};
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) {
  const bool recording = argc >= 3 && std::string(argv[1]) == "--recording";
  if (!recording && argc != 4) {
    fmt::print(stderr, "bench_turnaround FILE FROM TO | --recording R1..R4 [SEED]\n");
    return 2;
  }
  const wf::Status status = recording ? wf::Recording(argv[2], argc > 3 ? std::stoull(argv[3]) : 1)
                                      : wf::Turnaround(argv[1], argv[2], argv[3]);
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_turnaround: {}\n", status.error().message);
  return 3;
}
