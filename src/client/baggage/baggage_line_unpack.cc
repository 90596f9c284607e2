// What a query has here.
#include "client/baggage/baggage_counts.h"
#include "client/baggage/baggage_line.h"

namespace wherefore::client {

using wf::advice::Keep;
using wf::advice::PackedTuples;
using wf::advice::Slot;

namespace {

bool MergeEncoded(const Slot& rule, std::string_view payload, PackedTuples& into) {
  PackedTuples more(rule);
  if (!PackedTuples::Decode(rule, payload, more)) return false;
  into.Merge(rule, more);
  return true;
}

}  // namespace

PackedTuples BaggageLine::Unpack(uint64_t query, uint32_t slot, const Slot& rule) {
  PackedTuples all(rule);
  if (!empty()) UnpackInto(all, query, slot, rule);
  return all;
}

void BaggageLine::Unpack(uint64_t query, uint32_t slot, const Slot& rule, PackedTuples& all) {
  all.Reset(rule);
  if (!empty()) UnpackInto(all, query, slot, rule);
}

// `all` is empty, and of this shape.
void BaggageLine::UnpackInto(PackedTuples& all, uint64_t query, uint32_t slot, const Slot& rule) {
  Read();
  bool first = true;
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view payload) {
    if (of != query || number != slot) return;
    // Straight to its place, if it is alone, as it nearly always is.
    if (first ? PackedTuples::Decode(rule, payload, all) : MergeEncoded(rule, payload, all)) {
      first = false;
      return;
    }
    Counts().rejected.fetch_add(1, std::memory_order_relaxed);
    if (first) all.Reset(rule);
  });
  for (size_t i = 0; i < actives_; ++i) {
    ActiveSlot& active = active_[i];
    if (active.query != query || active.slot != slot || active.empty()) continue;
    if (first) {
      active.CopyTo(all);
    } else {
      active.MergeInto(all);
    }
    first = false;
  }
}

bool BaggageLine::Borrow(uint64_t query, uint32_t slot, const Slot& rule,
                         wf::advice::BorrowedRows& into) {
  if (!rule.aggregates.empty()) return false;
  into.Reset(rule.columns);
  if (empty()) return true;
  Read();
  size_t holders = 0;
  bool well = true;
  const auto add = [&](std::string_view encoded) {
    ++holders;
    well = well && into.Decode(rule, encoded);
  };
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view payload) {
    if (number == slot && of == query) add(payload);
  });
  for (size_t i = 0; i < actives_ && well; ++i) {
    ActiveSlot& active = active_[i];
    if (active.query == query && active.slot == slot && !active.empty()) add(active.Encoded());
  }
  // Bags add up; of events some would have to give way.
  return well && (rule.keep == Keep::kAll || holders <= 1);
}

bool BaggageLine::Look(uint64_t query, Found& found) {
  found.count = 0;
  if (empty()) return true;
  Read();
  if (overflow_.any() || FrozenLost() ||
      (viewed_ ? view_.any_overflowed : base_ != nullptr && base_->overflow_.any())) {
    return false;
  }
  bool room = true;
  const auto add = [&](uint32_t slot, uint32_t tuples, std::string_view payload,
                       ActiveSlot* active) {
    room = room && found.count < Found::kMost;
    if (room) found.entries[found.count++] = {slot, tuples, payload, active};
  };
  ForEachFrozenSlot([&](uint64_t of, uint32_t slot, uint32_t tuples, std::string_view payload) {
    if (of == query) add(slot, tuples, payload, nullptr);
  });
  for (size_t i = 0; i < actives_; ++i) {
    if (active_[i].query == query) add(active_[i].slot, active_[i].tuples(), {}, &active_[i]);
  }
  return room;
}

bool BaggageLine::Has(uint64_t query, uint32_t slot) {
  Read();
  bool found = false;
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view) {
    found = found || (number == slot && of == query);
  });
  for (size_t i = 0; i < actives_; ++i)
    found = found || (active_[i].slot == slot && active_[i].query == query && !active_[i].empty());
  return found;
}

BaggageLine::Slots BaggageLine::SlotsOf(uint64_t query, uint32_t slot) {
  Read();
  Slots slots;
  const auto note = [&](uint32_t number) {
    if (number <= slot) (number == slot ? slots.this_one : slots.others) = true;
  };
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view) {
    if (of == query) note(number);
  });
  for (size_t i = 0; i < actives_; ++i) {
    if (active_[i].query == query && !active_[i].empty()) note(active_[i].slot);
  }
  return slots;
}

}  // namespace wherefore::client
