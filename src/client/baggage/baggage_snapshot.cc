#include "client/baggage/baggage_snapshot.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/baggage/baggage_counts.h"

namespace wherefore::client {

std::shared_ptr<const BaggageSnapshot> BaggageSnapshot::FromTexts(HeaderTexts texts) {
  if (texts.empty()) return nullptr;
  auto snapshot = std::make_shared<BaggageSnapshot>();
  snapshot->form_ = Form::kTexts;
  snapshot->texts_ = std::move(texts);
  return snapshot;
}

std::shared_ptr<const BaggageSnapshot> BaggageSnapshot::FromBytes(std::string bytes) {
  if (bytes.empty()) return nullptr;
  auto snapshot = std::make_shared<BaggageSnapshot>();
  snapshot->form_ = Form::kBytes;
  snapshot->bytes_ = std::make_shared<const std::string>(std::move(bytes));
  return snapshot;
}

std::shared_ptr<const BaggageSnapshot> BaggageSnapshot::Of(InstanceList instances,
                                                           Overflow overflow) {
  if (instances.empty() && !overflow.any()) return nullptr;
  auto snapshot = std::make_shared<BaggageSnapshot>();
  snapshot->instances_ = std::move(instances);
  snapshot->overflow_ = std::move(overflow);
  return snapshot;
}

std::shared_ptr<const std::string> BaggageSnapshot::Bytes() const {
  const std::lock_guard lock(mutex_);
  if (bytes_ == nullptr) {
    std::string bytes;
    if (form_ == Form::kTexts) {
      if (!FromHeader(texts_, bytes)) bytes.clear();
    } else {
      bytes = EncodeBaggage(instances_, overflow_);
    }
    bytes_ = std::make_shared<const std::string>(std::move(bytes));
  }
  return bytes_;
}

HeaderTexts BaggageSnapshot::Header(size_t room, int members) const {
  if (form_ == Form::kTexts && texts_.size() <= room && texts_.members() <= members) return texts_;
  const auto bytes = Bytes();
  if (bytes->size() <= BytesThatFit(room, members)) return ToHeader(*bytes);
  return Shrunk(room, members);
}

// Leaves out the query that takes the most until the rest fits: half a query's tuples would be a wrong answer, none and
// a mark are an honest one.
HeaderTexts BaggageSnapshot::Shrunk(size_t room, int members) const {
  InstanceList instances = instances_;
  Overflow overflow = overflow_;
  if (form_ != Form::kInstances) {
    const auto bytes = Bytes();
    BaggageView view;
    if (ReadBaggage(*bytes, view) != BaggageRead::kWhole) return {};
    instances = ToInstances(view, bytes);
    overflow = OverflowOf(view);
  }
  const size_t fit = BytesThatFit(room, members);
  while (true) {
    std::vector<std::pair<uint64_t, size_t>> sizes;
    for (const auto& instance : instances) {
      for (const PackedSlot& slot : instance->slots) {
        auto at = std::find_if(sizes.begin(), sizes.end(),
                               [&](const auto& entry) { return entry.first == slot.query; });
        if (at == sizes.end()) at = sizes.insert(at, {slot.query, 0});
        at->second += slot.payload.size();
      }
    }
    if (sizes.empty()) break;
    const uint64_t largest =
        std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
    InstanceList rest;
    for (const auto& instance : instances) {
      auto smaller = std::make_shared<Instance>();
      smaller->id.store(instance->WireId(), std::memory_order_relaxed);
      smaller->memory = instance->memory;
      for (const PackedSlot& slot : instance->slots) {
        if (slot.query != largest) smaller->slots.push_back(slot);
      }
      if (!smaller->slots.empty()) rest.push_back(std::move(smaller));
    }
    instances = std::move(rest);
    if (overflow.Add(largest)) {
      Counts().unfitting.fetch_add(1, std::memory_order_relaxed);
      NoteOverflow(largest);
    }
    const std::string bytes = EncodeBaggage(instances, overflow);
    if (bytes.size() <= fit) return ToHeader(bytes);
  }
  // Not even the names of what was lost.
  Overflow lost;
  lost.unknown = true;
  const std::string bytes = EncodeBaggage({}, lost);
  return bytes.size() <= fit ? ToHeader(bytes) : HeaderTexts();
}

}  // namespace wherefore::client
