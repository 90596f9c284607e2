// Packing into the active instance, within a query's limits.
#include <algorithm>
#include <optional>
#include <utility>

#include "client/baggage/baggage_counts.h"
#include "client/baggage/baggage_line.h"
#include "client/runtime/varint.h"

namespace wherefore::client {

using wf::advice::Cell;
using wf::advice::Keep;
using wf::advice::PackedEvent;
using wf::advice::PackedTuples;
using wf::advice::Rows;
using wf::advice::Slot;

namespace {

// No more than this; what holds states of aggregates is told by encoding it.
inline size_t BytesAtMost(const Rows& rows) {
  size_t bytes = 16;
  for (size_t row = 0; row < rows.size(); ++row) {
    bytes += 2 + 64 * rows.state_width();
    for (size_t i = 0; i < rows.width(); ++i) {
      const auto* text = std::get_if<std::string>(&rows.columns(row)[i]);
      bytes += text != nullptr ? 4 + text->size() : 9;
    }
  }
  return bytes;
}

size_t BytesAtMost(const Cell* cells, size_t width, size_t rows) {
  size_t bytes = 16 + rows * (2 + 9 * width);
  for (size_t i = 0; i < rows * width; ++i) bytes += cells[i].size;  // of text; else 0
  return bytes;
}

size_t EncodedSize(const PackedTuples& packed, const Slot& rule) {
  std::string encoded;
  packed.Encode(rule, encoded);
  return encoded.size();
}

}  // namespace

// To be changed by the caller.
ActiveSlot& BaggageLine::Active(uint64_t query, uint32_t slot, const Slot& rule) {
  sent_is_all_ = false;
  for (size_t i = 0; i < actives_; ++i) {
    if (active_[i].query == query && active_[i].slot == slot) return active_[i];
  }
  return NewActive(query, slot, rule);
}

ActiveSlot& BaggageLine::NewActive(uint64_t query, uint32_t slot, const Slot& rule) {
  if (actives_ == active_.size()) active_.emplace_back();
  active_[actives_].Begin(query, slot, rule);
  return active_[actives_++];
}

BaggageLine::Held BaggageLine::HeldByOthers(uint64_t query, const ActiveSlot* except) const {
  Held held;
  ForEachFrozenSlot([&](uint64_t of, uint32_t, uint32_t tuples, std::string_view payload) {
    if (of != query) return;
    ++held.slots;
    held.tuples += tuples;
    held.bytes += payload.size();
  });
  for (size_t i = 0; i < actives_; ++i) {
    const ActiveSlot& active = active_[i];
    if (active.query != query || &active == except) continue;
    ++held.slots;
    held.tuples += active.tuples();
    held.bytes += active.BytesAtMost();
  }
  return held;
}

BaggageLine::Held BaggageLine::HeldBy(uint64_t query) {
  Read();
  return HeldByOthers(query, nullptr);
}

// Replaces bounds by numbers.
void BaggageLine::CountBytes(uint64_t query, const ActiveSlot* except) {
  for (size_t i = 0; i < actives_; ++i) {
    if (active_[i].query == query && &active_[i] != except) active_[i].CountBytes();
  }
}

// As docs/concepts/baggage.md has it.
size_t BaggageLine::TravellingBytesOf(uint64_t query) {
  Read();
  CountBytes(query, nullptr);
  size_t instances = 0, slots = 0;  // bytes of all instances; slots of the one we are at
  const auto end_instance = [&] {
    if (slots != 0) instances += sizeof(uint64_t) + VarintSize(slots);
    slots = 0;
  };
  const auto add = [&](uint32_t slot, uint32_t tuples, size_t payload) {
    ++slots;
    instances += 1 + VarintSize(slot) + VarintSize(tuples) + VarintSize(payload) + payload;
  };
  if (viewed_) {
    SlotCursor cursor(view_);
    SlotView slot;
    for (uint64_t last = 0; cursor.Next(slot); last = slot.instance) {
      if (slot.instance != last) end_instance();
      if (view_.query(slot.query) == query) add(slot.slot, slot.tuples, slot.size);
    }
    end_instance();
  } else if (base_ != nullptr) {
    for (const auto& instance : base_->instances_) {
      for (const PackedSlot& slot : instance->slots)
        if (slot.query == query) add(slot.slot, slot.tuples, slot.payload.size());
      end_instance();
    }
  }
  for (size_t i = 0; i < actives_; ++i) {
    const ActiveSlot& active = active_[i];
    if (active.query == query && !active.empty())
      add(active.slot, active.tuples(), active.BytesAtMost());
  }
  end_instance();
  if (instances == 0) return 0;
  constexpr size_t kHead = 2, kTable = 1 + BaggageView::kTableEntry;
  return kHead + VarintSize(kTable + instances) + kTable + instances;
}

bool BaggageLine::Overflowed(uint64_t query) {
  if (empty()) return false;
  Read();
  return overflow_.unknown || overflow_.Has(query) || FrozenLost() || FrozenOverflow(query);
}

void BaggageLine::MarkOverflowed(uint64_t query) {
  if (!overflow_.Add(query)) return;
  sent_is_all_ = false;
  Counts().overflowed.fetch_add(1, std::memory_order_relaxed);
  NoteOverflow(query);
}

PackResult BaggageLine::Pack(uint64_t query, uint32_t slot, const Slot& rule,
                             const PackLimits& limits, int64_t time, std::string_view id,
                             const Rows& rows) {
  // Another number for the only query of a request that began here: nothing else has to be asked.
  if (actives_ == 1 && sealed_ == 0 && !HasFrozen() && !overflow_.any()) {
    ActiveSlot& only = active_.front();
    if (only.query == query && only.slot == slot && only.logs() && only.tuples() < limits.tuples &&
        rows.size() == 1 && BytesAtMost(rows) + only.LogBytesAtMost(0) <= limits.bytes &&
        only.Log(rows)) {
      sent_is_all_ = false;
      return PackResult::kPacked;
    }
  }
  if (rule.keep == Keep::kAll && rows.empty()) return PackResult::kPacked;
  Read();
  // Unknown losses are no reason: what is packed from here on may be all that this query has.
  if (overflow_.Has(query) || FrozenOverflow(query)) return PackResult::kOverflowed;
  if (sealed_ != 0) EndByBytes();  // what was sent stays as it is
  ActiveSlot& active = Active(query, slot, rule);
  const bool packed = rule.keep == Keep::kAll ? PackBag(active, limits, rows)
                                              : PackEvent(active, limits, time, id, rows);
  if (packed) return PackResult::kPacked;
  MarkOverflowed(query);
  return PackResult::kOverflowed;
}

// Whether `tuples` may take the place of the active slot's. Bounds on bytes are replaced by their number if they alone
// would forbid it.
bool BaggageLine::Fits(const ActiveSlot& active, const PackLimits& limits,
                       const PackedTuples& tuples, size_t& bytes_at_most) {
  Held others = HeldByOthers(active.query, &active);
  if (others.tuples + tuples.tuple_count() > limits.tuples) return false;
  if (others.bytes + bytes_at_most <= limits.bytes) return true;
  CountBytes(active.query, &active);
  others = HeldByOthers(active.query, &active);
  bytes_at_most = EncodedSize(tuples, active.rule);
  return others.bytes + bytes_at_most <= limits.bytes;
}

bool BaggageLine::PackBag(ActiveSlot& active, const PackLimits& limits, const Rows& rows) {
  const Held others = HeldByOthers(active.query, &active);
  size_t bytes_at_most = active.BytesAtMost() + BytesAtMost(rows);
  const bool surely_fits = others.tuples + active.tuples() + rows.size() <= limits.tuples &&
                           others.bytes + bytes_at_most <= limits.bytes;
  if (surely_fits) {
    if (!active.Log(rows)) active.AddRows(rows, bytes_at_most);
    return true;
  }
  PackedTuples changed = active.Packed();
  changed.Add(active.rule, rows);
  if (!Fits(active, limits, changed, bytes_at_most)) return false;
  active.SetPacked(std::move(changed), bytes_at_most);
  return true;
}

bool BaggageLine::PackEvent(ActiveSlot& active, const PackLimits& limits, int64_t time,
                            std::string_view id, const Rows& rows) {
  const Slot& rule = active.rule;
  // An event's adjusted time follows from all that happened before it, wherever that was packed.
  Unpack(active.query, active.slot, rule, all_);
  const std::optional<int64_t> adjusted = all_.AdjustedTime(rule, time);
  if (!adjusted) return true;  // First has its events
  size_t bytes_at_most = 24 + id.size() + BytesAtMost(rows);
  if (rule.limit == 1) {  // it is the only one to be kept, then
    const Held others = HeldByOthers(active.query, &active);
    if (others.tuples + rows.size() <= limits.tuples &&
        others.bytes + bytes_at_most <= limits.bytes && active.Keep(*adjusted, id, rows)) {
      if (rule.keep == Keep::kMostRecent) DropAllOlder(active);
      return true;
    }
  }
  PackedTuples changed = active.Packed();
  changed.AddEventAt(rule, *adjusted, id, rows);
  bytes_at_most += active.BytesAtMost();
  if (!Fits(active, limits, changed, bytes_at_most)) return false;
  active.SetPacked(std::move(changed), bytes_at_most);
  if (rule.keep == Keep::kMostRecent) {
    all_.AddEventAt(rule, *adjusted, id, rows);
    DropOutdated(active, all_);
  }
  return true;
}

namespace {

// What all the others have, and which one is the slot itself.
struct Sorted {
  BaggageLine::Held others;
  ActiveSlot* active = nullptr;
  size_t frozen = 0;  // of the same slot
  std::string_view payload;
};

[[gnu::hot]] Sorted Sort(const BaggageLine::Found& found, uint32_t slot) {
  Sorted sorted;
  for (size_t i = 0; i < found.count; ++i) {
    const BaggageLine::Found::Entry& entry = found.entries[i];
    if (entry.active != nullptr && entry.slot == slot) {
      sorted.active = entry.active;
      continue;
    }
    ++sorted.others.slots;
    sorted.others.tuples += entry.tuples;
    sorted.others.bytes +=
        entry.active != nullptr ? entry.active->BytesAtMost() : entry.payload.size();
    if (entry.active != nullptr || entry.slot != slot) continue;
    ++sorted.frozen;
    sorted.payload = entry.payload;
  }
  return sorted;
}

BaggageLine::Held With(BaggageLine::Held others, const ActiveSlot& active) {
  ++others.slots;
  others.tuples += active.tuples();
  others.bytes += active.BytesAtMost();
  return others;
}

}  // namespace

bool BaggageLine::PackCells(const Found& found, uint64_t query, uint32_t slot, const Slot& rule,
                            const PackLimits& limits, const Cell* cells, size_t rows, Held& after) {
  if (sealed_ != 0) return false;
  const Sorted sorted = Sort(found, slot);
  const Held& others = sorted.others;
  const uint32_t tuples = sorted.active != nullptr ? sorted.active->tuples() : 0;
  const size_t bytes = sorted.active != nullptr ? sorted.active->BytesAtMost() : 0;
  if (others.tuples + tuples + rows > limits.tuples ||
      others.bytes + bytes + BytesAtMost(cells, rule.columns, rows) > limits.bytes) {
    return false;
  }
  ActiveSlot& active = sorted.active != nullptr ? *sorted.active : NewActive(query, slot, rule);
  if (!active.Log(cells, rule.columns, rows)) return false;
  sent_is_all_ = false;
  after = With(others, active);
  return true;
}

bool BaggageLine::PackReady(const Found& found, uint64_t query, uint32_t slot, const Slot& rule,
                            const PackLimits& limits, const TupleLog& ready, Held& after) {
  if (sealed_ != 0) return false;
  Held held;
  for (size_t i = 0; i < found.count; ++i) {
    const Found::Entry& entry = found.entries[i];
    if (entry.active != nullptr) return false;  // perhaps the same tuples
    ++held.slots;
    held.tuples += entry.tuples;
    held.bytes += entry.payload.size();
  }
  ++held.slots;
  held.tuples += ready.tuples();
  held.bytes += ready.EncodedSize();
  if (held.tuples > limits.tuples || held.bytes > limits.bytes) return false;
  if (!NewActive(query, slot, rule).Log(ready)) return false;
  sent_is_all_ = false;
  after = held;
  return true;
}

bool BaggageLine::KeepCells(const Found& found, uint64_t query, uint32_t slot, const Slot& rule,
                            const PackLimits& limits, int64_t time, std::string_view id,
                            const Cell* cells, Held& after) {
  if (sealed_ != 0 || rule.limit != 1) return false;
  const Sorted sorted = Sort(found, slot);
  // One of them at most, or they would have to be merged before it is known when this one happened.
  const bool alone = sorted.active == nullptr || sorted.active->empty();
  if (sorted.frozen + (alone ? 0 : 1) > 1) return false;
  int64_t adjusted = time;
  if (sorted.frozen != 0 || !alone) {
    if (rule.keep == Keep::kFirst && !alone)
      return false;  // nothing to do, but to say what is held
    const std::string_view payload = alone ? sorted.payload : sorted.active->Encoded();
    constexpr size_t kMostCells = 16;
    Cell spare[kMostCells];
    uint64_t weights[2];
    const auto last = wf::advice::TimeOfOnlyEvent(payload);
    if (!last ||
        wf::advice::DecodeCells(rule, payload, {spare, kMostCells, rule.columns, weights, 2}) ==
            wf::advice::kNoRows) {
      return false;
    }
    if (rule.keep == Keep::kFirst) {  // it has its event
      after = sorted.active != nullptr ? With(sorted.others, *sorted.active) : sorted.others;
      return true;
    }
    adjusted = std::max(time, *last == INT64_MAX ? *last : *last + 1);
  }
  const Held& others = sorted.others;
  if (others.tuples + 1 > limits.tuples ||
      others.bytes + 24 + id.size() + BytesAtMost(cells, rule.columns, 1) > limits.bytes) {
    return false;
  }
  ActiveSlot& active = sorted.active != nullptr ? *sorted.active : NewActive(query, slot, rule);
  if (!active.Keep(adjusted, id, cells, rule.columns)) return false;
  sent_is_all_ = false;
  after = With(others, active);
  if (rule.keep == Keep::kMostRecent && sorted.frozen != 0) {
    DropAllOlder(active);
    after = HeldByOthers(query, nullptr);
  }
  return true;
}

// Leaves slots of frozen instances out. `base_` has instances, or there is none.
template <typename Unwanted>
void BaggageLine::DropFrozen(Unwanted unwanted) {
  if (base_ == nullptr) return;
  InstanceList instances;
  size_t dropped = 0;
  for (const auto& instance : base_->instances_) {
    std::vector<PackedSlot> slots;
    for (const PackedSlot& slot : instance->slots) {
      if (!unwanted(slot)) slots.push_back(slot);
    }
    if (slots.size() == instance->slots.size()) {
      instances.push_back(instance);
      continue;
    }
    ++dropped;
    if (slots.empty()) continue;
    auto smaller = std::make_shared<Instance>();
    // It is the same one to everybody else.
    smaller->id.store(instance->WireId(), std::memory_order_relaxed);
    smaller->origin = instance->origin;
    smaller->stamp = instance->stamp;
    smaller->memory = instance->memory;
    smaller->slots = std::move(slots);
    instances.push_back(std::move(smaller));
  }
  if (dropped == 0) return;
  base_ = BaggageSnapshot::Of(std::move(instances), base_->overflow_);
  sent_is_all_ = false;
}

// MostRecent of one: whatever is frozen is older.
void BaggageLine::DropAllOlder(const ActiveSlot& active) {
  bool frozen = false;
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view) {
    frozen = frozen || (of == active.query && number == active.slot);
  });
  if (!frozen) return;
  if (!viewed_) {
    return DropFrozen([&](const PackedSlot& held) {
      return held.query == active.query && held.slot == active.slot;
    });
  }
  LeaveOut(view_, active.query, active.slot, spare_);
  BaggageView view;
  ReadBaggage(spare_.view(), view);
  View(spare_, view);
}

// MostRecent: what newer events have replaced need not travel on. Another branch may still bring it along; merging
// drops it again.
void BaggageLine::DropOutdated(const ActiveSlot& active, const PackedTuples& kept) {
  MakeInstances();
  if (base_ == nullptr || kept.events().size() < active.rule.limit) return;
  const auto outdated = [&](const PackedSlot& slot) {
    if (slot.query != active.query || slot.slot != active.slot) return false;
    PackedTuples held;
    if (!PackedTuples::Decode(active.rule, slot.payload, held)) return false;
    for (const PackedEvent& event : held.events()) {
      for (const PackedEvent& keeps : kept.events()) {
        if (event.id == keeps.id) return false;
      }
    }
    return true;
  };
  DropFrozen(outdated);
}

void BaggageLine::Replace(uint64_t query, uint32_t slot, const Slot& rule, const Rows& rows) {
  Read();
  if (sealed_ != 0) EndByBytes();  // what was sent stays as it is, and is left out here
  bool frozen = false;
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view) {
    frozen = frozen || (of == query && number == slot);
  });
  if (frozen) {
    MakeInstances();
    DropFrozen([&](const PackedSlot& held) { return held.query == query && held.slot == slot; });
  }
  ActiveSlot& active = Active(query, slot, rule);
  active.Clear();
  if (!active.Log(rows)) active.AddRows(rows, BytesAtMost(rows));
}

}  // namespace wherefore::client
