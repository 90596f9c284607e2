#include "client/baggage_line.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/varint.h"

namespace wherefore::client {

using wf::advice::Keep;
using wf::advice::PackedEvent;
using wf::advice::PackedTuples;
using wf::advice::Rows;
using wf::advice::Slot;

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

struct OverflowMarks {
  std::mutex mutex;
  std::vector<std::pair<uint64_t, uint64_t>> by_query;
};
OverflowMarks& Marks() {
  static auto* marks = new OverflowMarks;  // used by threads that outlive static destruction
  return *marks;
}
// More queries than a process runs at a time; beyond that marks are only counted in total.
constexpr size_t kMostMarked = 256;

void NoteOverflow(uint64_t query) {
  OverflowMarks& marks = Marks();
  const std::lock_guard lock(marks.mutex);
  for (auto& [id, count] : marks.by_query) {
    if (id == query) {
      ++count;
      return;
    }
  }
  if (marks.by_query.size() < kMostMarked) marks.by_query.emplace_back(query, 1);
}

// No more than this; what holds states of aggregates is told by encoding it.
size_t BytesAtMost(const Rows& rows) {
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

size_t EncodedSize(const PackedTuples& packed, const Slot& rule) {
  std::string encoded;
  packed.Encode(rule, encoded);
  return encoded.size();
}

}  // namespace

BaggageCounts& Counts() {
  static auto* counts = new BaggageCounts;
  return *counts;
}

std::vector<std::pair<uint64_t, uint64_t>> TakeOverflowMarks() {
  OverflowMarks& marks = Marks();
  const std::lock_guard lock(marks.mutex);
  return std::exchange(marks.by_query, {});
}

// --- Snapshots

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
      smaller->id.store(instance->WireId(), kRelaxed);
      smaller->memory = instance->memory;
      for (const PackedSlot& slot : instance->slots) {
        if (slot.query != largest) smaller->slots.push_back(slot);
      }
      if (!smaller->slots.empty()) rest.push_back(std::move(smaller));
    }
    instances = std::move(rest);
    if (overflow.Add(largest)) {
      Counts().unfitting.fetch_add(1, kRelaxed);
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

// --- Lines

BaggageLine::BaggageLine(std::shared_ptr<const BaggageSnapshot> base) { Receive(std::move(base)); }

void BaggageLine::Receive(std::shared_ptr<const BaggageSnapshot> base) {
  base_ = std::move(base);
  if (base_ == nullptr) return;
  const std::lock_guard lock(base_->mutex_);
  name_ = std::exchange(base_->unclaimed_, BranchName());
}

void BaggageLine::Reset() {
  base_.reset();
  own_.Clear();
  read_ = viewed_ = false;
  bytes_.reset();
  for (size_t i = 0; i < actives_; ++i) active_[i].Clear();
  actives_ = 0;
  sealed_ = 0;
  sent_.Clear();
  sent_is_all_ = false;
  overflow_.queries.clear();
  overflow_.unknown = false;
  if (name_.origin != 0) name_ = BranchName();
}

void BaggageLine::Receive(std::string_view bytes) { own_.Assign(bytes); }

bool BaggageLine::AnyActive() const {
  for (size_t i = 0; i < actives_; ++i) {
    if (!active_[i].empty()) return true;
  }
  return false;
}

// What cannot be read is as if it had not come, and counted.
bool BaggageLine::Accept(BaggageRead read, Overflow& lost) {
  if (read == BaggageRead::kWhole) return true;
  if (read == BaggageRead::kCut) {
    lost.unknown = true;
    Counts().cut.fetch_add(1, kRelaxed);
  } else {
    Counts().rejected.fetch_add(1, kRelaxed);
  }
  return false;
}

// From here on what is frozen can be looked into.
void BaggageLine::Read() {
  if (read_ || !HasFrozen()) return;
  read_ = true;
  if (!own_.empty()) {
    viewed_ = Accept(ReadBaggage(own_.view(), view_), overflow_);
    if (!viewed_) own_.Clear();
    return;
  }
  if (base_->form_ == BaggageSnapshot::Form::kInstances) return;
  bytes_ = base_->Bytes();
  viewed_ = Accept(ReadBaggage(*bytes_, view_), overflow_);
  if (viewed_) return;
  base_ = nullptr;
  bytes_ = nullptr;
}

// These bytes, which stay where they are, become what is frozen.
void BaggageLine::View(ByteBuffer& bytes, const BaggageView& seen) {
  std::swap(own_, bytes);
  view_ = seen;
  read_ = viewed_ = true;
  base_ = nullptr;
  bytes_ = nullptr;
}

// From here on others may hold what is frozen.
void BaggageLine::ShareOwn() {
  if (own_.empty()) return;
  base_ = BaggageSnapshot::FromBytes(std::string(own_.view()));
  own_.Clear();
  if (!viewed_) return;
  bytes_ = base_->Bytes();
  ReadBaggage(*bytes_, view_);
}

// From here on the base has instances, or there is none.
void BaggageLine::MakeInstances() {
  Read();
  if (!viewed_) return;
  ShareOwn();
  auto made = std::make_shared<BaggageSnapshot>();
  made->instances_ = ToInstances(view_, bytes_);
  made->overflow_ = OverflowOf(view_);
  made->bytes_ = std::move(bytes_);
  base_ = std::move(made);
  bytes_ = nullptr;
  viewed_ = false;
}

template <typename Use>
void BaggageLine::ForEachFrozenSlot(Use use) const {
  if (viewed_ && view_.slots <= BaggageView::kNoted) {
    for (size_t i = 0; i < view_.slots; ++i) {
      const SlotView& slot = view_.noted[i];
      use(view_.query(slot.query), slot.slot, slot.tuples, slot.payload);
    }
    return;
  }
  if (viewed_) {
    SlotCursor cursor(view_);
    SlotView slot;
    while (cursor.Next(slot)) use(view_.query(slot.query), slot.slot, slot.tuples, slot.payload);
    return;
  }
  if (base_ == nullptr) return;
  for (const auto& instance : base_->instances_) {
    for (const PackedSlot& slot : instance->slots)
      use(slot.query, slot.slot, slot.tuples, slot.payload);
  }
}

bool BaggageLine::FrozenOverflow(uint64_t query) const {
  if (viewed_) {
    const size_t index = view_.Find(query);
    return index < view_.queries() && view_.overflowed(index);
  }
  return base_ != nullptr && base_->overflow_.Has(query);
}

bool BaggageLine::FrozenLost() const {
  return viewed_ ? view_.lost : base_ != nullptr && base_->overflow_.unknown;
}

// To be changed by the caller.
ActiveSlot& BaggageLine::Active(uint64_t query, uint32_t slot, const Slot& rule) {
  sent_is_all_ = false;
  for (size_t i = 0; i < actives_; ++i) {
    if (active_[i].query == query && active_[i].slot == slot) return active_[i];
  }
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

// As docs/BAGGAGE.md has it.
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
      if (view_.query(slot.query) == query) add(slot.slot, slot.tuples, slot.payload.size());
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

size_t BaggageLine::instances() {
  Read();
  if (!viewed_) return base_ == nullptr ? 0 : base_->instances_.size();
  size_t count = 0;
  SlotCursor cursor(view_);
  SlotView slot;
  for (uint64_t last = 0; cursor.Next(slot); last = slot.instance) count += slot.instance != last;
  return count;
}

bool BaggageLine::Overflowed(uint64_t query) {
  if (empty()) return false;
  Read();
  return overflow_.unknown || overflow_.Has(query) || FrozenLost() || FrozenOverflow(query);
}

void BaggageLine::MarkOverflowed(uint64_t query) {
  if (!overflow_.Add(query)) return;
  sent_is_all_ = false;
  Counts().overflowed.fetch_add(1, kRelaxed);
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
    smaller->id.store(instance->WireId(), kRelaxed);  // it is the same one to everybody else
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

PackedTuples BaggageLine::Unpack(uint64_t query, uint32_t slot, const Slot& rule) {
  PackedTuples all(rule);
  Unpack(query, slot, rule, all);
  return all;
}

void BaggageLine::Unpack(uint64_t query, uint32_t slot, const Slot& rule, PackedTuples& all) {
  all.Reset(rule);
  if (empty()) return;
  Read();
  bool first = true;
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view payload) {
    if (of != query || number != slot) return;
    PackedTuples more;
    // Straight to its place, if it is alone, as it nearly always is.
    PackedTuples& tuples = first ? all : more;
    if (!PackedTuples::Decode(rule, payload, tuples)) {
      Counts().rejected.fetch_add(1, kRelaxed);
      tuples.Reset(rule);
      return;
    }
    if (!first) all.Merge(rule, more);
    first = false;
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

BaggageLine::Slots BaggageLine::SlotsOf(uint64_t query, uint32_t slot) {
  Read();
  Slots slots;
  const auto note = [&](uint32_t number) {
    (number == slot ? slots.this_one : slots.others) = true;
  };
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view) {
    if (of == query) note(number);
  });
  for (size_t i = 0; i < actives_; ++i) {
    if (active_[i].query == query && !active_[i].empty()) note(active_[i].slot);
  }
  return slots;
}

// The active instance as it will be for ever; null if nothing was packed.
std::shared_ptr<const Instance> BaggageLine::EndActive() {
  auto instance = std::make_shared<Instance>();
  std::string memory;
  std::vector<size_t> ends;
  for (size_t i = 0; i < actives_; ++i) {
    ActiveSlot& active = active_[i];
    if (active.empty()) continue;
    PackedSlot packed;
    packed.query = active.query;
    packed.slot = active.slot;
    packed.tuples = active.tuples();
    memory.append(active.Encoded());
    packed.has_rule = true;
    packed.rule = active.rule;
    ends.push_back(memory.size());
    instance->slots.push_back(std::move(packed));
    active.Clear();
  }
  actives_ = 0;
  sent_is_all_ = false;
  const uint64_t sealed = std::exchange(sealed_, 0);
  if (instance->slots.empty()) return nullptr;
  instance->id.store(sealed, kRelaxed);
  instance->memory = std::make_shared<const std::string>(std::move(memory));
  size_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    instance->slots[i].payload = std::string_view(*instance->memory).substr(begin, ends[i] - begin);
    begin = ends[i];
  }
  if (name_.origin == 0 || name_.stamp.depth() > Stamp::kDeep) name_ = {RandomId(), Stamp()};
  name_.stamp.Event();
  instance->origin = name_.origin;
  instance->stamp = name_.stamp;
  return instance;
}

// The same without objects: what was sent takes the place of what it was made of. Of an instance with a name on the wire
// nobody needs to know which branch packed it.
void BaggageLine::EndByBytes() {
  BaggageView seen;
  if (ReadBaggage(sent_.view(), seen) != BaggageRead::kWhole) {  // more than may travel
    Freeze();
    return;
  }
  View(sent_, seen);
  for (size_t i = 0; i < actives_; ++i) active_[i].Clear();
  actives_ = 0;
  sealed_ = 0;
  sent_is_all_ = false;
}

// Sending seals the active instance, and leaves it where it is: most requests that send pack no more, and then nothing
// has to be made of it.
void BaggageLine::EncodeAll() {
  Read();
  size_t slots = 0;
  for (size_t i = 0; i < actives_; ++i) slots += active_[i].empty() ? 0 : 1;
  BaggageWriter writer(viewed_ ? &view_ : nullptr);
  const InstanceList* const frozen = base_ != nullptr && !viewed_ ? &base_->instances_ : nullptr;
  if (frozen != nullptr) {
    writer.NoteOverflow(base_->overflow_);
    for (const auto& instance : *frozen) {
      writer.SizeInstance(instance->slots.size());
      for (const PackedSlot& slot : instance->slots)
        writer.SizeSlot(slot.query, slot.slot, slot.tuples, slot.payload.size());
    }
  }
  writer.NoteOverflow(overflow_);
  if (slots != 0) writer.SizeInstance(slots);
  for (size_t i = 0; i < actives_; ++i) {
    ActiveSlot& active = active_[i];
    if (!active.empty())
      writer.SizeSlot(active.query, active.slot, active.tuples(), active.EncodedSize());
  }
  writer.Begin(sent_.Resize(writer.size()));
  if (frozen != nullptr) {
    for (const auto& instance : *frozen) {
      writer.PutInstance(instance->WireId(), instance->slots.size());
      for (const PackedSlot& slot : instance->slots) {
        char* const place = writer.PutSlot(slot.query, slot.slot, slot.tuples, slot.payload.size());
        std::memcpy(place, slot.payload.data(), slot.payload.size());
      }
    }
  } else if (viewed_) {
    writer.PutBytes(view_.instances);
  }
  sent_is_all_ = true;
  if (slots == 0) return;
  if (sealed_ == 0) sealed_ = RandomId();
  writer.PutInstance(sealed_, slots);
  for (size_t i = 0; i < actives_; ++i) {
    ActiveSlot& active = active_[i];
    if (!active.empty())
      active.Encode(
          writer.PutSlot(active.query, active.slot, active.tuples(), active.EncodedSize()));
  }
}

void BaggageLine::AppendTo(std::string& message) {
  if (!overflow_.any() && !AnyActive()) {
    if (base_ != nullptr) {
      message.append(*base_->Bytes());
    } else {
      message.append(own_.view());
    }
    return;
  }
  if (!sent_is_all_) EncodeAll();
  message.append(sent_.view());
}

std::string BaggageLine::Serialize() {
  std::string bytes;
  AppendTo(bytes);
  return bytes;
}

HeaderTexts BaggageLine::Header(size_t room, int members) {
  if (actives_ == 0 && !overflow_.any()) {
    ShareOwn();
    return base_ == nullptr ? HeaderTexts() : base_->Header(room, members);
  }
  const std::string bytes = Serialize();
  if (bytes.size() <= BytesThatFit(room, members)) return ToHeader(bytes);
  return Freeze()->Header(room, members);
}

std::shared_ptr<const BaggageSnapshot> BaggageLine::Freeze() {
  ShareOwn();
  if (actives_ == 0 && !overflow_.any()) return base_;
  sent_is_all_ = false;
  std::shared_ptr<const Instance> ended = EndActive();
  if (ended == nullptr && !overflow_.any()) return base_;
  InstanceList instances;
  Overflow overflow;
  MakeInstances();
  if (base_ != nullptr) {
    instances.reserve(base_->instances_.size() + 1);
    instances = base_->instances_;
    overflow = base_->overflow_;
  }
  if (ended != nullptr) instances.push_back(std::move(ended));
  overflow.Add(std::exchange(overflow_, Overflow()));
  base_ = BaggageSnapshot::Of(std::move(instances), std::move(overflow));
  read_ = true;
  if (base_ != nullptr && name_.origin != 0) {
    // For the first that goes on from it.
    const std::lock_guard lock(base_->mutex_);
    base_->unclaimed_ = {name_.origin, name_.stamp.Fork()};
  }
  return base_;
}

std::shared_ptr<const BaggageSnapshot> BaggageLine::Finish() {
  auto all = Freeze();
  const BranchName name = std::exchange(name_, BranchName());
  if (all == nullptr || name.origin == 0) return all;
  const std::lock_guard lock(all->mutex_);
  if (all->unclaimed_.origin == 0) {
    all->unclaimed_ = name;
  } else if (all->unclaimed_.origin == name.origin) {
    all->unclaimed_.stamp.Join(name.stamp);
  }
  return all;
}

std::shared_ptr<const BaggageSnapshot> BaggageLine::FreezeSince(
    std::shared_ptr<const BaggageSnapshot> received) {
  auto all = Freeze();
  if (all == received || all == nullptr || received == nullptr) {
    return all == received ? nullptr : all;
  }
  BaggageLine before;
  before.base_ = std::move(received);
  before.MakeInstances();
  if (before.base_ == nullptr) return all;
  MakeInstances();
  if (base_ == nullptr) return nullptr;
  InstanceList fresh;
  for (const auto& instance : base_->instances_) {
    const uint64_t id = instance->id.load(std::memory_order_acquire);
    const auto same = [&](const std::shared_ptr<const Instance>& other) {
      return other == instance || (id != 0 && other->id.load(std::memory_order_acquire) == id);
    };
    const InstanceList& known = before.base_->instances_;
    if (std::none_of(known.begin(), known.end(), same)) fresh.push_back(instance);
  }
  Overflow overflow;
  for (const uint64_t query : base_->overflow_.queries) {
    if (!before.base_->overflow_.Has(query)) overflow.Add(query);
  }
  overflow.unknown = base_->overflow_.unknown && !before.base_->overflow_.unknown;
  return BaggageSnapshot::Of(std::move(fresh), std::move(overflow));
}

bool BaggageLine::WhollyOurs(const std::shared_ptr<const Instance>& instance, long holders,
                             const BranchName& other) const {
  if (instance->origin == 0 || instance->id.load(std::memory_order_acquire) != 0) return false;
  if (instance.use_count() > holders) return false;
  const IntervalId& share = instance->stamp.id;
  return (instance->origin == name_.origin && name_.stamp.id.Contains(share)) ||
         (instance->origin == other.origin && other.stamp.id.Contains(share));
}

void BaggageLine::Fold(const Instance& instance) {
  for (const PackedSlot& frozen : instance.slots) {
    ActiveSlot& active = Active(frozen.query, frozen.slot, frozen.rule);
    const size_t bytes_at_most = active.BytesAtMost() + frozen.payload.size();
    PackedTuples all = active.Packed(), tuples;
    if (PackedTuples::Decode(frozen.rule, frozen.payload, tuples)) all.Merge(active.rule, tuples);
    active.SetPacked(std::move(all), bytes_at_most);
  }
}

void BaggageLine::JoinBytes(std::string_view bytes) {
  // What was sent, or received, comes back as it was: most who are called pack nothing.
  if (bytes == (sent_is_all_ ? sent_.view() : actives_ == 0 ? own_.view() : std::string_view()))
    return;
  BaggageView theirs;
  if (!Accept(ReadBaggage(bytes, theirs), overflow_)) {
    sent_is_all_ = false;
    return;
  }
  if (sealed_ != 0) EndByBytes();
  Read();
  // Objects, or a share of the clock, that others may have to know of.
  if (base_ != nullptr && (!viewed_ || name_.origin != 0))
    return Join(BaggageSnapshot::FromBytes(std::string(bytes)));
  if (!HasFrozen() || BeginsWith(theirs, view_)) {
    spare_.Assign(bytes);
    theirs.MoveTo(spare_.view().data(), bytes.data());
  } else if (BeginsWith(view_, theirs)) {
    return;
  } else if (!Unite(view_, theirs, spare_) ||
             ReadBaggage(spare_.view(), theirs) != BaggageRead::kWhole) {
    return Join(BaggageSnapshot::FromBytes(std::string(bytes)));
  }
  sent_is_all_ = false;
  View(spare_, theirs);
}

void BaggageLine::Join(std::shared_ptr<const BaggageSnapshot> other) {
  if (other == nullptr || other == base_) return;
  sent_is_all_ = false;
  BaggageLine theirs(std::move(other));  // claims the name, if nobody went on from it
  theirs.Read();
  overflow_.Add(theirs.overflow_);
  if (theirs.base_ == nullptr) return;
  Read();
  if (!HasFrozen() && actives_ == 0) {
    base_ = std::move(theirs.base_);
    read_ = true;
    viewed_ = theirs.viewed_;
    bytes_ = std::move(theirs.bytes_);
    view_ = theirs.view_;
    if (name_.origin == 0) name_ = std::move(theirs.name_);
    return;
  }
  if (sealed_ != 0) Freeze();  // what was sent stays by itself
  theirs.MakeInstances();
  MakeInstances();
  // A base that only this line holds is nobody's starting point any more: its half of the share comes back.
  if (base_ != nullptr && base_.use_count() == 1) {
    const std::lock_guard lock(base_->mutex_);
    BranchName unclaimed = std::exchange(base_->unclaimed_, BranchName());
    if (unclaimed.origin != 0 && unclaimed.origin == name_.origin)
      name_.stamp.Join(unclaimed.stamp);
  }
  BranchName merged = theirs.name_;
  if (name_.origin == 0) name_ = merged;
  if (merged.origin == name_.origin && merged.origin != 0) name_.stamp.Join(merged.stamp);

  const bool sole = base_ == nullptr || base_.use_count() == 1;
  const bool sole_theirs = theirs.base_.use_count() == 1;
  InstanceList all;
  Overflow overflow = overflow_;
  if (base_ != nullptr) {
    all = base_->instances_;
    overflow.Add(base_->overflow_);
  }
  overflow.Add(theirs.base_->overflow_);
  std::vector<int> lists(all.size(), 1);  // in how many of the two lists it stands
  for (const auto& instance : theirs.base_->instances_) {
    const uint64_t id = instance->id.load(std::memory_order_acquire);
    size_t at = 0;
    while (at < all.size() && all[at] != instance &&
           (id == 0 || all[at]->id.load(std::memory_order_acquire) != id)) {
      ++at;
    }
    if (at == all.size()) {
      all.push_back(instance);
      lists.push_back(1);
    } else {
      ++lists[at];
    }
  }
  InstanceList kept;
  for (size_t i = 0; i < all.size(); ++i) {
    // Held by `all`, and by the lists that nobody else holds.
    const long holders = sole && sole_theirs ? 1 + lists[i] : 0;
    if (WhollyOurs(all[i], holders, merged)) {
      Fold(*all[i]);
    } else {
      kept.push_back(std::move(all[i]));
    }
  }
  overflow_ = Overflow();
  base_ = BaggageSnapshot::Of(std::move(kept), std::move(overflow));
  read_ = true;
}

}  // namespace wherefore::client
