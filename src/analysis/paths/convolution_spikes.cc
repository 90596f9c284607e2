#include "analysis/paths/convolution_spikes.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace wf::paths {
namespace {

// How far around a spike its background is taken from, and how much of its height ends it: a tenth keeps 97% of
// Gaussian delays, and each hop loses the rest.
constexpr int64_t kNeighbourhood = 48;
constexpr double kSpikeFoot = 0.1;
constexpr int64_t kWidest = 64;  // quanta each side: a spread beyond is for a coarser quantum
// Where the background is noisy, a foot below its own fluctuation would let a spike run into its neighbours.
constexpr double kNoisyFoot = 2.5;

// The share of correlations that may show a false spike.
constexpr double kByChance = 1e-4;

// Whether one of `lags` points with this mean reaches `value` by chance: Chernoff's bound for Poisson counts.
bool ByChance(double value, double mean, double lags) {
  if (value <= mean) return true;
  if (mean <= 0) return false;
  const double exponent = value * std::log(value / mean) - value + mean;
  return std::log(lags) - exponent > std::log(kByChance);
}

struct Background {
  double level = 0, noise = 0;  // median and, as a standard deviation, the median distance from it
  double usual = 0;             // mean of the lower nine tenths: other spikes are not among them
};

double Median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Finder {
 public:
  Finder(std::span<const double> c, int64_t first_lag, const SpikeOptions& options)
      : c_(c), first_(first_lag), options_(options) {}

  Spikes Find() {
    Spikes out;
    if (c_.empty()) return out;
    double sum = 0, squares = 0;
    for (const double value : c_) sum += value;
    const auto n = static_cast<double>(c_.size());
    const double mean = sum / n;
    for (const double value : c_) squares += (value - mean) * (value - mean);
    const double deviation = std::sqrt(squares / n);
    if (deviation == 0) return out;
    const double high = mean + options_.high * deviation, low = mean + options_.low * deviation;
    for (size_t i = 0; i < c_.size();) {
      if (c_[i] < high) {
        ++i;
        continue;
      }
      // One spike: from its first high point to before the next low one.
      size_t end = i;
      while (end < c_.size() && c_[end] >= low) ++end;
      AddGroup(i, end, high, mean, out);
      i = end;
    }
    if (options_.variance >= 0) KeepLargest(out.spikes);
    return out;
  }

 private:
  // With a given variance, a spike within that distance of a larger one is part of it.
  void KeepLargest(std::vector<Spike>& spikes) const {
    const auto height = [&](const Spike& spike) {
      return c_[static_cast<size_t>(spike.lag - first_)];
    };
    std::vector<Spike> by_height = spikes;
    std::stable_sort(by_height.begin(), by_height.end(),
                     [&](const Spike& a, const Spike& b) { return height(a) > height(b); });
    spikes.clear();
    for (const Spike& spike : by_height) {
      const bool taken = std::any_of(spikes.begin(), spikes.end(), [&](const Spike& larger) {
        return std::abs(larger.lag - spike.lag) <= options_.variance;
      });
      if (!taken) spikes.push_back(spike);
    }
    std::sort(spikes.begin(), spikes.end(),
              [](const Spike& a, const Spike& b) { return a.lag < b.lag; });
  }

  int64_t Lag(size_t i) const { return first_ + static_cast<int64_t>(i); }

  void AddGroup(size_t begin, size_t end, double high, double mean, Spikes& out) const {
    const auto largest = std::max_element(c_.begin() + static_cast<std::ptrdiff_t>(begin),
                                          c_.begin() + static_cast<std::ptrdiff_t>(end));
    auto peak = static_cast<size_t>(largest - c_.begin());
    if (Lag(peak) < 0) {
      ++out.negative;
      // Its flank may reach beyond 0; only a separate maximum there is a delay.
      std::optional<size_t> own;
      for (size_t i = begin; i < end; ++i) {
        const bool maximum =
            i > 0 && c_[i] > c_[i - 1] && (i + 1 == c_.size() || c_[i] >= c_[i + 1]);
        if (Lag(i) >= 0 && maximum && c_[i] >= high && (!own || c_[i] > c_[*own])) own = i;
      }
      if (!own) return;
      peak = *own;
    }
    // Load that rises and falls, by the hour or the day, lifts whole regions of lags: a spike is measured
    // against its own region.
    const auto lags = static_cast<double>(c_.size());
    const auto chance = [&](double usual) { return ByChance(c_[peak], usual, lags); };
    if (chance(mean) || chance(Around(peak, kNeighbourhood).usual)) {
      ++out.chance;
      return;
    }
    out.spikes.push_back(Extent(peak));
  }

  Background Around(size_t peak, int64_t reach) const {
    std::vector<double> values;
    const auto at = static_cast<int64_t>(peak);
    const auto size = static_cast<int64_t>(c_.size());
    for (int64_t i = std::max<int64_t>(0, at - reach); i <= std::min(size - 1, at + reach); ++i)
      if (i != at) values.push_back(c_[static_cast<size_t>(i)]);
    Background out;
    out.level = Median(values);
    const size_t most = values.size() * 9 / 10;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(most),
                     values.end());
    for (size_t i = 0; i < most; ++i) out.usual += values[i] / static_cast<double>(most);
    for (double& value : values) value = std::abs(value - out.level);
    out.noise = 1.4826 * Median(values);
    return out;
  }

  Spike Extent(size_t peak) const {
    Spike spike;
    spike.lag = Lag(peak);
    // A delay that varies by more than half of itself is not one delay.
    const int64_t most =
        options_.variance >= 0 ? options_.variance : std::min(kWidest, spike.lag / 2 + 2);
    const Background background = Around(peak, kNeighbourhood + 2 * std::max<int64_t>(0, most));
    spike.level = background.level;
    const double height = c_[peak] - background.level;
    const double foot =
        background.level +
        std::min(height, std::max(kSpikeFoot * height, kNoisyFoot * background.noise));
    const auto belongs = [&](int64_t lag) {
      const int64_t i = lag - first_;
      if (lag < 0 || i < 0 || i >= static_cast<int64_t>(c_.size())) return false;
      if (std::abs(lag - spike.lag) > most) return false;
      // A higher value belongs to another spike.
      const double value = c_[static_cast<size_t>(i)];
      return options_.variance >= 0 || (value > foot && value <= c_[peak]);
    };
    spike.first = spike.last = spike.lag;
    while (belongs(spike.first - 1)) --spike.first;
    while (belongs(spike.last + 1)) ++spike.last;
    double moment = 0;
    for (int64_t lag = spike.first; lag <= spike.last; ++lag) {
      const double over = std::max(0.0, c_[static_cast<size_t>(lag - first_)] - background.level);
      spike.excess += over;
      moment += over * static_cast<double>(lag);
    }
    spike.centre = spike.excess > 0 ? moment / spike.excess : static_cast<double>(spike.lag);
    return spike;
  }

  std::span<const double> c_;
  int64_t first_;
  SpikeOptions options_;
};

}  // namespace

Spikes FindSpikes(std::span<const double> correlation, int64_t first_lag,
                  const SpikeOptions& options) {
  return Finder(correlation, first_lag, options).Find();
}

}  // namespace wf::paths
