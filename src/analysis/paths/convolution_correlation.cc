#include "analysis/paths/convolution_correlation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <kissfft/kissfft.hh>
#include <map>
#include <tuple>

namespace wf::paths {
namespace {

using Complex = std::complex<double>;
// Of a real signal of twice as many points; [0] holds both ends.
using Spectrum = std::vector<Complex>;

// What a pair and a point of a transform cost, in ns, measured on one core of 2.6 GHz: only the ratio matters.
constexpr double kPairCost = 1.2, kPointCost = 0.9, kMultiplyCost = 2;
constexpr double kSettle = 1 << 20;
constexpr size_t kLeastPoints = size_t{1} << 10;
// Transforms of signals that come again (a node's messages meet those of every path through it).
constexpr size_t kCacheBytes = size_t{128} << 20;

// Rounds to the nearest multiple of 1 / kSettle. Adding and subtracting 1.5 · 2⁵² rounds to integers without
// a call.
double Settled(double value) {
  constexpr double kWhole = 6'755'399'441'055'744.0;
  return ((value * kSettle + kWhole) - kWhole) / kSettle;
}

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Pulses of a signal with quanta in [from, to).
std::span<const Pulse> Within(const Signal& signal, int64_t from, int64_t to) {
  const auto before = [](const Pulse& pulse, int64_t quantum) { return pulse.quantum < quantum; };
  const auto begin = std::lower_bound(signal.pulses.begin(), signal.pulses.end(), from, before);
  const auto end = std::lower_bound(begin, signal.pulses.end(), to, before);
  return {begin, end};
}

// Real signals of `points` values ↔ spectra, by complex transforms of half the length.
class RealTransform {
 public:
  explicit RealTransform(size_t points)
      : half_(points / 2), forward_(half_, false), inverse_(half_, true), scratch_(half_) {
    for (size_t k = 0; k < half_; ++k)
      turns_.push_back(std::polar(1.0, M_PI * static_cast<double>(k) / static_cast<double>(half_)));
  }
  size_t points() const { return 2 * half_; }

  Spectrum Forward(std::span<const double> values) {
    Spectrum out(half_);
    forward_.transform_real(values.data(), out.data());
    return out;
  }

  void Inverse(const Spectrum& in, std::vector<double>& values) {
    scratch_[0] = Complex(in[0].real() + in[0].imag(), in[0].real() - in[0].imag());
    for (size_t k = 1; k < half_; ++k) {
      const Complex a = in[k], b = std::conj(in[half_ - k]);
      scratch_[k] = (a + b) + Complex(0, 1) * turns_[k] * (a - b);
    }
    values.resize(2 * half_);
    inverse_.transform(scratch_.data(), reinterpret_cast<Complex*>(values.data()));
    const double scale = 1.0 / static_cast<double>(2 * half_);
    for (double& value : values) value *= scale;
  }

 private:
  size_t half_;
  kissfft<double> forward_, inverse_;
  std::vector<Complex> scratch_, turns_;
};

}  // namespace

Signal Indicator(std::span<const int64_t> quanta, uint64_t id) {
  Signal out;
  out.id = id;
  for (size_t i = 0; i < quanta.size();) {
    size_t end = i;
    while (end < quanta.size() && quanta[end] == quanta[i]) ++end;
    out.pulses.push_back({quanta[i], std::sqrt(static_cast<double>(end - i))});
    i = end;
  }
  return out;
}

struct Correlator::Impl {
  Impl(LagRange lag_range, int64_t longest, CorrelationMethod chosen)
      : lags(lag_range),
        span(longest),
        method(chosen),
        result(static_cast<size_t>(lags.last - lags.first + 1)) {}

  const LagRange lags;
  const int64_t span;
  const CorrelationMethod method;
  std::vector<double> result;
  CorrelationCounts counts;

  std::unique_ptr<RealTransform> transform;
  std::vector<double> values;
  // By signal, role (cause 0, effect 1) and block.
  std::map<std::tuple<uint64_t, int, int64_t>, Spectrum> cache;
  size_t cached_bytes = 0;

  double DirectCost(const Signal& cause, const Signal& effect) const {
    double pairs = 0;
    size_t begin = 0, end = 0;
    const std::vector<Pulse>& e = effect.pulses;
    for (const Pulse& pulse : cause.pulses) {
      while (begin < e.size() && e[begin].quantum < pulse.quantum + lags.first) ++begin;
      while (end < e.size() && e[end].quantum <= pulse.quantum + lags.last) ++end;
      pairs += static_cast<double>(end - begin);
    }
    return kPairCost * pairs;
  }

  void Direct(const Signal& cause, const Signal& effect) {
    size_t begin = 0;
    const std::vector<Pulse>& e = effect.pulses;
    for (const Pulse& pulse : cause.pulses) {
      const int64_t zero = pulse.quantum + lags.first, last = pulse.quantum + lags.last;
      while (begin < e.size() && e[begin].quantum < zero) ++begin;
      for (size_t i = begin; i < e.size() && e[i].quantum <= last; ++i)
        result[static_cast<size_t>(e[i].quantum - zero)] += pulse.weight * e[i].weight;
    }
  }

  // A block takes `Step()` quanta of causes and all the effects that its lags reach. Four times the lags waste a quarter
  // of each transform; a trace that is shorter than that is one block.
  void Prepare() {
    if (transform != nullptr) return;
    const auto width = static_cast<uint64_t>(result.size());
    const uint64_t whole = static_cast<uint64_t>(span) + width;
    const size_t points = std::max(kLeastPoints, std::bit_ceil(std::min(4 * width, whole)));
    transform = std::make_unique<RealTransform>(points);
  }
  int64_t Step() const { return static_cast<int64_t>(transform->points() - result.size() + 1); }

  // Calls `use` for each block that has causes.
  template <typename Use>
  void ForBlocks(const Signal& cause, const Use& use) const {
    const int64_t step = Step();
    for (size_t i = 0; i < cause.pulses.size();) {
      const int64_t block = FloorDiv(cause.pulses[i].quantum, step);
      const int64_t from = block * step;
      size_t end = i;
      while (end < cause.pulses.size() && cause.pulses[end].quantum < from + step) ++end;
      use(block, std::span<const Pulse>(cause.pulses).subspan(i, end - i));
      i = end;
    }
  }
  std::span<const Pulse> Effects(const Signal& effect, int64_t block) const {
    const int64_t from = block * Step() + lags.first;
    return Within(effect, from, from + static_cast<int64_t>(transform->points()));
  }

  double TransformCost(const Signal& cause, const Signal& effect) const {
    const auto points = static_cast<double>(transform->points());
    const double one = kPointCost * points * std::log2(points);
    double cost = one;
    ForBlocks(cause, [&](int64_t block, std::span<const Pulse>) {
      cost += kMultiplyCost * points;
      if (!cache.contains({cause.id, 0, block})) cost += one;
      if (!cache.contains({effect.id, 1, block})) cost += one;
    });
    return cost;
  }

  // The spectrum of some pulses; kept when there is room.
  const Spectrum& SpectrumOf(uint64_t id, int role, int64_t block, std::span<const Pulse> pulses,
                             int64_t zero, Spectrum& spare) {
    const auto known = cache.find({id, role, block});
    if (known != cache.end()) return known->second;
    values.assign(transform->points(), 0);
    for (const Pulse& pulse : pulses)
      values[static_cast<size_t>(pulse.quantum - zero)] = pulse.weight;
    spare = transform->Forward(values);
    const size_t bytes = spare.size() * sizeof(Complex);
    if (cached_bytes + bytes > kCacheBytes) return spare;
    cached_bytes += bytes;
    return cache.emplace(std::make_tuple(id, role, block), std::move(spare)).first->second;
  }

  void Transform(const Signal& cause, const Signal& effect) {
    Spectrum sum(transform->points() / 2), spare_cause, spare_effect;
    ForBlocks(cause, [&](int64_t block, std::span<const Pulse> causes) {
      const std::span<const Pulse> effects = Effects(effect, block);
      if (effects.empty()) return;
      const int64_t zero = block * Step();
      const Spectrum& c = SpectrumOf(cause.id, 0, block, causes, zero, spare_cause);
      const Spectrum& e = SpectrumOf(effect.id, 1, block, effects, zero + lags.first, spare_effect);
      sum[0] += Complex(c[0].real() * e[0].real(), c[0].imag() * e[0].imag());
      for (size_t k = 1; k < sum.size(); ++k) {
        const double cr = c[k].real(), ci = c[k].imag(), er = e[k].real(), ei = e[k].imag();
        sum[k] += Complex(cr * er + ci * ei, cr * ei - ci * er);
      }
    });
    transform->Inverse(sum, values);
    std::copy_n(values.begin(), result.size(), result.begin());
  }
};

Correlator::Correlator(LagRange lags, int64_t span, CorrelationMethod method)
    : impl_(std::make_unique<Impl>(lags, span, method)) {}
Correlator::~Correlator() = default;

std::span<const double> Correlator::Correlate(const Signal& cause, const Signal& effect) {
  Impl& impl = *impl_;
  std::fill(impl.result.begin(), impl.result.end(), 0.0);
  if (cause.pulses.empty() || effect.pulses.empty()) return impl.result;
  bool direct = impl.method == CorrelationMethod::kDirect;
  if (!direct) {
    impl.Prepare();
    direct = impl.method == CorrelationMethod::kByCost &&
             impl.DirectCost(cause, effect) <= impl.TransformCost(cause, effect);
  }
  if (direct) {
    ++impl.counts.direct;
    impl.Direct(cause, effect);
  } else {
    ++impl.counts.transformed;
    impl.Transform(cause, effect);
  }
  for (double& value : impl.result) value = Settled(value);
  return impl.result;
}

void Correlator::Forget(uint64_t id) {
  Impl& impl = *impl_;
  for (const int role : {0, 1}) {
    auto it = impl.cache.lower_bound({id, role, INT64_MIN});
    while (it != impl.cache.end() && std::get<0>(it->first) == id &&
           std::get<1>(it->first) == role) {
      impl.cached_bytes -= it->second.size() * sizeof(Complex);
      it = impl.cache.erase(it);
    }
  }
}

const CorrelationCounts& Correlator::counts() const { return impl_->counts; }

}  // namespace wf::paths
