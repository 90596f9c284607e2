// start' = max(ready', end' of the previous holders of its servers) + slack, end' = start' + the scaled
// duration. ready' keeps its distance to the end of the last cause; slack is the unexplained part of the
// recorded start. So with every factor 1 the recorded times are reproduced. The order on each server stays as
// recorded.
#include "analysis/provenance/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace wf::provenance {
namespace {

// A factor as the decimal number it was written as: 0.29 × 100 is 29, not 28.999….
struct Decimal {
  unsigned __int128 digits = 1;
  int tenths = 0;  // value = digits / 10^tenths
};

Decimal ToDecimal(double factor) {
  char text[64];
  const auto written = std::to_chars(text, text + sizeof(text), factor, std::chars_format::fixed);
  Decimal out{0, 0};
  if (written.ec != std::errc()) return out;  // so small that it is nothing
  bool point = false;
  for (const char* c = text; c != written.ptr && out.tenths < 18; ++c) {
    if (*c == '.') {
      point = true;
      continue;
    }
    out.digits = out.digits * 10 + static_cast<unsigned>(*c - '0');
    out.tenths += point ? 1 : 0;
  }
  return out;
}

Nanos Scaled(Nanos duration, const Decimal& factor) {
  unsigned __int128 ten = 1;
  for (int i = 0; i < factor.tenths; ++i) ten *= 10;
  const auto long_time = static_cast<unsigned __int128>(duration);
  if (factor.digits != 0 && long_time > ~static_cast<unsigned __int128>(0) / factor.digits)
    return INT64_MAX;
  const unsigned __int128 scaled = long_time * factor.digits / ten;
  return scaled > INT64_MAX ? INT64_MAX : static_cast<Nanos>(scaled);
}

// `[NODE/]NAME`: both may contain slashes, so the whole text is compared.
bool Matches(const ExplainWhatIf& change, std::string_view node, std::string_view name) {
  if (!name.empty() && (name[0] == '+' || name[0] == '-')) name.remove_prefix(1);
  if (change.node.empty()) return change.name == "*" || change.name == name;
  if (change.node == node && (change.name == "*" || change.name == name)) return true;
  const std::string whole = change.node + "/" + change.name;
  if (whole == name) return true;
  return whole.size() > node.size() && whole.compare(0, node.size(), node) == 0 &&
         whole[node.size()] == '/' &&
         (whole.compare(node.size() + 1, std::string::npos, name) == 0 ||
          whole.compare(node.size() + 1, std::string::npos, "*") == 0);
}

}  // namespace

Result<ExplainWhatIf> ParseExplainWhatIf(std::string_view text) {
  const auto bad = [&](const std::string& why) {
    return BadInput(fmt::format("--what-if: \"{}\": {}", text.substr(0, 200), why),
                    "as in --what-if storage/lookup=0.5x or --what-if 'backend/*=0x'");
  };
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return bad("=FACTORx is missing");
  ExplainWhatIf change;
  const std::string_view selector = text.substr(0, equals);
  // "/cart" is a name.
  const size_t slash = selector.substr(0, 1) == "/" ? std::string_view::npos : selector.find('/');
  if (slash != std::string_view::npos) change.node = selector.substr(0, slash);
  change.name = selector.substr(slash == std::string_view::npos ? 0 : slash + 1);
  if (change.name.empty()) return bad("the name is empty");
  std::string factor(text.substr(equals + 1));
  if (factor.empty() || factor.back() != 'x') return bad("the factor does not end with x");
  factor.pop_back();
  const bool digits =
      !factor.empty() && factor.find_first_not_of("0123456789.") == std::string::npos;
  char* end = nullptr;
  change.factor = digits ? std::strtod(factor.c_str(), &end) : -1;
  if (!digits || *end != '\0' || !(change.factor <= 1e6))
    return bad("the factor is not a number from 0 to 1000000");
  return change;
}

ExplainWhatIfAnswer ReplayScaled(const Execution& x, const ExplainOptions& options) {
  ExplainWhatIfAnswer answer;
  const auto n = static_cast<uint32_t>(x.size());
  std::vector<Nanos> start(n), end(n);
  std::vector<Decimal> decimals;
  for (const ExplainWhatIf& change : options.what_if) decimals.push_back(ToDecimal(change.factor));
  for (uint32_t e = 0; e < n; ++e) {
    Nanos last = INT64_MIN, last_then = INT64_MIN;
    for (uint32_t i = x.causes_begin[e]; i < x.causes_begin[e + 1]; ++i) {
      last = std::max(last, x.end_ns[x.causes[i]]);
      last_then = std::max(last_then, end[x.causes[i]]);
    }
    const bool caused = x.causes_begin[e] != x.causes_begin[e + 1];
    const Nanos ready = x.ready_ns[e];
    Nanos free = ready, free_then = caused ? SaturatingAdd(last_then, ready - last) : ready;
    for (uint32_t h = x.holds_begin[e]; h < x.holds_begin[e + 1]; ++h) {
      if (x.turn[h] == x.occupants_begin[x.lane(x.holds[h])]) continue;
      const uint32_t before = x.holder[x.occupants[x.turn[h] - 1]];
      free = std::max(free, x.end_ns[before]);
      free_then = std::max(free_then, end[before]);
    }
    start[e] = SaturatingAdd(free_then, SaturatingSub(x.start_ns[e], free));
    Nanos duration = SaturatingSub(x.end_ns[e], x.start_ns[e]);
    bool matched = false;
    for (size_t i = 0; i < options.what_if.size(); ++i) {
      if (!Matches(options.what_if[i], x.str(x.node[e]), x.str(x.name[e]))) continue;
      matched = true;
      duration = Scaled(duration, decimals[i]);
    }
    answer.matched += matched ? 1 : 0;
    end[e] = SaturatingAdd(start[e], duration);
  }
  answer.delay_ns = SaturatingSub(end[options.to], start[options.from]);
  return answer;
}

}  // namespace wf::provenance
