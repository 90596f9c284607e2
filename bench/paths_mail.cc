// bench/paths_mail [--json] [--plot FILE.svg]: convolution of a generated mailbox of 81,044 Received headers over two
// months (Aguilera et al. §7.5.7, figure 23): for quanta of 5 to 360 s, which paths of at least 100 messages are wrong or
// missing, and what it takes. Exits with 1 when one is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>

#include "analysis/paths/convolution.h"
#include "scenario/mailbox.h"

namespace wf {
namespace {

constexpr uint64_t kFrequent = 100;  // the paper's limit

struct Trial {
  Nanos quantum = 0;
  double seconds = 0;
  size_t paths = 0, frequent = 0, false_positive = 0, frequent_false_positive = 0, missed = 0;
  size_t second_spikes = 0;  // edges with a delay of 10 to 16 s beside the main one
};

// Paths from a root to where they end, by the names of their nodes.
std::map<std::string, uint64_t> PathsOf(const paths::ConvolutionResult& result,
                                        const StringTable& nodes) {
  std::vector<std::string> names(result.vertices.size());
  std::vector<uint64_t> counts(result.vertices.size());
  std::set<uint32_t> inner(result.roots.begin(), result.roots.end());
  for (const uint32_t root : result.roots) names[root] = nodes.At(result.vertices[root]);
  for (const paths::ConvolutionEdge& edge : result.edges) {
    names[edge.to] = names[edge.from] + " " + std::string(nodes.At(result.vertices[edge.to]));
    counts[edge.to] = edge.count;
    inner.insert(edge.from);
  }
  std::map<std::string, uint64_t> out;
  for (uint32_t v = 0; v < names.size(); ++v)
    if (!inner.contains(v)) out[names[v]] += counts[v];
  return out;
}

Result<Trial> Run(const std::vector<Sighting>& sightings, const StringTable& nodes,
                  const std::map<std::string, uint64_t>& truth, Nanos quantum) {
  Trial trial;
  trial.quantum = quantum;
  paths::ConvolutionOptions options;
  options.quantum_ns = quantum;
  const Nanos begin = MonotonicNow();
  WF_ASSIGN(const paths::ConvolutionResult result, paths::Convolve(sightings, nodes, options));
  trial.seconds = static_cast<double>(MonotonicNow() - begin) / 1e9;
  const std::map<std::string, uint64_t> found = PathsOf(result, nodes);
  trial.paths = found.size();
  for (const auto& [path, count] : found) {
    const bool wrong = !truth.contains(path);
    trial.frequent += count >= kFrequent ? 1 : 0;
    trial.false_positive += wrong ? 1 : 0;
    trial.frequent_false_positive += wrong && count >= kFrequent ? 1 : 0;
  }
  for (const auto& [path, count] : truth)
    trial.missed += count >= kFrequent && !found.contains(path) ? 1 : 0;
  for (const paths::ConvolutionEdge& edge : result.edges) {
    for (size_t d = 1; d < edge.delays.size(); ++d) {
      const Nanos delay = edge.delays[d].delay_ns;
      if (delay >= 10 * kSecond && delay <= 16 * kSecond) {
        ++trial.second_spikes;
        break;
      }
    }
  }
  return trial;
}

// Run time against quantum, both by their logarithms, and the curve S log S through the first point.
std::string Plot(const std::vector<Trial>& trials, double duration) {
  const auto cost = [&](double quantum) {
    return duration / quantum * std::log2(duration / quantum);
  };
  const double first = static_cast<double>(trials.front().quantum) / 1e9;
  const double last = static_cast<double>(trials.back().quantum) / 1e9;
  double most = 0;
  for (const Trial& trial : trials) most = std::max(most, trial.seconds);
  const auto x = [&](double quantum) {
    return 70 + 600 * std::log(quantum / first) / std::log(last / first);
  };
  const double low = std::log10(most) - 3, high = std::log10(most) + 0.2;
  const auto y = [&](double seconds) {
    return 300 - 250 * (std::log10(std::max(seconds, 1e-9)) - low) / (high - low);
  };
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 360\" width=\"720\" "
      "height=\"360\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
      "<g font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">"
      "<text x=\"70\" y=\"24\" font-size=\"14\">Convolution of 81,044 Received headers: run time "
      "by "
      "quantum</text>";
  for (int decade = static_cast<int>(std::ceil(low)); decade <= high; ++decade) {
    const double at = y(std::pow(10, decade));
    out += fmt::format(
        "<line x1=\"70\" x2=\"690\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"62\" y=\"{1:.1f}\" text-anchor=\"end\">{2:g} s</text>",
        at, at + 4, std::pow(10, decade));
  }
  std::string curve;
  for (double q = first; q <= last * 1.001; q *= 1.1) {
    const double seconds = trials.front().seconds * cost(q) / cost(first);
    if (std::log10(seconds) < low) break;
    curve += fmt::format("{}{:.1f},{:.1f}", curve.empty() ? "" : " ", x(q), y(seconds));
  }
  out += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"#999\" stroke-dasharray=\"5 4\"/>", curve);
  for (const Trial& trial : trials) {
    const double quantum = static_cast<double>(trial.quantum) / 1e9;
    out += fmt::format(
        "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\" fill=\"#0f7b6c\"/>"
        "<text x=\"{0:.1f}\" y=\"320\" text-anchor=\"middle\">{2:g} s</text>",
        x(quantum), y(trial.seconds), quantum);
  }
  return out +
         "<text x=\"380\" y=\"346\" text-anchor=\"middle\">quantum; dashed: S log S through the "
         "first point, S the quanta of the trace</text></g></svg>\n";
}

struct Output {
  bool json = false;
  std::string plot;
};

Result<bool> Measure(const Output& output) {
  const scenario::MailboxOptions options;
  WF_ASSIGN(const scenario::Mailbox mailbox, scenario::GenerateMailbox(options));
  StringTable nodes;
  std::vector<Sighting> sightings;
  std::map<std::string, uint64_t> truth;
  for (const auto& [hosts, count] : mailbox.paths) {
    std::string path;
    for (const uint16_t host : hosts) path += (path.empty() ? "" : " ") + mailbox.hosts[host];
    truth[path] = count;
  }
  for (const scenario::MailMessage& message : mailbox.messages) {
    for (size_t hop = 1; hop < message.hosts.size(); ++hop) {
      Sighting s;
      s.time_ns = message.received[hop - 1];
      s.sender = nodes.Intern(mailbox.hosts[message.hosts[hop - 1]]);
      s.receiver = nodes.Intern(mailbox.hosts[message.hosts[hop]]);
      sightings.push_back(s);
    }
  }
  std::stable_sort(sightings.begin(), sightings.end(),
                   [](const Sighting& a, const Sighting& b) { return a.time_ns < b.time_ns; });
  size_t frequent = 0;
  for (const auto& [path, count] : truth) frequent += count >= kFrequent ? 1 : 0;
  if (!output.json) {
    fmt::print("{} headers of {} messages, {} paths, {} of at least {} messages\n\n",
               sightings.size(), mailbox.messages.size(), truth.size(), frequent, kFrequent);
    fmt::print("{:>9} {:>9} {:>6} {:>9} {:>6} {:>10} {:>7} {:>13}\n", "quantum", "seconds", "paths",
               "frequent", "false", "of >= 100", "missed", "second spikes");
  }
  std::vector<Trial> trials;
  bool good = true;
  for (const int64_t quantum : {5, 10, 15, 30, 60, 120, 240, 360}) {
    WF_ASSIGN(const Trial trial, Run(sightings, nodes, truth, quantum * kSecond));
    good = good && trial.frequent_false_positive == 0 && trial.missed == 0;
    if (output.json) {
      fmt::print(
          "{{\"quantum_ns\":{},\"seconds\":{:.4f},\"paths\":{},\"frequent\":{},"
          "\"false_positive\":{},\"frequent_false_positive\":{},\"frequent_missed\":{},"
          "\"second_spikes\":{}}}\n",
          trial.quantum, trial.seconds, trial.paths, trial.frequent, trial.false_positive,
          trial.frequent_false_positive, trial.missed, trial.second_spikes);
    } else {
      fmt::print("{:>7} s {:>9.3f} {:>6} {:>9} {:>6} {:>10} {:>7} {:>13}\n", quantum, trial.seconds,
                 trial.paths, trial.frequent, trial.false_positive, trial.frequent_false_positive,
                 trial.missed, trial.second_spikes);
    }
    trials.push_back(trial);
  }
  if (!output.plot.empty()) {
    const std::string text = Plot(trials, static_cast<double>(options.duration) / 1e9);
    std::FILE* file = std::fopen(output.plot.c_str(), "wb");
    if (file == nullptr) return EnvironmentError(output.plot + ": cannot be written");
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !written)
      return EnvironmentError(output.plot + ": cannot be written");
  }
  return good;
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) {
  wf::Output output;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--json") {
      output.json = true;
    } else if (flag == "--plot" && i + 1 < argc) {
      output.plot = argv[++i];
    } else {
      fmt::print(stderr, "bench_paths_mail [--json] [--plot FILE.svg]\n");
      return 2;
    }
  }
  const wf::Result<bool> good = wf::Measure(output);
  if (!good.ok()) {
    fmt::print(stderr, "bench_paths_mail: {}\n", good.error().message);
    return 3;
  }
  return *good ? 0 : 1;
}
