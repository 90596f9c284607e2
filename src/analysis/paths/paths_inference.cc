#include "analysis/paths/paths_inference.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/paths/clock_skew.h"
#include "analysis/paths/nesting_stream.h"
#include "base/count_of.h"

namespace wf::paths {
namespace {

// With --algorithm auto both calls and sightings are kept until all are read and the choice can be made. Beyond so
// many sightings (700 MB) it is made on those.
constexpr size_t kMaxUndecided = 8'000'000;
constexpr uint64_t kReportEvery = 100'000;

enum class Keep : uint8_t { kNothing, kCalls, kSightings, kBoth };

class Inference {
 public:
  Inference(const StringTable& nodes, const PathsRequest& request)
      : nodes_(nodes), request_(request) {
    findings_.patterns = std::make_unique<PatternTable>(nodes, request.distributions);
  }

  Result<PathsFindings> Run(SightingSource& source) {
    findings_.algorithm = request_.algorithm;
    findings_.why = fmt::format("chosen by --algorithm {}", NameOf(request_.algorithm));
    switch (request_.algorithm) {
      case PathAlgorithm::kNesting:
        WF_TRY(request_.deskew == Deskew::kAlways ? RunNestingDeskewed(source)
                                                  : RunNesting(source));
        break;
      case PathAlgorithm::kLinking:
        WF_TRY(Read(source, Keep::kCalls));
        WF_TRY(RunLinking());
        break;
      case PathAlgorithm::kConvolution:
        WF_TRY(Read(source, Keep::kSightings));
        WF_TRY(RunConvolution());
        break;
      case PathAlgorithm::kAuto:
        WF_TRY(Read(source, Keep::kBoth));
        if (findings_.algorithm == PathAlgorithm::kAuto)
          findings_.algorithm = ChooseAlgorithm(findings_.pairing, findings_.why);
        if (findings_.algorithm == PathAlgorithm::kConvolution)
          WF_TRY(RunConvolution());
        else
          WF_TRY(RunLinking());
        break;
    }
    return std::move(findings_);
  }

 private:
  bool NeedsParents() const {
    return request_.keep_rows || request_.truth_source != TruthSource::kNone;
  }

  // Everything there is; `calls_` in line order behind it.
  Status Read(SightingSource& source, Keep keep) {
    CallPairing pairing({}, [&](const Call& call) {
      if (keep != Keep::kSightings) calls_.push_back(call);
    });
    SightingLine line;
    uint64_t count = 0;
    while (true) {
      WF_ASSIGN(const bool more, source.Next(line));
      if (!more) break;
      if (keep == Keep::kSightings || keep == Keep::kBoth) sightings_.push_back(line.sighting);
      pairing.Add(line.sighting);
      Report(++count);
      if (keep == Keep::kBoth && sightings_.size() == kMaxUndecided)
        keep = ChooseEarly(pairing.counts());
    }
    pairing.Finish();
    findings_.pairing = pairing.counts();
    std::sort(calls_.begin(), calls_.end(),
              [](const Call& a, const Call& b) { return a.place < b.place; });
    return {};
  }

  Keep ChooseEarly(const PairingCounts& counts) {
    // What is open yet is not unpaired: only what was given up is.
    findings_.algorithm = ChooseAlgorithm(counts, findings_.why);
    findings_.why += fmt::format(", of the first {} sightings", kMaxUndecided);
    if (findings_.algorithm == PathAlgorithm::kConvolution) {
      calls_ = std::vector<Call>();  // `= {}` would keep the room, here and below
      return Keep::kSightings;
    }
    sightings_ = std::vector<Sighting>();
    return Keep::kCalls;
  }

  void Report(uint64_t count) const {
    if (request_.on_sightings && count % kReportEvery == 0) request_.on_sightings(count);
  }

  Status RunNesting(SightingSource& source) {
    NestingStream stream = MakeStream();
    CallPairing pairing({}, [&](const Call& call) {
      TakeCall(call, stream);
      if (request_.truth_source == TruthSource::kPathKeys) calls_.push_back(call);
    });
    SightingLine line;
    uint64_t count = 0;
    while (true) {
      WF_ASSIGN(const bool more, source.Next(line));
      if (!more) break;
      pairing.Add(line.sighting);
      Report(++count);
    }
    pairing.Finish();
    findings_.pairing = pairing.counts();
    FinishNesting(stream);
    return {};
  }

  // Clocks can be compared only when all calls are known.
  Status RunNestingDeskewed(SightingSource& source) {
    WF_TRY(Read(source, Keep::kCalls));
    RemoveClockSkew();
    NestingStream stream = MakeStream();
    for (const Call& call : calls_) TakeCall(call, stream);
    FinishNesting(stream);
    return {};
  }

  NestingStream MakeStream() {
    NestingOptions options = request_.nesting;
    options.candidates = request_.candidates;
    return NestingStream(
        options, request_.nesting_window == 0 ? NestingStream::kWindow : request_.nesting_window,
        [this](PathBatch& batch) { TakePaths(batch); });
  }

  void TakeCall(const Call& call, NestingStream& stream) {
    stream.Add(call);
    if (NeedsParents()) TakeNames(call);
  }

  void FinishNesting(NestingStream& stream) {
    stream.Finish();
    findings_.parallelism = stream.counts().Parallelism();
    NoteNesting(stream.counts(), stream.cut_short());
    Judge();
  }

  // The window that times taken over from another clock still need.
  Nanos RemoveClockSkew() {
    const ClockSkew skew = EstimateSkew(calls_);
    RemoveSkew(skew, calls_);
    for (const auto& [node, offset] : skew.offset_ns)
      findings_.skew_ns[std::string(nodes_.At(node))] = offset;
    return skew.window_ns;
  }

  void NoteNesting(const NestingCounts& counts, uint64_t cut_short) {
    if (counts.after_reply > 0)
      findings_.notes.push_back(CountOf(counts.after_reply, "call") +
                                " issued after the reply to the causing request");
    if (counts.cycles > 0)
      findings_.notes.push_back(CountOf(counts.cycles, "cycle") + " of nested calls cut");
    if (cut_short > 0)
      findings_.notes.push_back(CountOf(cut_short, "path") +
                                " left the window before completion; --window widens it");
  }

  void TakeNames(const Call& call) {
    names_.push_back({call.place, call.caller, call.callee});
    if (call.returned) return;
    AssignmentRow row;
    row.call = call.place;
    row.unpaired = true;
    findings_.rows.push_back(std::move(row));
  }

  void TakePaths(PathBatch& batch) {
    if (NeedsParents()) {
      std::vector<uint32_t> walk(batch.roots.begin(), batch.roots.end());
      for (size_t i = 0; i < walk.size(); ++i) {
        const uint32_t at = walk[i];
        const std::vector<Candidate>* others =
            batch.decisions.others.empty() ? nullptr : &batch.decisions.others[at];
        AddRow(batch.calls, at, batch.decisions.parent[at], batch.decisions.p[at], others);
        const auto kids = batch.forest.KidsOf(at);
        walk.insert(walk.end(), kids.begin(), kids.end());
      }
    }
    findings_.patterns->Add(batch.calls, batch.forest, batch.roots);
  }

  void AddRow(std::span<const Call> calls, uint32_t call, uint32_t parent, float p,
              const std::vector<Candidate>* others) {
    AssignmentRow row;
    row.call = calls[call].place;
    if (parent < calls.size()) row.parent = calls[parent].place;
    row.p = p;
    row.unpaired = !calls[call].returned;
    if (others != nullptr)
      for (const Candidate& other : *others)
        row.others.push_back(
            {other.parent < calls.size() ? calls[other.parent].place : Place{}, other.p});
    findings_.rows.push_back(std::move(row));
  }

  Status RunLinking() {
    sightings_ = std::vector<Sighting>();
    LinkOptions options = request_.linking;
    options.candidates = request_.candidates;
    if (request_.deskew != Deskew::kNever) {
      const Nanos window = RemoveClockSkew();
      if (!request_.linking_window_given) options.skew_window = window;
    }
    const std::vector<Assignment> assignments = LinkCalls(calls_, options);
    if (request_.on_assigned) WF_TRY(request_.on_assigned(calls_, assignments));
    findings_.parallelism = CountCandidates(calls_, request_.nesting.skew_window).Parallelism();
    std::vector<uint32_t> parents(calls_.size());
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      parents[i] = assignments[i].parent;
      if (!NeedsParents()) continue;
      names_.push_back({calls_[i].place, calls_[i].caller, calls_[i].callee});
      AddRow(calls_, i, parents[i], static_cast<float>(assignments[i].p), &assignments[i].others);
    }
    PathForest forest = BuildForest(calls_, parents, Decisions::kUndecided);
    const std::vector<uint32_t> roots = forest.roots;
    findings_.patterns->Add(calls_, forest, roots);
    Judge();
    return {};
  }

  Status RunConvolution() {
    if (NeedsParents())
      return BadInput("convolution finds delays of many messages, not the parent of each call (" +
                          findings_.why + ")",
                      "--algorithm linking or nesting gives assignments and their accuracy");
    WF_ASSIGN(findings_.convolution, Convolve(sightings_, nodes_, request_.convolution));
    return {};
  }

  // Against the truth, where there is one.
  void Judge() {
    if (request_.truth_source == TruthSource::kNone) return;
    std::vector<ParentRow> truth = request_.truth;
    if (request_.truth_source == TruthSource::kPathKeys) {
      NestingOptions options = request_.nesting;
      options.rule = CandidateRule::kSamePath;
      std::sort(calls_.begin(), calls_.end(),
                [](const Call& a, const Call& b) { return a.place < b.place; });
      truth = RowsOf(calls_, NestCalls(calls_, options));
    }
    std::vector<ParentRow> found;
    for (const AssignmentRow& row : findings_.rows)
      found.push_back({row.call, row.parent, row.unpaired});
    findings_.accuracy = MeasureAccuracy(std::move(truth), std::move(found), names_, nodes_);
  }

  const StringTable& nodes_;
  const PathsRequest& request_;
  PathsFindings findings_;
  std::vector<Call> calls_;
  std::vector<Sighting> sightings_;
  std::vector<RequestNames> names_;
};

std::string Percent(uint64_t part, uint64_t of) {
  return fmt::format("{:.1f}%",
                     of == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(of));
}

}  // namespace

const char* NameOf(PathAlgorithm algorithm) {
  switch (algorithm) {
    case PathAlgorithm::kNesting:
      return "nesting";
    case PathAlgorithm::kConvolution:
      return "convolution";
    case PathAlgorithm::kLinking:
      return "linking";
    case PathAlgorithm::kAuto:
      break;
  }
  return "auto";
}

PathAlgorithm ChooseAlgorithm(const PairingCounts& counts, std::string& why) {
  const uint64_t paired = counts.calls - counts.unpaired_calls;
  if (counts.msgs * 20 > counts.messages) {
    why = fmt::format("{} of the messages are one-way, which is over 5%",
                      Percent(counts.msgs, counts.messages));
    return PathAlgorithm::kConvolution;
  }
  if (2 * paired < counts.calls) {
    why = fmt::format("only {} of the calls have a return, which is under half",
                      Percent(paired, counts.calls));
    return PathAlgorithm::kConvolution;
  }
  if (counts.messages == 0) {
    why = "no messages to choose by";
    return PathAlgorithm::kLinking;
  }
  why = fmt::format("{} of the calls have a return, and {} of the messages are one-way",
                    Percent(paired, counts.calls), Percent(counts.msgs, counts.messages));
  return PathAlgorithm::kLinking;
}

Result<PathsFindings> InferPaths(SightingSource& source, const StringTable& nodes,
                                 const PathsRequest& request) {
  return Inference(nodes, request).Run(source);
}

}  // namespace wf::paths
