// For tests: random traces, as text (model/event_lines.h), so that a counterexample can be read and kept.
#pragma once

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/nanos.h"

namespace wf::testing {}

namespace wf::critical_path::testing {

using namespace wf::testing;

struct Shape {
  bool edges = false;   // with recorded edges, some of no length, some received too early
  bool nested = false;  // children start within their parents
  int roots = 1;        // at most
};

// Times on a grid of 20 or 1000, a nanosecond or two off it: ties, touching and both sides of the tolerance.
inline Nanos AnyTime(int most) {
  const Nanos grid = *rc::gen::element<Nanos>(1, 20, 1000);
  return *rc::gen::inRange(0, most) * grid + *rc::gen::element<Nanos>(0, 0, 0, 1, 2);
}

inline std::string AnyTrace(const Shape& shape) {
  const int blocks = *rc::gen::inRange(1, 13);
  std::string text;
  std::vector<Nanos> starts, ends;
  for (int b = 1; b <= blocks; ++b) {
    Nanos start = AnyTime(60), end = start + AnyTime(40);
    const int parent =
        b == 1 || (shape.roots > 1 && *rc::gen::inRange(0, 6) == 0) ? 0 : *rc::gen::inRange(1, b);
    if (parent != 0 &&
        *rc::gen::inRange(0, 3) == 0) {  // touches or overlaps a sibling or its parent
      const size_t near = *rc::gen::inRange<size_t>(0, starts.size());
      start = *rc::gen::element(starts[near], ends[near], ends[near] - 1);
      end = std::max(end, start);
    }
    if (shape.nested && parent != 0) {
      start = std::max(start, starts[static_cast<size_t>(parent) - 1]);
      end = std::max(end, start);
    }
    if (b == 1) end = start + 60'000;
    starts.push_back(start);
    ends.push_back(end);
    const char* how = parent == 0 ? "" : *rc::gen::inRange(0, 6) == 0 ? " follows=" : " parent=";
    const std::string kind =
        *rc::gen::element<std::string>("internal", "client", "server", "producer", "consumer");
    text += fmt::format("span {}{}{} {}..{} kind={}\n", b, how,
                        parent == 0 ? "" : std::to_string(parent), start, end, kind);
  }
  const int edges = shape.edges ? *rc::gen::inRange(0, 6) : 0;
  for (int e = 0; e < edges; ++e) {
    const size_t from = *rc::gen::inRange<size_t>(0, starts.size());
    const size_t to = *rc::gen::inRange<size_t>(0, starts.size());
    const auto within = [&](size_t b) { return *rc::gen::inRange<Nanos>(starts[b], ends[b] + 1); };
    Nanos sent = within(from), received = within(to);
    if (*rc::gen::inRange(0, 3) == 0 && sent >= starts[to] && sent <= ends[to]) received = sent;
    if (received < sent && *rc::gen::inRange(0, 8) != 0) continue;  // a few contradict
    const std::string type =
        *rc::gen::element<std::string>("join", "continuation", "response", "one_way");
    text += fmt::format("edge_begin e{} in={} @{} label:type={}\n", e, from + 1, sent, type);
    text += fmt::format("edge_end e{} in={} @{} label:type={}\n", e, to + 1, received, type);
  }
  return text;
}

}  // namespace wf::critical_path::testing
