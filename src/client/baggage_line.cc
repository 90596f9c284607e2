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

constexpr size_t kHeadAtMost = 5;  // of a bag
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

BaggageLine::BaggageLine(std::shared_ptr<const BaggageSnapshot> base) : base_(std::move(base)) {
  if (base_ == nullptr) return;
  const std::lock_guard lock(base_->mutex_);
  name_ = std::exchange(base_->unclaimed_, BranchName());
}

// From here on the base can be looked into. What cannot be read is as if it had not come.
void BaggageLine::Read() {
  if (read_ || base_ == nullptr) return;
  read_ = true;
  if (base_->form_ == BaggageSnapshot::Form::kInstances) return;
  bytes_ = base_->Bytes();
  const BaggageRead read = ReadBaggage(*bytes_, view_);
  if (read == BaggageRead::kWhole) return;
  base_ = nullptr;
  bytes_ = nullptr;
  if (read == BaggageRead::kCut) {
    overflow_.unknown = true;
    Counts().cut.fetch_add(1, kRelaxed);
  } else {
    Counts().rejected.fetch_add(1, kRelaxed);
  }
}

// From here on the base has instances, or there is none.
void BaggageLine::MakeInstances() {
  Read();
  if (base_ == nullptr || bytes_ == nullptr) return;
  auto made = std::make_shared<BaggageSnapshot>();
  made->instances_ = ToInstances(view_, bytes_);
  made->overflow_ = OverflowOf(view_);
  made->bytes_ = std::move(bytes_);
  base_ = std::move(made);
  bytes_ = nullptr;
}

template <typename Use>
void BaggageLine::ForEachFrozenSlot(Use use) const {
  if (base_ == nullptr) return;
  if (bytes_ != nullptr && view_.slots <= BaggageView::kNoted) {
    for (size_t i = 0; i < view_.slots; ++i) {
      const SlotView& slot = view_.noted[i];
      use(view_.query(slot.query), slot.slot, slot.tuples, slot.payload);
    }
    return;
  }
  if (bytes_ != nullptr) {
    SlotCursor cursor(view_);
    SlotView slot;
    while (cursor.Next(slot)) use(view_.query(slot.query), slot.slot, slot.tuples, slot.payload);
    return;
  }
  for (const auto& instance : base_->instances_) {
    for (const PackedSlot& slot : instance->slots)
      use(slot.query, slot.slot, slot.tuples, slot.payload);
  }
}

bool BaggageLine::FrozenOverflow(uint64_t query) const {
  if (base_ == nullptr) return false;
  if (bytes_ == nullptr) return base_->overflow_.Has(query);
  const size_t index = view_.Find(query);
  return index < view_.queries() && view_.overflowed(index);
}

bool BaggageLine::FrozenLost() const {
  return base_ != nullptr && (bytes_ != nullptr ? view_.lost : base_->overflow_.unknown);
}

void BaggageLine::ActiveSlot::OnlyPacked() {
  if (numbers.empty()) return;
  packed_bytes_at_most = numbers.EncodedSize();
  packed = numbers.ToPackedTuples(rule);
  numbers = NumberLog();
}

BaggageLine::ActiveSlot& BaggageLine::Active(uint64_t query, uint32_t slot, const Slot& rule) {
  for (ActiveSlot& active : active_) {
    if (active.query == query && active.slot == slot) return active;
  }
  ActiveSlot& active = active_.emplace_back();
  active.query = query;
  active.slot = slot;
  active.rule = rule;
  return active;
}

BaggageLine::Held BaggageLine::HeldByOthers(uint64_t query, const ActiveSlot* except) const {
  Held held;
  ForEachFrozenSlot([&](uint64_t of, uint32_t, uint32_t tuples, std::string_view payload) {
    if (of != query) return;
    ++held.slots;
    held.tuples += tuples;
    held.bytes += payload.size();
  });
  for (const ActiveSlot& active : active_) {
    if (active.query != query || &active == except) continue;
    ++held.slots;
    held.tuples += active.tuples();
    held.bytes += active.bytes_at_most();
  }
  return held;
}

BaggageLine::Held BaggageLine::HeldBy(uint64_t query) {
  Read();
  return HeldByOthers(query, nullptr);
}

// Replaces bounds by numbers.
void BaggageLine::CountBytes(uint64_t query, const ActiveSlot* except) {
  for (ActiveSlot& active : active_) {
    if (active.query == query && &active != except && active.numbers.empty())
      active.packed_bytes_at_most = EncodedSize(active.packed, active.rule);
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
  if (base_ != nullptr && bytes_ != nullptr) {
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
  for (const ActiveSlot& active : active_) {
    if (active.query == query && !active.empty())
      add(active.slot, active.tuples(), active.bytes_at_most());
  }
  end_instance();
  if (instances == 0) return 0;
  constexpr size_t kHead = 2, kTable = 1 + BaggageView::kTableEntry;
  return kHead + VarintSize(kTable + instances) + kTable + instances;
}

size_t BaggageLine::instances() {
  Read();
  if (base_ == nullptr) return 0;
  if (bytes_ == nullptr) return base_->instances_.size();
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
  Counts().overflowed.fetch_add(1, kRelaxed);
  NoteOverflow(query);
}

PackResult BaggageLine::Pack(uint64_t query, uint32_t slot, const Slot& rule,
                             const PackLimits& limits, int64_t time, std::string_view id,
                             const Rows& rows) {
  // Another number for the only query of a request that began here: nothing else has to be asked.
  if (base_ == nullptr && active_.size() == 1 && sealed_ == 0 && !overflow_.any()) {
    ActiveSlot& only = active_.front();
    if (only.query == query && only.slot == slot && !only.numbers.empty() &&
        only.tuples() < limits.tuples &&
        only.numbers.bytes() + kHeadAtMost + 9 * rows.width() <= limits.bytes &&
        only.numbers.Add(rows) == NumberLog::Added::kAdded) {
      return PackResult::kPacked;
    }
  }
  if (rule.keep == Keep::kAll && rows.empty()) return PackResult::kPacked;
  Read();
  // Unknown losses are no reason: what is packed from here on may be all that this query has.
  if (overflow_.Has(query) || FrozenOverflow(query)) return PackResult::kOverflowed;
  if (sealed_ != 0) Freeze();  // what was sent stays as it is
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
  const Slot& rule = active.rule;
  const Held others = HeldByOthers(active.query, &active);
  size_t bytes_at_most = active.bytes_at_most() + BytesAtMost(rows);
  const bool surely_fits = others.tuples + active.tuples() + rows.size() <= limits.tuples &&
                           others.bytes + bytes_at_most <= limits.bytes;
  if (surely_fits && active.packed.empty() && active.numbers.Add(rows) == NumberLog::Added::kAdded)
    return true;
  active.OnlyPacked();
  if (surely_fits) {
    active.packed.Add(rule, rows);
    active.packed_bytes_at_most = bytes_at_most;
    return true;
  }
  PackedTuples changed = active.packed;
  changed.Add(rule, rows);
  if (!Fits(active, limits, changed, bytes_at_most)) return false;
  active.packed = std::move(changed);
  active.packed_bytes_at_most = bytes_at_most;
  return true;
}

bool BaggageLine::PackEvent(ActiveSlot& active, const PackLimits& limits, int64_t time,
                            std::string_view id, const Rows& rows) {
  const Slot& rule = active.rule;
  // An event's adjusted time follows from all that happened before it, wherever that was packed.
  PackedTuples all = Unpack(active.query, active.slot, rule);
  const std::optional<int64_t> adjusted = all.AdjustedTime(rule, time);
  if (!adjusted) return true;  // First has its events
  PackedTuples changed = active.packed;
  changed.AddEventAt(rule, *adjusted, id, rows);
  size_t bytes_at_most = active.packed_bytes_at_most + 12 + id.size() + BytesAtMost(rows);
  if (!Fits(active, limits, changed, bytes_at_most)) return false;
  active.packed = std::move(changed);
  active.packed_bytes_at_most = bytes_at_most;
  if (rule.keep == Keep::kMostRecent) {
    all.AddEventAt(rule, *adjusted, id, rows);
    DropOutdated(active, all);
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
  if (dropped != 0) base_ = BaggageSnapshot::Of(std::move(instances), base_->overflow_);
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
  if (empty()) return all;
  Read();
  // One slot was received and nothing packed since, as where most requests are joined: nothing has to be merged.
  if (bytes_ != nullptr && view_.slots == 1 && active_.empty()) {
    const SlotView& only = view_.noted[0];
    if (only.slot == slot && view_.query(only.query) == query &&
        !PackedTuples::Decode(rule, only.payload, all)) {
      Counts().rejected.fetch_add(1, kRelaxed);
      all = PackedTuples(rule);
    }
    return all;
  }
  bool first = true;
  const auto add = [&](const PackedTuples& tuples) {
    if (first) {
      all = tuples;
    } else {
      all.Merge(rule, tuples);
    }
    first = false;
  };
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view payload) {
    if (of != query || number != slot) return;
    PackedTuples more;
    // Straight to its place, if it is alone, as it nearly always is.
    PackedTuples& tuples = first ? all : more;
    if (!PackedTuples::Decode(rule, payload, tuples)) {
      Counts().rejected.fetch_add(1, kRelaxed);
      tuples = PackedTuples(rule);
      return;
    }
    if (!first) add(more);
    first = false;
  });
  for (const ActiveSlot& active : active_) {
    if (active.query != query || active.slot != slot) continue;
    if (active.numbers.empty()) {
      add(active.packed);
    } else {
      add(active.numbers.ToPackedTuples(rule));
    }
  }
  return all;
}

void BaggageLine::Replace(uint64_t query, uint32_t slot, const Slot& rule, const Rows& rows) {
  Read();
  if (sealed_ != 0) Freeze();  // what was sent stays as it is, and is left out here
  bool frozen = false;
  ForEachFrozenSlot([&](uint64_t of, uint32_t number, uint32_t, std::string_view) {
    frozen = frozen || (of == query && number == slot);
  });
  if (frozen) {
    MakeInstances();
    DropFrozen([&](const PackedSlot& held) { return held.query == query && held.slot == slot; });
  }
  ActiveSlot& active = Active(query, slot, rule);
  active.numbers = NumberLog();
  active.packed = PackedTuples(rule);
  active.packed_bytes_at_most = 0;
  if (active.numbers.Add(rows) == NumberLog::Added::kAdded) return;
  active.packed.Add(rule, rows);
  active.packed_bytes_at_most = BytesAtMost(rows);
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
  for (const ActiveSlot& active : active_) {
    if (active.query == query && !active.empty()) note(active.slot);
  }
  return slots;
}

// The active instance as it will be for ever; null if nothing was packed.
std::shared_ptr<const Instance> BaggageLine::EndActive() {
  auto instance = std::make_shared<Instance>();
  std::string memory;
  std::vector<size_t> ends;
  for (ActiveSlot& active : active_) {
    PackedSlot packed;
    packed.query = active.query;
    packed.slot = active.slot;
    if (active.empty()) continue;
    packed.tuples = active.tuples();
    if (active.numbers.empty()) {
      active.packed.Encode(active.rule, memory);
    } else {
      const size_t begin = memory.size();
      memory.resize(begin + active.numbers.EncodedSize());
      active.numbers.Encode(memory.data() + begin);
    }
    packed.has_rule = true;
    packed.rule = std::move(active.rule);
    ends.push_back(memory.size());
    instance->slots.push_back(std::move(packed));
  }
  active_.clear();
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

// Sending seals the active instance, and leaves it where it is: most requests that send pack no more, and then nothing
// has to be made of it.
std::string BaggageLine::Serialize() {
  size_t slots = 0;
  for (const ActiveSlot& active : active_) slots += active.empty() ? 0 : 1;
  if (slots == 0 && !overflow_.any()) return base_ == nullptr ? std::string() : *base_->Bytes();
  Read();
  BaggageWriter writer(base_ != nullptr && bytes_ != nullptr ? &view_ : nullptr);
  const InstanceList* const frozen =
      base_ != nullptr && bytes_ == nullptr ? &base_->instances_ : nullptr;
  if (frozen != nullptr) {
    writer.NoteOverflow(base_->overflow_);
    for (const auto& instance : *frozen) {
      writer.SizeInstance(instance->slots.size());
      for (const PackedSlot& slot : instance->slots)
        writer.SizeSlot(slot.query, slot.slot, slot.tuples, slot.payload.size());
    }
  }
  writer.NoteOverflow(overflow_);
  std::vector<std::string> encoded;  // of what is not kept encoded
  if (slots != 0) writer.SizeInstance(slots);
  for (const ActiveSlot& active : active_) {
    if (active.empty()) continue;
    size_t size = active.numbers.EncodedSize();
    if (active.numbers.empty()) {
      active.packed.Encode(active.rule, encoded.emplace_back());
      size = encoded.back().size();
    }
    writer.SizeSlot(active.query, active.slot, active.tuples(), size);
  }
  writer.Begin();
  if (frozen != nullptr) {
    for (const auto& instance : *frozen) {
      writer.PutInstance(instance->WireId(), instance->slots.size());
      for (const PackedSlot& slot : instance->slots) {
        char* const place = writer.PutSlot(slot.query, slot.slot, slot.tuples, slot.payload.size());
        std::memcpy(place, slot.payload.data(), slot.payload.size());
      }
    }
  } else if (base_ != nullptr) {
    writer.PutBytes(view_.instances);
  }
  if (slots == 0) return writer.Finish();
  if (sealed_ == 0) sealed_ = RandomId();
  writer.PutInstance(sealed_, slots);
  size_t next = 0;
  for (const ActiveSlot& active : active_) {
    if (active.empty()) continue;
    if (active.numbers.empty()) {
      const std::string& bytes = encoded[next++];
      std::memcpy(writer.PutSlot(active.query, active.slot, active.tuples(), bytes.size()),
                  bytes.data(), bytes.size());
    } else {
      active.numbers.Encode(
          writer.PutSlot(active.query, active.slot, active.tuples(), active.numbers.EncodedSize()));
    }
  }
  return writer.Finish();
}

HeaderTexts BaggageLine::Header(size_t room, int members) {
  if (active_.empty() && !overflow_.any())
    return base_ == nullptr ? HeaderTexts() : base_->Header(room, members);
  const std::string bytes = Serialize();
  if (bytes.size() <= BytesThatFit(room, members)) return ToHeader(bytes);
  return Freeze()->Header(room, members);
}

std::shared_ptr<const BaggageSnapshot> BaggageLine::Freeze() {
  if (active_.empty() && !overflow_.any()) return base_;
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
    active.OnlyPacked();
    PackedTuples tuples;
    if (PackedTuples::Decode(frozen.rule, frozen.payload, tuples))
      active.packed.Merge(active.rule, tuples);
    active.packed_bytes_at_most += frozen.payload.size();
  }
}

void BaggageLine::Join(std::shared_ptr<const BaggageSnapshot> other) {
  if (other == nullptr || other == base_) return;
  BaggageLine theirs(std::move(other));  // claims the name, if nobody went on from it
  theirs.Read();
  overflow_.Add(theirs.overflow_);
  if (theirs.base_ == nullptr) return;
  Read();
  if (base_ == nullptr && active_.empty()) {
    base_ = std::move(theirs.base_);
    read_ = true;
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
