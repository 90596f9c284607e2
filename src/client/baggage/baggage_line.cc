// What comes and what goes: receiving, looking into it, sending.
#include "client/baggage/baggage_line.h"

#include <cstring>
#include <utility>

#include "client/baggage/baggage_counts.h"

namespace wherefore::client {

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
    Counts().cut.fetch_add(1, std::memory_order_relaxed);
  } else {
    Counts().rejected.fetch_add(1, std::memory_order_relaxed);
  }
  return false;
}

// From here on what is frozen can be looked into.
void BaggageLine::ReadNow() {
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

size_t BaggageLine::instances() {
  Read();
  if (!viewed_) return base_ == nullptr ? 0 : base_->instances_.size();
  size_t count = 0;
  SlotCursor cursor(view_);
  SlotView slot;
  for (uint64_t last = 0; cursor.Next(slot); last = slot.instance) count += slot.instance != last;
  return count;
}

// The same without objects: what was sent takes the place of what it was made of. Of an instance with a name on the wire
// nobody needs to know which branch packed it.
void BaggageLine::EndByBytes() {
  KeepSent();
  BaggageView seen;
  if (ReadBaggage(sent_.view(), seen) != BaggageRead::kWhole) {  // more than may travel
    Freeze();
    return;
  }
  View(sent_, seen);
  GiveUpActive();
}

void BaggageLine::GiveUpActive() {
  for (size_t i = 0; i < actives_; ++i) active_[i].Clear();
  actives_ = 0;
  sealed_ = 0;
  sent_is_all_ = false;
}

// Where so many bytes go: to the end of `message`, or where they are kept.
inline char* BaggageLine::Room(std::string* message, size_t size) {
  if (message == nullptr) return sent_.Resize(size);
  const size_t before = message->size();
  message->resize(before + size);
  return message->data() + before;
}

// What nearly all send: what came, if anything did, and a few slots.
bool BaggageLine::EncodeFew(std::string* message) {
  if (actives_ > kFewSlots || overflow_.any() || (base_ != nullptr && !viewed_)) return false;
  SlotToWrite slots[kFewSlots];
  ActiveSlot* actives[kFewSlots];
  size_t count = 0;
  for (size_t i = 0; i < actives_; ++i) {
    ActiveSlot& active = active_[i];
    if (active.empty()) continue;
    slots[count] = {active.query, active.slot, active.tuples(), active.EncodedSize(), nullptr};
    actives[count++] = &active;
  }
  if (count == 0) return false;
  FewSlotsWriter writer;
  const size_t size = writer.Size(viewed_ ? &view_ : nullptr, slots, count);
  if (size == 0) return false;
  if (sealed_ == 0) sealed_ = RandomId();
  writer.Write(sealed_, Room(message, size));
  for (size_t i = 0; i < count; ++i) actives[i]->Encode(slots[i].place);
  return true;
}

// Sending seals the active instance, and leaves it where it is: most requests that send pack no more, and then nothing
// has to be made of it.
void BaggageLine::Encode(std::string* message) {
  Read();
  if (EncodeFew(message)) return;
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
  writer.Begin(Room(message, writer.size()));
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

void BaggageLine::KeepSent() {
  if (sent_is_all_) return;
  Encode(nullptr);
  sent_is_all_ = true;
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
  KeepSent();
  message.append(sent_.view());
}

// Who has the bytes as a string mostly waits for no answer as bytes: they are not kept, and made again if one comes.
std::string BaggageLine::Serialize() {
  std::string bytes;
  if (sent_is_all_ || (!overflow_.any() && !AnyActive())) {
    AppendTo(bytes);
  } else {
    Encode(&bytes);
  }
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

}  // namespace wherefore::client
