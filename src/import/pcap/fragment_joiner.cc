#include "import/pcap/fragment_joiner.h"

#include <algorithm>

#include "base/hash.h"

namespace wf::pcap {
namespace {

constexpr uint32_t kMostLength = 65535;  // of an IP packet
// A capture of two interfaces shows each fragment twice.
constexpr Nanos kFragmentDuplicateWithin = 100 * kMilli;
constexpr size_t kOverhead = 256;  // of a packet that is held, besides its bytes

}  // namespace

size_t FragmentJoiner::KeyHash::operator()(const Key& key) const {
  const auto bytes = [](const IpAddress& address) {
    return std::string_view(reinterpret_cast<const char*>(address.bytes.data()),
                            address.bytes.size());
  };
  const uint64_t ends = HashBytes(bytes(key.source), key.ip_id) ^
                        MixBits(HashBytes(bytes(key.destination), key.protocol));
  return static_cast<size_t>(MixBits(ends));
}

// Adds to the ranges, which stay rising and apart; false if all of it was there.
bool FragmentJoiner::Cover(std::vector<Range>& ranges, Range range) {
  auto first = std::lower_bound(ranges.begin(), ranges.end(), range.from,
                                [](const Range& r, uint32_t from) { return r.to < from; });
  if (first != ranges.end() && first->from <= range.from && range.to <= first->to) return false;
  auto last = first;
  for (; last != ranges.end() && last->from <= range.to; ++last) {
    range.from = std::min(range.from, last->from);
    range.to = std::max(range.to, last->to);
  }
  ranges.insert(ranges.erase(first, last), range);
  return true;
}

void FragmentJoiner::GiveUp(const Waiting& waiting) {
  const auto at = packets_.find(waiting.key);
  if (at == packets_.end() || at->second.number != waiting.number) return;
  if (at->second.done_ns == 0) counts_.given_up += at->second.fragments;
  held_ -= at->second.bytes.size() + kOverhead;
  packets_.erase(at);
}

void FragmentJoiner::MakeRoom(Nanos time_ns) {
  while (!waiting_.empty() &&
         (waiting_.front().since < time_ns - limits_.patience || held_ > limits_.most_bytes)) {
    GiveUp(waiting_.front());
    waiting_.pop_front();
  }
}

bool FragmentJoiner::Join(PacketHeaders& headers, Nanos time_ns, PacketFault& fault) {
  if (fault != PacketFault::kNone || !headers.fragment) return true;
  ++counts_.fragments;
  MakeRoom(time_ns);
  const Range range{headers.fragment_offset, headers.fragment_offset + headers.transport_length};
  if (range.to > kMostLength || range.from == range.to ||
      (headers.more_fragments && headers.transport_length % 8 != 0)) {
    ++counts_.malformed;
    return false;
  }
  const Key key{headers.flow.source, headers.flow.destination, headers.ip_id,
                headers.flow.protocol};
  auto at = packets_.find(key);
  if (at != packets_.end() && at->second.done_ns != 0) {
    if (time_ns - at->second.done_ns <= kFragmentDuplicateWithin) {
      ++counts_.doubles;
      return false;
    }
    held_ -= kOverhead;  // the number is used again
    packets_.erase(at);
    at = packets_.end();
  }
  if (at == packets_.end()) {
    at = packets_.try_emplace(key).first;
    at->second.number = ++numbers_;
    held_ += kOverhead;
    waiting_.push_back({key, numbers_, time_ns});
  }
  Packet& packet = at->second;
  ++packet.fragments;
  if (!Cover(packet.claimed, range)) ++counts_.doubles;
  if (!headers.more_fragments && packet.length == 0) packet.length = range.to;
  const auto captured = std::min<size_t>(headers.transport.size(), headers.transport_length);
  const Range had{range.from, range.from + static_cast<uint32_t>(captured)};
  if (packet.bytes.size() < had.to) {
    held_ += had.to - packet.bytes.size();
    packet.bytes.resize(had.to);
  }
  // Only into the holes: where fragments overlap, the first bytes count.
  uint32_t from = had.from;
  for (const Range& known : packet.held) {
    if (known.from >= had.to) break;
    if (known.from > from)
      std::copy_n(headers.transport.data() + (from - had.from), known.from - from,
                  packet.bytes.data() + from);
    from = std::max(from, std::min(known.to, had.to));
  }
  if (from < had.to)
    std::copy_n(headers.transport.data() + (from - had.from), had.to - from,
                packet.bytes.data() + from);
  if (had.to > had.from) Cover(packet.held, had);
  const bool whole = packet.length != 0 && packet.claimed.size() == 1 &&
                     packet.claimed[0].from == 0 && packet.claimed[0].to >= packet.length;
  if (!whole) return false;

  ++counts_.joined;
  packet.done_ns = std::max<Nanos>(time_ns, 1);
  held_ -= packet.bytes.size();
  whole_ = std::move(packet.bytes);
  packet.bytes = {};
  // If captured too short, only the bytes before the first hole are usable.
  const uint32_t known = packet.held.empty() || packet.held[0].from != 0 ? 0 : packet.held[0].to;
  headers.fragment = headers.more_fragments = false;
  headers.fragment_offset = 0;
  headers.transport = std::string_view(whole_).substr(0, std::min(known, packet.length));
  headers.transport_length = packet.length;
  fault = DecodeTransport(headers);
  return true;
}

FragmentJoiner::Counts FragmentJoiner::counts() const {
  Counts counts = counts_;
  for (const auto& [key, packet] : packets_)
    if (packet.done_ns == 0) counts.given_up += packet.fragments;
  return counts;
}

}  // namespace wf::pcap
