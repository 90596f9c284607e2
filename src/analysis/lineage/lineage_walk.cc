#include "analysis/lineage/lineage_walk.h"

#include <algorithm>

namespace wf::lineage {

using recorder::Recording;
using recorder::Slice;
using recorder::SubId;

void EndsFound::Add(uint32_t transfer, const std::vector<ByteRange>& ranges, bool unordered) {
  const recorder::TransferFacts& facts = r_.transfers[transfer];
  Bytes& bytes = found_[{r_.NameOf(facts), facts.kind}];
  (unordered ? bytes.has_unordered : bytes.has_ordered) = true;
  for (const ByteRange& range : ranges) (unordered ? bytes.unordered : bytes.ordered).Add(range);
}

std::vector<LineageEnd> EndsFound::Take() {
  std::vector<LineageEnd> out;
  for (auto& [key, bytes] : found_) {
    const std::vector<ByteRange> ordered = bytes.ordered.ranges();
    if (bytes.has_ordered) out.push_back({key.second, key.first, ordered, false});
    for (const ByteRange& range : ordered) bytes.unordered.Remove(range);
    if (!bytes.unordered.empty() || (bytes.has_unordered && !bytes.has_ordered))
      out.push_back({key.second, key.first, bytes.unordered.ranges(), true});
  }
  return out;
}

namespace {

// What a walk knows about each sub-computation.
struct State {
  bool reached = false;
  bool stepped = false;  // along data edges
  bool unordered = true;
};

Lineage Gather(const std::vector<State>& states, EndsFound& ends) {
  Lineage out;
  for (SubId s = 0; s < states.size(); ++s) {
    if (states[s].reached) out.subs.push_back({s, states[s].unordered});
  }
  out.ends = ends.Take();
  return out;
}

class BackWalk {
 public:
  BackWalk(const DataFlow& flow, const ByteFlows& bytes, EndsFound& ends)
      : flow_(flow),
        r_(flow.recording()),
        bytes_(bytes),
        ends_(ends),
        states_(r_.subs.size()),
        limits_(r_.subs.size(), 0) {}

  Lineage Run(const std::vector<LineageRoot>& roots, Steps steps) {
    for (const LineageRoot& root : roots) {
      if (!root.unordered) Reach(root.sub, root.order);
    }
    Work();
    if (steps == Steps::kAlsoUnordered) {
      unordered_ = true;
      untaken_.emplace_back(flow_.pages().writers());
      for (const LineageRoot& root : roots) Reach(root.sub, root.order);
      for (SubId s = 0; s < states_.size(); ++s) {
        if (states_[s].reached) StepUnordered(s);
      }
      Work();
    }
    return Gather(states_, ends_);
  }

 private:
  // The inputs of the sub-computation below `limit` count.
  void Reach(SubId sub, uint32_t limit) {
    State& state = states_[sub];
    if (!state.reached) {
      state.reached = true;
      state.unordered = unordered_;
      stack_.push_back(sub);
    }
    if (limit <= limits_[sub]) return;
    const uint32_t before = std::exchange(limits_[sub], limit);
    const Slice inputs = bytes_.InputsOf(sub);
    for (uint32_t i = inputs.begin; i < inputs.end; ++i) {
      const uint32_t order = bytes_.inputs()[i].order;
      // A limit of 0 admits nothing, a limit of 1 the inputs from mapped pages.
      if (order < limit && (before == 0 || order >= before)) inputs_.push_back(i);
    }
  }

  void Work() {
    while (!stack_.empty() || !inputs_.empty()) {
      while (!inputs_.empty()) {
        const uint32_t input = inputs_.back();
        inputs_.pop_back();
        TakeInput(input);
      }
      if (stack_.empty()) break;
      const SubId sub = stack_.back();
      stack_.pop_back();
      StepOrdered(sub);
      if (unordered_) StepUnordered(sub);
    }
  }

  void TakeInput(uint32_t place) {
    const ByteFlow& input = bytes_.inputs()[place];
    const auto& all = bytes_.read_backs();
    auto back = std::lower_bound(all.begin(), all.end(), place,
                                 [](const ReadBack& b, uint32_t at) { return b.input < at; });
    RangeSet outside(input.range);
    bool own = false;
    for (; back != all.end() && back->input == place; ++back) {
      outside.Remove(back->range);
      own = true;
      const ByteFlow& output = bytes_.outputs()[back->output];
      Reach(output.sub, output.order);
    }
    if (!own || !outside.empty()) ends_.Add(input.transfer, outside.ranges(), unordered_);
  }

  template <typename Visit>
  void EachSpan(SubId sub, const Visit& visit) {
    const Slice runs = r_.subs[sub].pages;
    for (uint32_t i = runs.begin; i < runs.end; ++i) {
      const Slice spans = flow_.pages().SpansOf(r_.pages[i]);
      for (uint32_t at = spans.begin; at < spans.end; ++at) {
        const Span& span = flow_.pages().spans()[at];
        if (!span.writers.empty()) visit(span);
      }
    }
  }

  void StepOrdered(SubId sub) {
    if (std::exchange(states_[sub].stepped, true)) return;
    EachSpan(sub, [&](const Span& span) {
      flow_.LastWriters(span, sub, writers_);
      for (const SubId writer : writers_) Reach(writer, UINT32_MAX);
    });
  }

  void StepUnordered(SubId sub) {
    EachSpan(sub, [&](const Span& span) {
      flow_.ConcurrentWriters(span, sub, slices_);
      for (const Slice& slice : slices_) {
        UntakenPlaces& untaken = untaken_.front();
        for (uint32_t at = untaken.From(slice.begin); at < slice.end; at = untaken.From(at)) {
          untaken.Take(at);
          Reach(flow_.pages().writer(at), UINT32_MAX);
        }
      }
    });
  }

  const DataFlow& flow_;
  const Recording& r_;
  const ByteFlows& bytes_;
  EndsFound& ends_;
  std::vector<State> states_;
  std::vector<uint32_t> limits_;  // inputs below are taken
  std::vector<SubId> stack_, writers_;
  std::vector<uint32_t> inputs_;
  std::vector<Slice> slices_;
  // Writers of the page index; one, once unordered steps are taken.
  std::vector<UntakenPlaces> untaken_;
  bool unordered_ = false;
};

class ForthWalk {
 public:
  ForthWalk(const DataFlow& flow, const ByteFlows& bytes, EndsFound& ends)
      : flow_(flow),
        r_(flow.recording()),
        bytes_(bytes),
        ends_(ends),
        edges_(ComputeDataEdges(flow, EdgePages::kCount)),
        read_by_(bytes.outputs().size()),
        states_(r_.subs.size()),
        limits_(r_.subs.size(), UINT32_MAX) {
    const auto& backs = bytes.read_backs();
    for (uint32_t b = 0; b < backs.size(); ++b) read_by_[backs[b].output].push_back(b);
  }

  Lineage Run(const std::vector<LineageRoot>& roots, Steps steps) {
    for (const LineageRoot& root : roots) Reach(root.sub, root.order);
    Work();
    if (steps == Steps::kAlsoUnordered) {
      unordered_ = true;
      size_t accesses = 0;
      for (const Span& span : flow_.pages().spans()) accesses = span.accesses.end;
      untaken_.emplace_back(accesses);
      for (SubId s = 0; s < states_.size(); ++s) {
        if (states_[s].reached) StepUnordered(s);
      }
      Work();
    }
    return Gather(states_, ends_);
  }

 private:
  // The outputs of the sub-computation above `limit` count.
  void Reach(SubId sub, uint32_t limit) {
    State& state = states_[sub];
    const bool first = !state.reached;
    if (first) {
      state.reached = true;
      state.unordered = unordered_;
      stack_.push_back(sub);
    }
    if (!first && limit >= limits_[sub]) return;
    const uint32_t before = std::exchange(limits_[sub], limit);
    const Slice outputs = bytes_.OutputsOf(sub);
    for (uint32_t i = outputs.begin; i < outputs.end; ++i) {
      const uint32_t order = bytes_.outputs()[i].order;
      if (order > limit && (first || order <= before)) outputs_.push_back(i);
    }
  }

  void Work() {
    while (!stack_.empty() || !outputs_.empty()) {
      while (!outputs_.empty()) {
        const uint32_t output = outputs_.back();
        outputs_.pop_back();
        TakeOutput(output);
      }
      if (stack_.empty()) break;
      const SubId sub = stack_.back();
      stack_.pop_back();
      StepOrdered(sub);
      if (unordered_) StepUnordered(sub);
    }
  }

  // If the output is read back, the walk continues there. A file's bytes stay visible to others; a pipe's
  // were only for the program.
  void TakeOutput(uint32_t place) {
    const ByteFlow& output = bytes_.outputs()[place];
    const recorder::TransferKind kind = r_.transfers[output.transfer].kind;
    const bool passes =
        kind == recorder::TransferKind::kPipe || kind == recorder::TransferKind::kSocket;
    RangeSet outside(output.range);
    for (const uint32_t b : read_by_[place]) {
      const ReadBack& back = bytes_.read_backs()[b];
      if (passes) outside.Remove(back.range);
      const ByteFlow& input = bytes_.inputs()[back.input];
      Reach(input.sub, input.order);
    }
    if (read_by_[place].empty() || !outside.empty())
      ends_.Add(output.transfer, outside.ranges(), unordered_);
  }

  void StepOrdered(SubId sub) {
    if (std::exchange(states_[sub].stepped, true)) return;
    auto edge = std::lower_bound(edges_.edges.begin(), edges_.edges.end(), sub,
                                 [](const DataEdge& e, SubId s) { return e.from < s; });
    for (; edge != edges_.edges.end() && edge->from == sub; ++edge) Reach(edge->to, 0);
  }

  void StepUnordered(SubId writer) {
    const recorder::SubComputation& own = r_.subs[writer];
    for (uint32_t i = own.pages.begin; i < own.pages.end; ++i) {
      if (!r_.pages[i].written) continue;
      const Slice spans = flow_.pages().SpansOf(r_.pages[i]);
      for (uint32_t at = spans.begin; at < spans.end; ++at)
        StepUnorderedIn(flow_.pages().spans()[at], writer);
    }
  }

  void StepUnorderedIn(const Span& span, SubId writer) {
    const recorder::SubComputation& own = r_.subs[writer];
    const PageIndex& pages = flow_.pages();
    UntakenPlaces& untaken = untaken_.front();
    uint32_t at = span.accesses.begin;
    while (at < span.accesses.end) {
      const recorder::ThreadFacts& thread = r_.threads[r_.subs[pages.access(at).sub].thread];
      const auto first_from = [&](SubId sub) {
        uint32_t low = at, high = span.accesses.end;
        while (low < high) {
          const uint32_t middle = low + (high - low) / 2;
          if (pages.access(middle).sub < sub)
            low = middle + 1;
          else
            high = middle;
        }
        return low;
      };
      const uint32_t end = first_from(thread.subs.end);
      if (thread.id != own.thread) {
        uint32_t i = first_from(thread.Place(flow_.clocks().At(writer, thread.id)));
        for (i = untaken.From(i); i < end; i = untaken.From(i + 1)) {
          const SubId reader = pages.access(i).sub;
          if (flow_.clocks().Before(writer, reader)) break;  // and so are all later ones
          if (own.start_ns >= r_.subs[reader].end_ns) continue;
          untaken.Take(i);
          Reach(reader, 0);
        }
      }
      at = end;
    }
  }

  const DataFlow& flow_;
  const Recording& r_;
  const ByteFlows& bytes_;
  EndsFound& ends_;
  const DataEdges edges_;
  std::vector<std::vector<uint32_t>> read_by_;  // of each output, places in read_backs
  std::vector<State> states_;
  std::vector<uint32_t> limits_;  // outputs above are taken
  std::vector<SubId> stack_;
  std::vector<uint32_t> outputs_;
  // Accesses of the page index; one, once unordered steps are taken.
  std::vector<UntakenPlaces> untaken_;
  bool unordered_ = false;
};

}  // namespace

Lineage WalkBack(const DataFlow& flow, const ByteFlows& bytes,
                 const std::vector<LineageRoot>& roots, EndsFound& ends, Steps steps) {
  return BackWalk(flow, bytes, ends).Run(roots, steps);
}

Lineage WalkForth(const DataFlow& flow, const ByteFlows& bytes,
                  const std::vector<LineageRoot>& roots, Steps steps) {
  EndsFound ends(flow.recording());
  return ForthWalk(flow, bytes, ends).Run(roots, steps);
}

}  // namespace wf::lineage
