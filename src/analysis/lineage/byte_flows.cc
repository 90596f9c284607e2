#include "analysis/lineage/byte_flows.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace wf::lineage {
namespace {

using recorder::Recording;
using recorder::SubComputation;
using recorder::SubId;
using recorder::TransferFacts;
using recorder::TransferKind;

constexpr uint32_t kFirst = 0, kLast = UINT32_MAX;

// What touched the pages of mapped files. A mapping ends where a later one takes its pages.
class MappedFlows {
 public:
  MappedFlows(const Recording& recording, const recorder::Clocks& clocks, const PageIndex& pages)
      : r_(recording), clocks_(clocks), pages_(pages) {
    for (uint32_t t = 0; t < r_.transfers.size(); ++t) {
      const TransferFacts& one = r_.transfers[t];
      if (one.mapped() && one.address != 0 && one.begin < one.end) mappings_.push_back(t);
    }
    std::sort(mappings_.begin(), mappings_.end(), [&](uint32_t a, uint32_t b) {
      return std::tie(r_.transfers[a].time_ns, a) < std::tie(r_.transfers[b].time_ns, b);
    });
  }

  void Find(std::vector<ByteFlow>& inputs, std::vector<ByteFlow>& outputs) {
    for (size_t m = 0; m < mappings_.size(); ++m) FindOf(m, inputs, outputs);
  }

 private:
  static uint64_t FirstPage(const TransferFacts& t) { return t.address / recorder::kPageBytes; }
  static uint64_t EndPage(const TransferFacts& t) {
    const uint64_t bytes = std::min(t.end - t.begin, UINT64_MAX - t.address - recorder::kPageBytes);
    return (t.address + bytes + recorder::kPageBytes - 1) / recorder::kPageBytes;
  }

  void FindOf(size_t m, std::vector<ByteFlow>& inputs, std::vector<ByteFlow>& outputs) {
    const uint32_t transfer = mappings_[m];
    const TransferFacts& mapping = r_.transfers[transfer];
    std::map<SubId, RangeSet> touched;
    const recorder::Slice spans =
        pages_.SpansOf({FirstPage(mapping), EndPage(mapping) - FirstPage(mapping), false});
    for (uint32_t at = spans.begin == 0 ? 0 : spans.begin - 1; at < spans.end; ++at) {
      const Span& span = pages_.spans()[at];
      const uint64_t first = std::max(span.first, FirstPage(mapping));
      const uint64_t end = std::min(span.first + span.count, EndPage(mapping));
      if (first >= end) continue;
      for (uint32_t i = span.accesses.begin; i < span.accesses.end; ++i) {
        const Access access = pages_.access(i);
        if (mapping.output() && access.written == 0) continue;
        if (!InPlace(m, access.sub, first, end)) continue;
        touched[access.sub].Add(BytesOf(mapping, first, end));
      }
    }
    for (const auto& [sub, bytes] : touched) {
      for (const ByteRange& range : bytes.ranges()) {
        if (mapping.output())
          outputs.push_back({sub, transfer, range, kLast, true});
        else
          inputs.push_back({sub, transfer, range, kFirst, true});
      }
    }
  }

  static ByteRange BytesOf(const TransferFacts& mapping, uint64_t first, uint64_t end) {
    const uint64_t from = std::max(first * recorder::kPageBytes, mapping.address);
    const uint64_t to =
        std::min(end * recorder::kPageBytes, mapping.address + (mapping.end - mapping.begin));
    return {mapping.begin + (from - mapping.address), mapping.begin + (to - mapping.address)};
  }

  // Whether the sub-computation can have met this mapping, and not one that came in its place.
  bool InPlace(size_t m, SubId sub, uint64_t first, uint64_t end) const {
    const TransferFacts& mapping = r_.transfers[mappings_[m]];
    if (clocks_.Before(sub, mapping.sub) || r_.subs[sub].end_ns < mapping.time_ns) return false;
    for (size_t later = m + 1; later < mappings_.size(); ++later) {
      const TransferFacts& next = r_.transfers[mappings_[later]];
      if (next.time_ns > r_.subs[sub].start_ns) break;
      // The same file mapped twice at one place, for reading and for writing, is one mapping reported twice.
      const bool other = next.stream != mapping.stream || next.begin != mapping.begin;
      if (other && FirstPage(next) <= first && EndPage(next) >= end) return false;
    }
    return true;
  }

  const Recording& r_;
  const recorder::Clocks& clocks_;
  const PageIndex& pages_;
  std::vector<uint32_t> mappings_;  // transfers, in order of time
};

// The outputs of one stream, findable by the bytes they hold.
struct StreamOutputs {
  std::vector<uint32_t> outputs;   // by begin
  std::vector<uint64_t> max_ends;  // of all up to here
};

class ReadBackFinder {
 public:
  ReadBackFinder(const Recording& recording, const recorder::Clocks& clocks,
                 const std::vector<ByteFlow>& inputs, const std::vector<ByteFlow>& outputs)
      : r_(recording), clocks_(clocks), inputs_(inputs), outputs_(outputs) {
    for (uint32_t o = 0; o < outputs.size(); ++o) {
      const uint64_t stream = r_.transfers[outputs[o].transfer].stream;
      if (stream != 0) streams_[stream].outputs.push_back(o);
    }
    for (auto& [stream, own] : streams_) {
      std::sort(own.outputs.begin(), own.outputs.end(), [&](uint32_t a, uint32_t b) {
        return std::tie(outputs[a].range.begin, a) < std::tie(outputs[b].range.begin, b);
      });
      uint64_t end = 0;
      for (const uint32_t o : own.outputs)
        own.max_ends.push_back(end = std::max(end, outputs[o].range.end));
    }
  }

  std::vector<ReadBack> Run() {
    std::vector<ReadBack> out;
    for (uint32_t i = 0; i < inputs_.size(); ++i) {
      const auto stream = streams_.find(r_.transfers[inputs_[i].transfer].stream);
      if (stream != streams_.end()) FindOf(i, stream->second, out);
    }
    return out;
  }

 private:
  int64_t TimeOf(const ByteFlow& flow) const {
    return flow.by_pages ? r_.subs[flow.sub].start_ns : r_.transfers[flow.transfer].time_ns;
  }

  // Whether what is written there can be read here at all. Terminals have one stream for both directions and
  // return nothing; a socket's bytes come out at its other end only.
  bool Connected(const TransferFacts& input, const TransferFacts& output) const {
    const auto device = [&](const TransferFacts& one) {
      const std::string& name = r_.NameOf(one);
      return name.rfind("/dev/", 0) == 0 && name.rfind("/dev/shm/", 0) != 0;
    };
    if (device(input) || device(output)) return false;
    const bool standard =
        output.kind == TransferKind::kStdout || output.kind == TransferKind::kStderr;
    if (input.kind == TransferKind::kStdin && standard) return false;
    if (input.kind == TransferKind::kSocket || output.kind == TransferKind::kSocket)
      return input.kind == output.kind && input.name != output.name;
    return true;
  }

  bool CanHaveRead(const ByteFlow& input, const ByteFlow& output) const {
    if (!Connected(r_.transfers[input.transfer], r_.transfers[output.transfer])) return false;
    if (input.sub == output.sub) return output.order < input.order;
    if (clocks_.Before(output.sub, input.sub)) return true;
    if (clocks_.Before(input.sub, output.sub)) return false;
    const TransferKind kind = r_.transfers[output.transfer].kind;
    // A stream's bytes are written once, so their writer came before. A file's bytes may be different ones.
    if (kind == TransferKind::kPipe || kind == TransferKind::kSocket) return true;
    if (input.by_pages) return r_.subs[output.sub].start_ns < r_.subs[input.sub].end_ns;
    return TimeOf(output) <= TimeOf(input);
  }

  void FindOf(uint32_t place, const StreamOutputs& stream, std::vector<ReadBack>& out) {
    const ByteFlow& input = inputs_[place];
    candidates_.clear();
    size_t at =
        std::upper_bound(stream.max_ends.begin(), stream.max_ends.end(), input.range.begin) -
        stream.max_ends.begin();
    for (; at < stream.outputs.size(); ++at) {
      const ByteFlow& output = outputs_[stream.outputs[at]];
      if (output.range.begin >= input.range.end) break;
      if (output.range.end > input.range.begin && CanHaveRead(input, output))
        candidates_.push_back(stream.outputs[at]);
    }
    // The last to write a byte is the one it comes from.
    std::sort(candidates_.begin(), candidates_.end(), [&](uint32_t a, uint32_t b) {
      const int64_t x = TimeOf(outputs_[a]), y = TimeOf(outputs_[b]);
      return std::tie(x, a) > std::tie(y, b);
    });
    RangeSet left(input.range);
    for (const uint32_t o : candidates_) {
      const ByteRange common{std::max(outputs_[o].range.begin, input.range.begin),
                             std::min(outputs_[o].range.end, input.range.end)};
      if (!left.Overlaps(common)) continue;
      out.push_back({place, o, common});
      left.Remove(common);
    }
  }

  const Recording& r_;
  const recorder::Clocks& clocks_;
  const std::vector<ByteFlow>& inputs_;
  const std::vector<ByteFlow>& outputs_;
  std::unordered_map<uint64_t, StreamOutputs> streams_;
  std::vector<uint32_t> candidates_;
};

}  // namespace

ByteFlows ByteFlows::Find(const Recording& recording, const recorder::Clocks& clocks,
                          const PageIndex& pages) {
  ByteFlows out;
  for (uint32_t t = 0; t < recording.transfers.size(); ++t) {
    const TransferFacts& one = recording.transfers[t];
    if (one.mapped() || (one.flags & recorder::kDenied) != 0) continue;
    auto& flows = one.output() ? out.outputs_ : out.inputs_;
    flows.push_back({one.sub, t, {one.begin, one.end}, t + 1, false});
  }
  MappedFlows(recording, clocks, pages).Find(out.inputs_, out.outputs_);
  for (auto* flows : {&out.inputs_, &out.outputs_}) {
    std::sort(flows->begin(), flows->end(), [](const ByteFlow& a, const ByteFlow& b) {
      return std::tie(a.sub, a.order, a.transfer, a.range.begin) <
             std::tie(b.sub, b.order, b.transfer, b.range.begin);
    });
  }
  out.read_backs_ = ReadBackFinder(recording, clocks, out.inputs_, out.outputs_).Run();
  return out;
}

recorder::Slice ByteFlows::Of(const std::vector<ByteFlow>& flows, SubId sub) {
  const auto [begin, end] =
      std::equal_range(flows.begin(), flows.end(), ByteFlow{sub, 0, {}, 0, false},
                       [](const ByteFlow& a, const ByteFlow& b) { return a.sub < b.sub; });
  return {static_cast<uint32_t>(begin - flows.begin()), static_cast<uint32_t>(end - flows.begin())};
}

}  // namespace wf::lineage
