// The lemmas and theorems of Zeno's appendix, and the contract of docs/concepts/temporal-provenance.md, over random executions. A property
// is a function of a case that says what is wrong with it, or nothing; the *_slow forms run many more cases.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <map>

#include "analysis/provenance/aggregation.h"
#include "analysis/provenance/blame.h"
#include "analysis/provenance/random_executions_test.h"
#include "analysis/provenance/speed_up_test.h"

namespace wf::provenance {
namespace {

// A thousand cases each, unless told otherwise; read when the first property is checked.
const bool kCasesSet = (setenv("RC_PARAMS", "max_success=1000", 0), true);
constexpr uint64_t kSlowCases = 25'000;

using testing::AnyExecution;
using testing::Build;
using testing::Dice;
using testing::JsonLines;
using testing::PaperExecution;
using testing::RandomCase;
using testing::Reference;
using testing::Shown;
using Property = std::string (*)(const RandomCase&, uint64_t seed);
using Generator = RandomCase (*)(uint64_t seed, int size);

std::string Try(Property property, Generator generator, uint64_t seed, int size) {
  const RandomCase c = generator(seed, size);
  const std::string wrong = property(c, seed);
  if (wrong.empty()) return "";
  return "seed " + std::to_string(seed) + ", size " + std::to_string(size) + ", from " + c.from +
         " to " + c.to + "\n" + JsonLines(c.list) + wrong;
}

void CheckMany(Property property, Generator generator, int most) {
  ASSERT_TRUE(rc::check([&] {
    const auto seed = *rc::gen::noShrink(rc::gen::inRange<uint64_t>(0, uint64_t{1} << 62));
    const int size = *rc::gen::inRange(1, most + 1);
    const std::string wrong = Try(property, generator, seed, size);
    if (!wrong.empty()) RC_FAIL(wrong);
  }));
}

void CheckVeryMany(Property property, Generator generator, int most) {
  for (uint64_t seed = 1; seed <= kSlowCases; ++seed) {
    const int size = 1 + static_cast<int>(seed % static_cast<uint64_t>(most));
    const std::string wrong = Try(property, generator, seed * 7919, size);
    ASSERT_EQ(wrong, "");
  }
}

// A property, quick and slow.
#define WF_PROPERTY(name, property, generator, most)                    \
  TEST(ExplainProperty, name) { CheckMany(property, generator, most); } \
  TEST(ExplainProperty, name##_slow) { CheckVeryMany(property, generator, most); }

ExplainOptions Asked(const Execution& x, const RandomCase& c, ExplanationView view) {
  ExplainOptions options;
  options.from = x.Find(c.from);
  options.to = x.Find(c.to);
  options.view = view;
  return options;
}

// ---- Theorem 10, and all the rest of the contract: against the reference.

std::string SameAsReference(const RandomCase& c, uint64_t seed) {
  const Reference reference(c.list.events, c.list.servers);
  const auto x = ReadExecution(JsonLines(c.list), "random");
  if (!x.ok()) return "refused: " + x.error().message;
  const int from = reference.Find(c.from), to = reference.Find(c.to);
  Dice dice(seed + 1);
  std::vector<ExplainWhatIf> what_if;
  if (dice.OneIn(2)) {
    const double factors[] = {0, 0.5, 1, 2, 0.25};
    what_if.push_back({dice.OneIn(2) ? "" : "n0", dice.OneIn(3) ? "*" : "p", factors[dice(0, 4)]});
  }
  for (const auto view :
       {ExplanationView::kRaw, ExplanationView::kPruned, ExplanationView::kMerged}) {
    ExplainOptions options = Asked(*x, c, view);
    options.what_if = what_if;
    const auto explanation = Explain(*x, options);
    if (!explanation.ok()) return explanation.error().message;
    const std::string ours = Shown(*x, *explanation, view);
    const std::string expected = reference.Explain(from, to, view, what_if);
    if (ours != expected) return "ours\n" + ours + "expected\n" + expected;
  }
  return "";
}
WF_PROPERTY(Theorem10_EqualsTheWalkOfEveryInstant, SameAsReference, AnyExecution, 24)
WF_PROPERTY(Theorem10_InThePapersModel, SameAsReference, PaperExecution, 24)

// What the reference finds too many occupants in, we refuse, and nothing else.
std::string SameRefusals(const RandomCase& c, uint64_t seed) {
  Dice dice(seed + 2);
  testing::EventList list = c.list;
  for (ProvenanceEvent& e : list.events) {
    if (!dice.OneIn(3)) continue;
    e.holds.emplace();
    e.holds->push_back({"r0", e.start_ns - dice(0, 5)});
  }
  const bool expected = Reference(list.events, list.servers).ok();
  const auto x = Build(list);
  if (x.ok() == expected) return "";
  return x.ok() ? "accepted" : x.error().message;
}
WF_PROPERTY(TooManyOccupantsAreRefused, SameRefusals, AnyExecution, 16)

// ---- Retention: what ended before a time is gone. Nothing that carries delay changes if `from` starts after it.

std::string RetentionAgrees(const RandomCase& c, uint64_t seed) {
  Dice dice(seed + 3);
  const Reference whole(c.list.events, c.list.servers);
  const Nanos from_start = whole.events()[static_cast<size_t>(whole.Find(c.from))].e.start_ns;
  const Nanos retain = from_start - (dice.OneIn(2) ? 0 : dice(0, 4));
  const Reference reference(c.list.events, c.list.servers, retain);
  const auto x = ReadExecution(JsonLines(c.list), "random", retain);
  if (!x.ok()) return "refused: " + x.error().message;
  const int from = reference.Find(c.from), to = reference.Find(c.to);
  for (const auto view :
       {ExplanationView::kRaw, ExplanationView::kPruned, ExplanationView::kMerged}) {
    const auto explanation = Explain(*x, Asked(*x, c, view));
    if (!explanation.ok()) return explanation.error().message;
    const std::string ours = Shown(*x, *explanation, view);
    const std::string expected = reference.Explain(from, to, view);
    if (ours != expected) return "ours\n" + ours + "expected\n" + expected;
  }
  const auto full = Build(c.list);
  const auto delays = [&](const Execution& of) {
    std::map<std::string, std::string> out;
    const auto explanation = Explain(of, Asked(of, c, ExplanationView::kPruned));
    for (const ExplanationVertex& v : explanation->vertices) {
      if (v.delay_ns == 0) continue;
      std::string& text = out[std::string(of.str(of.id[v.members[0]]))];
      for (const auto& [a, b] : v.intervals)
        text += " " + std::to_string(a) + ".." + std::to_string(b);
      text += " self";
      for (const auto& [a, b] : v.self_intervals)
        text += " " + std::to_string(a) + ".." + std::to_string(b);
    }
    for (const ExplanationEdge& e : explanation->edges) {
      const auto id = [&](uint32_t v) {
        return std::string(of.str(of.id[explanation->vertices[v].members[0]]));
      };
      if (e.delay_ns > 0)
        out[id(e.from) + (e.kind == ExplanationEdgeKind::kCausal ? "->" : "~>") + id(e.to)] =
            std::to_string(e.delay_ns);
    }
    return out;
  };
  return delays(*full) == delays(*x) ? "" : "a figure changed by retention";
}
WF_PROPERTY(RetentionKeepsEveryFigure, RetentionAgrees, AnyExecution, 24)

// Whoever had a predecessor that is gone says so; if nothing is gone, nobody does.
std::string LostPredecessorsAreTold(const RandomCase& c, uint64_t seed) {
  Dice dice(seed + 4);
  const Reference whole(c.list.events, c.list.servers);
  Nanos first = INT64_MAX, last = INT64_MIN;
  for (const auto& one : whole.events()) {
    first = std::min(first, one.e.end_ns);
    last = std::max(last, one.e.end_ns);
  }
  const Nanos retain = first + dice(0, static_cast<int>(last - first));
  auto x = Build(c.list, retain);
  if (!x.ok()) return "refused: " + x.error().message;
  MarkLostPredecessors(*x, retain);
  for (int v = 0; v < static_cast<int>(whole.events().size()); ++v) {
    const uint32_t e = x->Find(whole.events()[static_cast<size_t>(v)].e.id);
    if (e == kNoEvent || x->lost_cause[e]) continue;
    bool lost = false;
    for (const auto& chain : whole.Chains(v)) {
      for (const int u : chain)
        lost = lost || whole.events()[static_cast<size_t>(u)].e.end_ns < retain;
    }
    if (lost && !x->lost_predecessor[e]) return "not told: " + std::string(x->str(x->id[e]));
  }
  auto all = Build(c.list);
  MarkLostPredecessors(*all, INT64_MIN);
  const auto& marks = all->lost_predecessor;
  return std::count(marks.begin(), marks.end(), true) == 0 ? "" : "told though nothing is gone";
}
WF_PROPERTY(WhoLostAPredecessorSaysSo, LostPredecessorsAreTold, AnyExecution, 24)

// ---- Lemma 1: the raw graph is acyclic. By taking away, again and again, what nothing leads to.

std::string Acyclic(const RandomCase& c, uint64_t) {
  const auto x = Build(c.list);
  const auto raw = Explain(*x, Asked(*x, c, ExplanationView::kRaw));
  std::vector<int> in(raw->vertices.size(), 0);
  for (const ExplanationEdge& e : raw->edges) ++in[e.to];
  std::vector<uint32_t> todo;
  for (uint32_t v = 0; v < in.size(); ++v) {
    if (in[v] == 0) todo.push_back(v);
  }
  size_t gone = 0;
  for (; !todo.empty(); ++gone) {
    const uint32_t v = todo.back();
    todo.pop_back();
    for (const ExplanationEdge& e : raw->edges) {
      if (e.from == v && --in[e.to] == 0) todo.push_back(e.to);
    }
  }
  return gone == in.size() ? "" : "a cycle";
}
WF_PROPERTY(Lemma1_RawGraphIsAcyclic, Acyclic, AnyExecution, 24)

// ---- Lemmas 6 to 9, of the steps and intervals themselves.

bool Overlap(std::vector<Interval> list) {
  std::sort(list.begin(), list.end());
  for (size_t i = 0; i + 1 < list.size(); ++i) {
    if (list[i].second > list[i + 1].first) return true;
  }
  return false;
}

std::vector<Interval> Of(const EventIntervals& set, uint32_t e) {
  return {set.intervals.begin() + set.begin[e], set.intervals.begin() + set.end[e]};
}

std::string StepsAreSound(const RandomCase& c, uint64_t) {
  const auto x = Build(c.list);
  const Blame blame = FindBlame(*x, x->Find(c.from), x->Find(c.to));
  std::map<uint32_t, std::vector<Interval>> given, received;
  for (const BlameStep& s : blame.steps) {
    given[s.of].emplace_back(s.begin_ns, s.end_ns);
    received[s.by].emplace_back(s.begin_ns, s.end_ns);
    // Lemma 8: a step hands on a part of what the waiter has; so do the steps before it, up to the root.
    bool within = false;
    for (const auto& [a, b] : Of(blame.passed, s.of))
      within = within || (a <= s.begin_ns && s.end_ns <= b);
    if (!within) return "lemma 8: a step hands on more than its waiter has";
    if (s.end_ns > x->end_ns[s.by]) return "lemma 7: a step goes to one that has ended";
  }
  for (const auto& [e, list] : given) {
    if (Overlap(list)) return "lemma 6: handed on twice";
  }
  for (const auto& [e, list] : received) {  // lemma 9, by instants: none comes by two ways
    if (Overlap(list)) return "lemma 9: an instant came twice";
  }
  // Lemma 12: (a) nobody is to blame together with another, (b) for every instant somebody is.
  std::vector<Interval> all;
  Nanos total = 0;
  for (uint32_t e = 0; e < blame.self_ns.size(); ++e) {
    for (const Interval& one : Of(blame.ended, e)) all.push_back(one);
    total += blame.self_ns[e];
  }
  if (Overlap(all)) return "lemma 12a: two are to blame for an instant";
  const Nanos begin = x->start_ns[x->Find(c.from)], end = x->end_ns[x->Find(c.to)];
  if (total != end - begin) return "lemma 12b: nobody is to blame for an instant";
  if (JoinIntervals(all) != total || (total > 0 && all != std::vector<Interval>{{begin, end}}))
    return "lemma 12b: not the interval asked about";
  return "";
}
WF_PROPERTY(Lemmas6To9And12, StepsAreSound, AnyExecution, 20)
WF_PROPERTY(Lemmas6To9And12InThePapersModel, StepsAreSound, PaperExecution, 30)

std::string PaperIntervals(const RandomCase& c, uint64_t) {
  const auto x = Build(c.list);
  const Blame blame = FindBlame(*x, x->Find(c.from), x->Find(c.to));
  for (uint32_t e = 0; e < blame.self_ns.size(); ++e) {
    const std::string id(x->str(x->id[e]));
    const auto passed = Of(blame.passed, e), self = Of(blame.ended, e);
    if (passed.size() > 1) return "lemma 9: two annotations of " + id;
    if (!passed.empty() && passed[0].second != x->end_ns[e]) return "lemma 7: " + id;
    if (self.size() > 1 || (!self.empty() && self[0].second != x->end_ns[e]))
      return "lemma 11: " + id;
  }
  return "";
}
WF_PROPERTY(Lemmas7And9And11InThePapersModel, PaperIntervals, PaperExecution, 30)

// ---- Theorems 2 to 5: what --extract writes is sound, complete, valid and minimal.

struct Extracted {
  std::vector<std::string> ids;
  std::string text;
};

Extracted ExtractOf(const Execution& x, const RandomCase& c) {
  Extracted out;
  out.text = ExtractEvents(x, x.Find(c.to));
  const auto again = ReadExecution(out.text, "extract");
  if (!again.ok()) {
    out.ids = {again.error().message};
    return out;
  }
  for (uint32_t e = 0; e < again->size(); ++e) out.ids.emplace_back(again->str(again->id[e]));
  return out;
}

std::string ExtractIsRight(const RandomCase& c, uint64_t) {
  const auto x = Build(c.list);
  const Extracted extract = ExtractOf(*x, c);
  // Sound: a subsequence of the execution, with the same times.
  std::string lines;
  uint32_t before = 0;
  std::set<int> in;
  const Reference reference(c.list.events, c.list.servers);
  for (const std::string& id : extract.ids) {
    const uint32_t e = x->Find(id);
    if (e == kNoEvent) return "not sound: " + id;
    if (!in.empty() && e < before) return "not sound: order of " + id;
    before = e;
    in.insert(reference.Find(id));
    AppendProvenanceLine(reference.events()[static_cast<size_t>(reference.Find(id))].e, lines);
  }
  if (extract.text != lines) return "not sound: an event differs\n" + extract.text;
  if (extract.ids.back() != c.to) return "not complete";
  // Valid, and nothing but what validity asks for: the least set with `to` that has, of each event, the causes (a, b)
  // and, on a node that was ready to work on it, all that the node did until it began (c).
  std::set<int> valid = {reference.Find(c.to)};
  for (bool changed = true; changed;) {
    changed = false;
    for (const int v : std::set<int>(valid)) {
      const auto& e = reference.events()[static_cast<size_t>(v)];
      Nanos last = INT64_MIN;
      for (const int cause : e.causes) {
        changed = valid.insert(cause).second || changed;
        last = std::max(last, reference.events()[static_cast<size_t>(cause)].e.end_ns);
      }
      if (!e.waits) continue;
      Nanos busy = last;
      for (int u = 0; u < v; ++u) {
        const auto& other = reference.events()[static_cast<size_t>(u)].e;
        if (other.node != e.e.node || other.end_ns <= last) continue;
        if (other.start_ns != busy) return "idle while " + e.e.id + " waits";
        busy = other.end_ns;
        changed = valid.insert(u).second || changed;
      }
      if (busy != e.e.start_ns) return "idle before " + e.e.id;
    }
  }
  return valid == in ? "" : "not minimal, or not valid";
}
WF_PROPERTY(Theorems2To5_ExtractIsSoundCompleteValidMinimal, ExtractIsRight, PaperExecution, 30)

// With all that shared the servers, whatever their number.
std::string ExtractWithSharersExplains(const RandomCase& c, uint64_t) {
  const auto x = Build(c.list);
  const auto again =
      ReadExecution(ExtractEvents(*x, x->Find(c.to), ExtractScope::kServersAlike), "extract");
  if (!again.ok()) return again.error().message;
  for (const auto view :
       {ExplanationView::kRaw, ExplanationView::kPruned, ExplanationView::kMerged}) {
    const auto whole = Explain(*x, Asked(*x, c, view)),
               part = Explain(*again, Asked(*again, c, view));
    if (!part.ok()) return part.error().message;
    const std::string ours = Shown(*again, *part, view), expected = Shown(*x, *whole, view);
    if (ours != expected) return "ours\n" + ours + "expected\n" + expected;
  }
  return "";
}
WF_PROPERTY(ExtractWithSharersGivesTheSameAnswer, ExtractWithSharersExplains, AnyExecution, 24)

// Explaining the extract gives the same answer, with one server a resource.
std::string ExtractExplains(const RandomCase& c, uint64_t) {
  RandomCase one = c;
  one.list.servers.clear();
  testing::EventList so_far;
  for (ProvenanceEvent& e : one.list.events) {
    so_far.events.push_back(e);
    while (!Reference(so_far.events, {}).ok()) {
      if (!e.holds) e.holds.emplace();
      if (!e.holds->empty()) e.holds->pop_back();
      so_far.events.back() = e;
    }
  }
  const auto x = Build(one.list);
  if (!x.ok()) return x.error().message;
  const auto again = ReadExecution(ExtractEvents(*x, x->Find(c.to)), "extract");
  if (!again.ok()) return again.error().message;
  for (const auto view :
       {ExplanationView::kRaw, ExplanationView::kPruned, ExplanationView::kMerged}) {
    // `from` is among the causal ancestors of `to`, so it is in the extract.
    const auto first = Explain(*x, Asked(*x, c, view));
    const auto second = Explain(*again, Asked(*again, c, view));
    const std::string a = Shown(*x, *first, view), b = Shown(*again, *second, view);
    if (a != b) return "whole\n" + a + "extract\n" + b;
  }
  return "";
}

// The reference needs events in the order of time to drop holds one by one; lines of AnyExecution are in any order.
std::string ExtractExplainsSorted(const RandomCase& c, uint64_t seed) {
  RandomCase sorted = c;
  std::stable_sort(sorted.list.events.begin(), sorted.list.events.end(),
                   [](const auto& a, const auto& b) {
                     return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
                   });
  return ExtractExplains(sorted, seed);
}
WF_PROPERTY(ExplainingTheExtractGivesTheSameAnswer, ExtractExplainsSorted, AnyExecution, 20)

// ---- Theorem 13: temporal provenance is well-annotated.

std::string WellAnnotated(const RandomCase& c, uint64_t) {
  const auto x = Build(c.list);
  const Reference reference(c.list.events, c.list.servers);
  const auto raw = Explain(*x, Asked(*x, c, ExplanationView::kRaw));
  std::vector<testing::SpeedUpVertex> vertices;
  std::map<int, size_t> vertex_of;
  for (const ExplanationVertex& v : raw->vertices) {
    testing::SpeedUpVertex one;
    one.id = x->str(x->id[v.members[0]]);
    one.start = v.start_ns;
    one.end = v.end_ns;
    one.annotated = v.delay_ns > 0;
    if (!v.intervals.empty()) one.alpha = v.intervals[0];
    if (!v.self_intervals.empty()) one.delta = v.self_intervals[0];
    vertex_of[reference.Find(one.id)] = vertices.size();
    vertices.push_back(one);
  }
  std::vector<std::pair<size_t, size_t>> edges;
  for (const auto& [event, v] : vertex_of) {
    const auto& e = reference.events()[static_cast<size_t>(event)];
    for (const int cause : e.causes) {
      const size_t u = vertex_of[cause];
      edges.emplace_back(u, v);
      // Figure 6 calls ANNOTATE for it, if only with an empty interval.
      if (vertices[v].alpha && vertices[u].end >= vertices[v].alpha->first)
        vertices[u].annotated = true;
    }
    for (const auto& chain : reference.Chains(event)) {
      for (const int u : chain) edges.emplace_back(vertex_of[u], v);
    }
  }
  return testing::SpeedUp(vertices, edges, vertex_of[reference.Find(c.to)],
                          x->start_ns[x->Find(c.from)])
      .Run();
}
WF_PROPERTY(Theorem13_WellAnnotated, WellAnnotated, PaperExecution, 30)

// ---- Aggregation depends on no order: neither of the lines, nor of the names that decide who comes first.

std::string AnyOrderMerges(const RandomCase& c, uint64_t seed) {
  const auto groups = [&](const testing::EventList& list) {
    std::set<std::set<std::string>> out;
    const auto x = Build(list);
    if (!x.ok()) return out;
    const auto merged = Explain(*x, Asked(*x, c, ExplanationView::kMerged));
    for (const ExplanationVertex& v : merged->vertices) {
      std::set<std::string> ids;
      for (const uint32_t e : v.members) ids.insert(std::string(x->str(x->id[e])));
      out.insert(ids);
    }
    return out;
  };
  // Simultaneous events keep their order, which decides who is blamed; all others may stand anywhere.
  testing::EventList shuffled = c.list;
  Dice dice(seed + 4);
  for (int i = static_cast<int>(shuffled.events.size()) - 1; i > 0; --i) {
    const auto a = static_cast<size_t>(i), b = static_cast<size_t>(dice(0, i));
    std::swap(shuffled.events[a], shuffled.events[b]);
  }
  std::map<std::pair<Nanos, Nanos>, std::vector<ProvenanceEvent>> ties;
  for (const ProvenanceEvent& e : c.list.events) ties[{e.start_ns, e.end_ns}].push_back(e);
  std::map<std::pair<Nanos, Nanos>, size_t> next;
  for (ProvenanceEvent& e : shuffled.events) {
    const std::pair<Nanos, Nanos> times = {e.start_ns, e.end_ns};
    e = ties[times][next[times]++];
  }
  for (ProvenanceEvent& e : shuffled.events) std::reverse(e.causes.begin(), e.causes.end());
  return groups(c.list) == groups(shuffled) ? "" : "another order, another outcome";
}
WF_PROPERTY(AggregationIsCommutativeAndAssociative, AnyOrderMerges, AnyExecution, 20)

}  // namespace
}  // namespace wf::provenance
