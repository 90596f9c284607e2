#include "client/baggage/baggage_wire.h"

#include <algorithm>
#include <cstring>

#include "client/runtime/block_id.h"
#include "client/runtime/varint.h"

namespace wherefore::client {
namespace {

constexpr char kVersion = 1;
constexpr uint8_t kLost = 1;        // of the whole
constexpr uint8_t kOverflowed = 1;  // of a query
constexpr size_t kIdBytes = 8;
constexpr uint64_t kTwoBytes = 0x80;  // from here on a varint has more than one
// Only limits are held to it, so a sender that lies harms its own query.
constexpr uint64_t kMaxTuples = 1 << 20;

char* PutId(uint64_t id, char* at) {
  std::memcpy(at, &id, kIdBytes);  // little endian, as every machine we run on
  return at + kIdBytes;
}

bool TakeId(std::string_view& from, uint64_t& id) {
  if (from.size() < kIdBytes) return false;
  std::memcpy(&id, from.data(), kIdBytes);
  from.remove_prefix(kIdBytes);
  return true;
}

[[gnu::always_inline]] inline bool TakeSlotHere(std::string_view& from, size_t queries,
                                                SlotView& view) {
  uint64_t query, slot, tuples, size;
  uint32_t four;
  if (from.size() >= sizeof four && (std::memcpy(&four, from.data(), sizeof four),
                                     (four & 0x80808080u) == 0)) {  // nearly all: a byte each
    query = four & 0xFF;
    slot = four >> 8 & 0xFF;
    tuples = four >> 16 & 0xFF;
    size = four >> 24;
    from.remove_prefix(sizeof four);
  } else if (!TakeVarint(from, query) || !TakeVarint(from, slot) || !TakeVarint(from, tuples) ||
             !TakeVarint(from, size)) {
    return false;
  }
  if (query >= queries || slot >= kMaxBaggageSlots || tuples > kMaxTuples || size > from.size())
    return false;
  view.query = query;
  view.slot = static_cast<uint32_t>(slot);
  view.tuples = static_cast<uint32_t>(tuples);
  view.data = from.data();
  view.size = size;
  from.remove_prefix(size);
  return true;
}

bool TakeSlot(std::string_view& from, size_t queries, SlotView& view) {
  return TakeSlotHere(from, queries, view);
}

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int DigitOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '-' ? 62 : c == '_' ? 63 : -1;
}

std::string ToBase64(std::string_view bytes) {
  std::string text((bytes.size() * 4 + 2) / 3, '\0');
  size_t at = 0;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text[at++] = kAlphabet[bits >> (count - 6) & 63];
  }
  if (count != 0) text[at++] = kAlphabet[bits << (6 - count) & 63];
  return text;
}

bool FromBase64(std::string_view text, std::string& bytes) {
  if (text.size() % 4 == 1) return false;
  bytes.reserve(bytes.size() + text.size() * 3 / 4);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = DigitOf(c);
    if (digit < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return (bits & ((1u << count) - 1)) == 0;  // one text for the same bytes
}

// Whole groups of four digits, so that both members decode by themselves.
constexpr size_t kMostDigits = (kMaxBaggageMember - 4) / 4 * 4;
static_assert(kMostDigits + kBaggageMember2.size() + 1 <= kMaxBaggageMember, "fits with its name");

}  // namespace

uint64_t RandomId() {
  uint64_t id = NewBlockId();
  while (id == 0) id = NewBlockId();
  return id;
}

uint64_t Instance::WireId() const {
  uint64_t known = id.load(std::memory_order_acquire);
  if (known != 0) return known;
  const uint64_t fresh = RandomId();
  return id.compare_exchange_strong(known, fresh, std::memory_order_acq_rel) ? fresh : known;
}

bool Overflow::Has(uint64_t query) const {
  return std::find(queries.begin(), queries.end(), query) != queries.end();
}

bool Overflow::Add(uint64_t query) {
  if (Has(query)) return false;
  queries.push_back(query);
  return true;
}

void Overflow::Add(const Overflow& other) {
  for (const uint64_t query : other.queries) Add(query);
  unknown = unknown || other.unknown;
}

// --- Reading

BaggageView& BaggageView::operator=(const BaggageView& other) {
  lost = other.lost;
  any_overflowed = other.any_overflowed;
  table = other.table;
  instances = other.instances;
  slots = other.slots;
  for (size_t i = 0; i < slots && i < kNoted; ++i) noted[i] = other.noted[i];
  return *this;
}

bool BaggageView::overflowed(size_t index) const {
  return (static_cast<uint8_t>(table[index * kTableEntry + kIdBytes]) & kOverflowed) != 0;
}

size_t BaggageView::Find(uint64_t id) const {
  size_t index = 0;
  while (index < queries() && query(index) != id) ++index;
  return index;
}

void BaggageView::MoveTo(const char* copy, const char* original) {
  const auto move = [&](std::string_view& part) {
    part = {copy + (part.data() - original), part.size()};
  };
  move(table);
  move(instances);
  for (size_t i = 0; i < slots && i < kNoted; ++i)
    noted[i].data = copy + (noted[i].data - original);
}

BaggageRead ReadFrame(std::string_view bytes, BaggageView& view) {
  std::string_view from = bytes;
  uint64_t size, queries;
  if (from.size() < 3 || from.size() > kMaxBaggageBytes || from[0] != kVersion)
    return BaggageRead::kMalformed;
  view.lost = (static_cast<uint8_t>(from[1]) & kLost) != 0;
  from.remove_prefix(2);
  if (!TakeVarint(from, size) || size < from.size()) return BaggageRead::kMalformed;
  if (size > from.size()) return BaggageRead::kCut;
  if (!TakeVarint(from, queries) || queries > kMaxBaggageQueries ||
      queries * BaggageView::kTableEntry > from.size()) {
    return BaggageRead::kMalformed;
  }
  view.table = from.substr(0, queries * BaggageView::kTableEntry);
  view.instances = from.substr(view.table.size());
  return BaggageRead::kWhole;
}

BaggageRead ReadBaggage(std::string_view bytes, BaggageView& view) {
  if (const BaggageRead frame = ReadFrame(bytes, view); frame != BaggageRead::kWhole) return frame;
  std::string_view from = view.instances;
  const size_t queries = view.queries();
  view.slots = 0;
  view.any_overflowed = false;
  for (size_t i = 0; i < queries; ++i) {
    const uint64_t query = view.query(i);
    for (size_t k = 0; k < i; ++k) {
      if (view.query(k) == query) return BaggageRead::kMalformed;
    }
    view.any_overflowed = view.any_overflowed || view.overflowed(i);
  }
  uint64_t ids[kMaxBaggageInstances];
  for (size_t instances = 0; !from.empty(); ++instances) {
    uint64_t id, slots;
    if (instances == kMaxBaggageInstances || !TakeId(from, id) || id == 0 ||
        !TakeVarint(from, slots)) {
      return BaggageRead::kMalformed;
    }
    for (size_t i = 0; i < instances; ++i) {
      if (ids[i] == id) return BaggageRead::kMalformed;
    }
    ids[instances] = id;
    for (uint64_t i = 0; i < slots; ++i) {
      SlotView spare;
      SlotView& slot = view.slots < BaggageView::kNoted ? view.noted[view.slots] : spare;
      if (!TakeSlotHere(from, queries, slot)) return BaggageRead::kMalformed;
      slot.instance = id;
      ++view.slots;
    }
  }
  return BaggageRead::kWhole;
}

bool SlotCursor::Next(SlotView& slot) {
  while (left_ == 0) {
    if (!TakeId(rest_, instance_) || !TakeVarint(rest_, left_)) return false;
  }
  --left_;
  slot.instance = instance_;
  return TakeSlot(rest_, kMaxBaggageQueries, slot);
}

InstanceList ToInstances(const BaggageView& view,
                         const std::shared_ptr<const std::string>& memory) {
  InstanceList instances;
  std::shared_ptr<Instance> instance;
  SlotCursor cursor(view);
  SlotView slot;
  while (cursor.Next(slot)) {
    if (instance == nullptr || instance->id.load(std::memory_order_relaxed) != slot.instance) {
      instance = std::make_shared<Instance>();
      instance->id.store(slot.instance, std::memory_order_relaxed);
      instance->memory = memory;
      instances.push_back(instance);
    }
    PackedSlot packed;
    packed.query = view.query(slot.query);
    packed.slot = slot.slot;
    packed.tuples = slot.tuples;
    packed.payload = slot.payload();
    instance->slots.push_back(std::move(packed));
  }
  return instances;
}

Overflow OverflowOf(const BaggageView& view) {
  Overflow overflow;
  overflow.unknown = view.lost;
  for (size_t i = 0; i < view.queries(); ++i) {
    if (view.overflowed(i)) overflow.Add(view.query(i));
  }
  return overflow;
}

// --- Comparing and changing

namespace {

bool StartsWith(std::string_view text, std::string_view start) {
  return text.size() >= start.size() &&
         (start.empty() || std::memcmp(text.data(), start.data(), start.size()) == 0);
}

// use(id, slots, bytes of the slots), of bytes that ReadBaggage has accepted; until it says no.
template <typename Use>
void ForEachInstance(const BaggageView& view, Use use) {
  std::string_view rest = view.instances;
  uint64_t id, slots;
  while (TakeId(rest, id) && TakeVarint(rest, slots)) {
    const std::string_view begin = rest;
    SlotView slot;
    for (uint64_t i = 0; i < slots; ++i) TakeSlot(rest, kMaxBaggageQueries, slot);
    if (!use(id, slots, begin.substr(0, begin.size() - rest.size()))) return;
  }
}

bool HasInstance(const BaggageView& view, uint64_t wanted) {
  bool found = false;
  ForEachInstance(view, [&](uint64_t id, uint64_t, std::string_view) {
    found = id == wanted;
    return !found;
  });
  return found;
}

}  // namespace

bool BeginsWith(const BaggageView& more, const BaggageView& less) {
  return StartsWith(more.table, less.table) && StartsWith(more.instances, less.instances) &&
         (more.lost || !less.lost);
}

bool Unite(const BaggageView& a, const BaggageView& b, ByteBuffer& out) {
  size_t instances = 0;
  ForEachInstance(a, [&](uint64_t, uint64_t, std::string_view) { return ++instances != 0; });
  BaggageWriter writer(&a);
  Overflow lost;
  lost.unknown = b.lost;
  writer.NoteOverflow(lost);
  for (size_t i = 0; i < b.queries(); ++i) {
    if (!b.overflowed(i)) continue;
    Overflow one;
    one.Add(b.query(i));
    writer.NoteOverflow(one);
  }
  SlotView slot;
  ForEachInstance(b, [&](uint64_t id, uint64_t slots, std::string_view bytes) {
    if (HasInstance(a, id)) return true;
    ++instances;
    writer.SizeInstance(slots);
    for (uint64_t i = 0; i < slots && TakeSlot(bytes, kMaxBaggageQueries, slot); ++i)
      writer.SizeSlot(b.query(slot.query), slot.slot, slot.tuples, slot.size);
    return true;
  });
  if (instances > kMaxBaggageInstances || writer.size() > kMaxBaggageBytes ||
      writer.queries() > kMaxBaggageQueries) {
    return false;
  }
  writer.Begin(out.Resize(writer.size()));
  writer.PutBytes(a.instances);
  ForEachInstance(b, [&](uint64_t id, uint64_t slots, std::string_view bytes) {
    if (HasInstance(a, id)) return true;
    writer.PutInstance(id, slots);
    for (uint64_t i = 0; i < slots && TakeSlot(bytes, kMaxBaggageQueries, slot); ++i) {
      char* const place = writer.PutSlot(b.query(slot.query), slot.slot, slot.tuples, slot.size);
      if (slot.size != 0) std::memcpy(place, slot.data, slot.size);
    }
    return true;
  });
  return true;
}

void LeaveOut(const BaggageView& view, uint64_t query, uint32_t unwanted, ByteBuffer& out) {
  const size_t index = view.Find(query);
  // The slots that stay, of one instance: their number, and to `put` their bytes.
  const auto kept = [&](uint64_t slots, std::string_view bytes, auto put) {
    uint64_t stay = 0;
    for (uint64_t i = 0; i < slots; ++i) {
      const std::string_view begin = bytes;
      SlotView slot;
      TakeSlot(bytes, kMaxBaggageQueries, slot);
      if (slot.query == index && slot.slot == unwanted) continue;
      put(begin.substr(0, begin.size() - bytes.size()));
      ++stay;
    }
    return stay;
  };
  size_t size = VarintSize(view.queries()) + view.table.size();
  ForEachInstance(view, [&](uint64_t, uint64_t slots, std::string_view bytes) {
    size_t of_slots = 0;
    const uint64_t stay =
        kept(slots, bytes, [&](std::string_view slot) { of_slots += slot.size(); });
    if (stay != 0) size += kIdBytes + VarintSize(stay) + of_slots;
    return true;
  });
  char* at = out.Resize(2 + VarintSize(size) + size);
  *at++ = kVersion;
  *at++ = static_cast<char>(view.lost ? kLost : 0);
  at = PutVarint(size, at);
  at = PutVarint(view.queries(), at);
  const auto put = [&](std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    at += bytes.size();
  };
  put(view.table);
  ForEachInstance(view, [&](uint64_t id, uint64_t slots, std::string_view bytes) {
    const uint64_t stay = kept(slots, bytes, [](std::string_view) {});
    if (stay == 0) return true;
    at = PutId(id, at);
    at = PutVarint(stay, at);
    kept(slots, bytes, put);
    return true;
  });
}

// --- Writing

size_t FewSlotsWriter::Size(const BaggageView* before, SlotToWrite* slots, size_t count) {
  if (before != nullptr) {
    if (before->lost || before->any_overflowed) return 0;
    table_ = before->table;
    instances_ = before->instances;
  }
  slots_ = slots;
  count_ = count;
  const size_t known = table_.size() / BaggageView::kTableEntry;
  size_t queries = known;
  size_t body = 1 + instances_.size() + kIdBytes + 1 + 3 * count;
  for (size_t i = 0; i < count; ++i) {
    const SlotToWrite& slot = slots[i];
    size_t at = known == 0 ? 0 : before->Find(slot.query);
    while (at >= known && at < queries && fresh_[at - known] != slot.query) ++at;
    if (at == queries) fresh_[queries++ - known] = slot.query;
    if ((slot.slot | slot.tuples) >= kTwoBytes) return 0;  // nearly all need one byte each
    index_[i] = static_cast<uint8_t>(at);
    body += VarintSize(slot.payload) + slot.payload;
  }
  if (queries >= kTwoBytes) return 0;
  queries_ = queries;
  body_ = body + queries * BaggageView::kTableEntry;
  return 2 + VarintSize(body_) + body_;
}

void FewSlotsWriter::Write(uint64_t id, char* at) const {
  *at++ = kVersion;
  *at++ = 0;
  at = PutVarint(body_, at);
  *at++ = static_cast<char>(queries_);
  const size_t known = table_.size() / BaggageView::kTableEntry;
  if (known != 0) {
    std::memcpy(at, table_.data(), table_.size());
    at += table_.size();
  }
  for (size_t i = 0; i < queries_ - known; ++i) {
    at = PutId(fresh_[i], at);
    *at++ = 0;
  }
  if (!instances_.empty()) {
    std::memcpy(at, instances_.data(), instances_.size());
    at += instances_.size();
  }
  at = PutId(id, at);
  *at++ = static_cast<char>(count_);
  for (size_t i = 0; i < count_; ++i) {
    *at++ = static_cast<char>(index_[i]);
    *at++ = static_cast<char>(slots_[i].slot);
    *at++ = static_cast<char>(slots_[i].tuples);
    at = PutVarint(slots_[i].payload, at);
    slots_[i].place = at;
    at += slots_[i].payload;
  }
}

BaggageWriter::BaggageWriter(const BaggageView* known) {
  if (known == nullptr) return;
  for (size_t i = 0; i < known->queries(); ++i) {
    IndexOf(known->query(i));
    if (known->overflowed(i)) overflow_.Add(known->query(i));
  }
  overflow_.unknown = known->lost;
  SizeBytes(known->instances.size());
}

size_t BaggageWriter::IndexOf(uint64_t query) {
  constexpr size_t kFirst = sizeof first_ / sizeof first_[0];
  const size_t near = std::min(queries_, kFirst);
  // They come in the same order once and again.
  if (next_ >= near) next_ = 0;
  if (next_ < near && first_[next_] == query) return next_++;
  for (size_t i = 0; i < near; ++i) {
    if (first_[i] == query) return i;
  }
  for (size_t i = 0; i < more_.size(); ++i) {
    if (more_[i] == query) return kFirst + i;
  }
  if (queries_ < kFirst) {
    first_[queries_] = query;
  } else {
    more_.push_back(query);
  }
  return queries_++;
}

void BaggageWriter::NoteOverflow(const Overflow& overflow) {
  overflow_.Add(overflow);
  for (const uint64_t query : overflow.queries) IndexOf(query);
}

void BaggageWriter::SizeInstance(size_t slots) { size_ += kIdBytes + VarintSize(slots); }

void BaggageWriter::SizeSlot(uint64_t query, uint32_t slot, uint32_t tuples, size_t payload) {
  size_ += VarintSize(IndexOf(query)) + VarintSize(slot) + VarintSize(tuples) +
           VarintSize(payload) + payload;
}

size_t BaggageWriter::Body() const {
  return size_ + VarintSize(queries_) + queries_ * BaggageView::kTableEntry;
}

size_t BaggageWriter::size() const {
  const size_t body = Body();
  return 2 + VarintSize(body) + body;
}

void BaggageWriter::Begin(char* at) {
  at_ = at;
  *at_++ = kVersion;
  *at_++ = static_cast<char>(overflow_.unknown ? kLost : 0);
  at_ = PutVarint(Body(), at_);
  at_ = PutVarint(queries_, at_);
  constexpr size_t kFirst = sizeof first_ / sizeof first_[0];
  for (size_t i = 0; i < queries_; ++i) {
    const uint64_t query = i < kFirst ? first_[i] : more_[i - kFirst];
    at_ = PutId(query, at_);
    *at_++ = static_cast<char>(overflow_.Has(query) ? kOverflowed : 0);
  }
}

void BaggageWriter::PutBytes(std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
  at_ += bytes.size();
}

void BaggageWriter::PutInstance(uint64_t id, size_t slots) {
  at_ = PutId(id, at_);
  at_ = PutVarint(slots, at_);
}

char* BaggageWriter::PutSlot(uint64_t query, uint32_t slot, uint32_t tuples, size_t payload) {
  at_ = PutVarint(IndexOf(query), at_);
  at_ = PutVarint(slot, at_);
  at_ = PutVarint(tuples, at_);
  at_ = PutVarint(payload, at_);
  char* const place = at_;
  at_ += payload;
  return place;
}

std::string EncodeBaggage(const InstanceList& instances, const Overflow& overflow) {
  if (instances.empty() && !overflow.any()) return {};
  BaggageWriter writer;
  writer.NoteOverflow(overflow);
  for (const auto& instance : instances) {
    writer.SizeInstance(instance->slots.size());
    for (const PackedSlot& slot : instance->slots)
      writer.SizeSlot(slot.query, slot.slot, slot.tuples, slot.payload.size());
  }
  std::string bytes(writer.size(), '\0');
  writer.Begin(bytes.data());
  for (const auto& instance : instances) {
    writer.PutInstance(instance->WireId(), instance->slots.size());
    for (const PackedSlot& slot : instance->slots) {
      char* const place = writer.PutSlot(slot.query, slot.slot, slot.tuples, slot.payload.size());
      std::memcpy(place, slot.payload.data(), slot.payload.size());
    }
  }
  return bytes;
}

// --- Header

size_t HeaderTexts::size() const {
  if (first.empty()) return 0;
  const size_t one = kBaggageMember.size() + 1 + first.size();
  return second.empty() ? one : one + 1 + kBaggageMember2.size() + 1 + second.size();
}

HeaderTexts ToHeader(std::string_view bytes) {
  HeaderTexts texts;
  if (bytes.size() > 2 * (kMostDigits / 4 * 3)) return texts;
  std::string text = ToBase64(bytes);
  if (text.size() > kMostDigits) {
    texts.second = text.substr(kMostDigits);
    text.resize(kMostDigits);
  }
  texts.first = std::move(text);
  return texts;
}

bool FromHeader(const HeaderTexts& texts, std::string& bytes) {
  bytes.clear();
  return FromBase64(texts.first, bytes) && FromBase64(texts.second, bytes);
}

size_t BytesThatFit(size_t room, int members) {
  const auto bytes_of = [](size_t digits) { return digits * 3 / 4; };
  const size_t name = kBaggageMember.size() + 1, name2 = 1 + kBaggageMember2.size() + 1;
  if (members < 1 || room <= name) return 0;
  room -= name;
  if (room <= kMostDigits || members < 2 || room <= kMostDigits + name2)
    return bytes_of(std::min(room, kMostDigits));
  return bytes_of(kMostDigits) + bytes_of(std::min(room - kMostDigits - name2, kMostDigits));
}

}  // namespace wherefore::client
