#include "analysis/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wf::compare {
namespace {

// The regularized incomplete gamma function, upper part Q(a, x): by its series where that converges fast (x < a + 1), by
// Lentz's continued fraction beyond. Both stop at the precision of doubles; the number of turns is a bound on time, far
// above the about sqrt(a) they need.
double GammaQ(double a, double x) {
  if (x <= 0) return 1;
  constexpr int kTurns = 10'000;
  constexpr double kSmall = 1e-300;
  const double front = std::exp(-x + a * std::log(x) - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < kTurns && std::abs(term) > std::abs(sum) * 1e-16; ++n)
      sum += term *= x / (a + n);
    return std::clamp(1 - sum * front, 0.0, 1.0);
  }
  double b = x + 1 - a, c = 1 / kSmall, d = 1 / b, h = d;
  for (int n = 1; n < kTurns; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < kSmall) d = kSmall;
    c = b + an / c;
    if (std::abs(c) < kSmall) c = kSmall;
    d = 1 / d;
    const double step = d * c;
    h *= step;
    if (std::abs(step - 1) < 1e-16) break;
  }
  return std::clamp(h * front, 0.0, 1.0);
}

}  // namespace

double ChiSquaredTail(double x, double k) { return k <= 0 ? 1 : GammaQ(k / 2, x / 2); }

double NormalTail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

TestResult MannWhitney(std::vector<double> a, std::vector<double> b) {
  const auto drop_nan = [](std::vector<double>& v) {
    v.erase(std::remove_if(v.begin(), v.end(), [](double x) { return std::isnan(x); }), v.end());
    std::sort(v.begin(), v.end());
  };
  drop_nan(a);
  drop_nan(b);
  const auto n_a = static_cast<double>(a.size()), n_b = static_cast<double>(b.size());
  if (a.empty() || b.empty()) return {};
  // Walk both in order, value by value: ranks of equal values are shared.
  double rank_sum_b = 0, ties = 0, rank = 0;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const double value = i == a.size() ? b[j] : j == b.size() ? a[i] : std::min(a[i], b[j]);
    double in_a = 0, in_b = 0;
    for (; i < a.size() && a[i] == value; ++i) ++in_a;
    for (; j < b.size() && b[j] == value; ++j) ++in_b;
    const double t = in_a + in_b;
    rank_sum_b += in_b * (rank + (t + 1) / 2);
    rank += t;
    ties += t * t * t - t;
  }
  TestResult out;
  out.statistic = rank_sum_b - n_b * (n_b + 1) / 2;
  out.effect = 2 * out.statistic / (n_a * n_b) - 1;
  const double n = n_a + n_b;
  const double deviation = std::sqrt(n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1))));
  if (!(deviation > 0)) return out;  // all values are equal
  const double distance = std::abs(out.statistic - n_a * n_b / 2) - 0.5;
  out.p = std::min(1.0, 2 * NormalTail(distance / deviation));
  return out;
}

TestResult ChiSquared(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  TestResult out;
  const size_t size = std::min(a.size(), b.size());
  double total_a = 0, total_b = 0;
  int categories = 0;
  for (size_t i = 0; i < size; ++i) {
    total_a += static_cast<double>(a[i]);
    total_b += static_cast<double>(b[i]);
    categories += a[i] + b[i] > 0 ? 1 : 0;
  }
  const double total = total_a + total_b;
  if (categories < 2 || total_a == 0 || total_b == 0) return out;
  for (size_t i = 0; i < size; ++i) {
    const auto both = static_cast<double>(a[i] + b[i]);
    if (both == 0) continue;
    const double expect_a = both * total_a / total, expect_b = both * total_b / total;
    const double off_a = static_cast<double>(a[i]) - expect_a;
    const double off_b = static_cast<double>(b[i]) - expect_b;
    out.statistic += off_a * off_a / expect_a + off_b * off_b / expect_b;
  }
  out.p = ChiSquaredTail(out.statistic, categories - 1);
  out.effect = std::sqrt(out.statistic / total);  // two populations: the smaller dimension is 2
  return out;
}

std::vector<double> BenjaminiHochberg(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return p[x] < p[y]; });
  std::vector<double> q(p.size());
  double least = 1;
  for (size_t i = order.size(); i-- > 0;) {
    least =
        std::min(least, p[order[i]] * static_cast<double>(p.size()) / static_cast<double>(i + 1));
    q[order[i]] = least;
  }
  return q;
}

}  // namespace wf::compare
