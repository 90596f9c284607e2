// Branches of a request inside the process: freezing, going on from what was frozen, and joining.
#include <algorithm>
#include <utility>

#include "client/baggage/baggage_line.h"

namespace wherefore::client {

using wf::advice::PackedTuples;

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
  instance->id.store(sealed, std::memory_order_relaxed);
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
  if (sealed_ != 0) KeepSent();
  // What was sent, or received, comes back as it was: most who are called pack nothing.
  if (bytes == (sent_is_all_ ? sent_.view() : actives_ == 0 ? own_.view() : std::string_view()))
    return;
  BaggageView theirs;
  if (!Accept(ReadBaggage(bytes, theirs), overflow_)) {
    sent_is_all_ = false;
    return;
  }
  // An answer to what was sent, with what was packed on the way: it holds all that is here.
  if (BaggageView sent; sealed_ != 0 && sent_is_all_ &&
                        ReadFrame(sent_.view(), sent) == BaggageRead::kWhole &&
                        BeginsWith(theirs, sent) && name_.origin == 0) {
    spare_.Assign(bytes);
    theirs.MoveTo(spare_.view().data(), bytes.data());
    GiveUpActive();
    View(spare_, theirs);
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
