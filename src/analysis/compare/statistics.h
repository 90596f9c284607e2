// The statistics of comparing two populations. Pure functions of their numbers; the data test holds values
// that other software computed.
#pragma once

#include <cstdint>
#include <vector>

namespace wf::compare {

struct TestResult {
  double statistic = 0;
  double p = 1;       // two-sided
  double effect = 0;  // 0: no difference
};

// Mann–Whitney's U test, by the normal approximation with continuity and tie correction, which is accurate
// from about eight values a side. statistic: U of b. effect: Cliff's delta, P(b > a) - P(b < a), from -1 to
// 1. NaN counts as no value.
TestResult MannWhitney(std::vector<double> a, std::vector<double> b);

// Pearson's χ² test of independence on counts of the same categories in two populations. Categories that
// neither population has are ignored. effect: Cramér's V, from 0 to 1.
TestResult ChiSquared(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// Benjamini and Hochberg's adjusted p-values (q), in the order given: the smallest false-discovery rate at
// which each would count as a difference.
std::vector<double> BenjaminiHochberg(const std::vector<double>& p);

// The survival function of χ² with k degrees of freedom, and that of the standard normal.
double ChiSquaredTail(double x, double k);
double NormalTail(double z);

}  // namespace wf::compare
