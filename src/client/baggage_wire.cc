#include "client/baggage_wire.h"

#include <algorithm>
#include <cstring>

#include "client/block_id.h"
#include "client/varint.h"

namespace wherefore::client {
namespace {

constexpr char kVersion = 1;
constexpr uint8_t kLost = 1;        // of the whole
constexpr uint8_t kOverflowed = 1;  // of a query
constexpr size_t kIdBytes = 8;
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

// The queries of some instances, each once, in the order of their first slot.
class QueryTable {
 public:
  size_t IndexOf(uint64_t query) {
    for (size_t i = 0; i < queries_.size(); ++i) {
      if (queries_[i] == query) return i;
    }
    queries_.push_back(query);
    return queries_.size() - 1;
  }
  const std::vector<uint64_t>& queries() const { return queries_; }

 private:
  std::vector<uint64_t> queries_;
};

bool TakeSlot(std::string_view& from, const std::vector<uint64_t>& queries, Instance& instance) {
  uint64_t query, slot, tuples, size;
  if (!TakeVarint(from, query) || !TakeVarint(from, slot) || !TakeVarint(from, tuples) ||
      !TakeVarint(from, size)) {
    return false;
  }
  if (query >= queries.size() || slot >= kMaxBaggageSlots || tuples > kMaxTuples ||
      size > from.size()) {
    return false;
  }
  for (const PackedSlot& other : instance.slots) {
    if (other.query == queries[query] && other.slot == slot) return false;
  }
  PackedSlot& packed = instance.slots.emplace_back();
  packed.query = queries[query];
  packed.slot = static_cast<uint32_t>(slot);
  packed.tuples = static_cast<uint32_t>(tuples);
  packed.payload = from.substr(0, size);
  from.remove_prefix(size);
  return true;
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

std::string EncodeBaggage(const InstanceList& instances, const Overflow& overflow) {
  std::string bytes;
  if (instances.empty() && !overflow.any()) return bytes;
  QueryTable table;
  size_t size = 0;
  for (const auto& instance : instances) {
    size += kIdBytes + VarintSize(instance->slots.size());
    for (const PackedSlot& slot : instance->slots) {
      size += VarintSize(table.IndexOf(slot.query)) + VarintSize(slot.slot) +
              VarintSize(slot.tuples) + VarintSize(slot.payload.size()) + slot.payload.size();
    }
  }
  for (const uint64_t query : overflow.queries) table.IndexOf(query);
  const size_t queries = table.queries().size();
  size += VarintSize(queries) + queries * (kIdBytes + 1);
  bytes.resize(2 + VarintSize(size) + size);
  char* at = bytes.data();
  *at++ = kVersion;
  *at++ = static_cast<char>(overflow.unknown ? kLost : 0);
  at = PutVarint(size, at);
  at = PutVarint(queries, at);
  for (const uint64_t query : table.queries()) {
    at = PutId(query, at);
    *at++ = static_cast<char>(overflow.Has(query) ? kOverflowed : 0);
  }
  for (const auto& instance : instances) {
    at = PutId(instance->WireId(), at);
    at = PutVarint(instance->slots.size(), at);
    for (const PackedSlot& slot : instance->slots) {
      at = PutVarint(table.IndexOf(slot.query), at);
      at = PutVarint(slot.slot, at);
      at = PutVarint(slot.tuples, at);
      at = PutVarint(slot.payload.size(), at);
      std::memcpy(at, slot.payload.data(), slot.payload.size());
      at += slot.payload.size();
    }
  }
  return bytes;
}

bool DecodeBaggage(std::shared_ptr<const std::string> memory, InstanceList& instances,
                   Overflow& overflow) {
  std::string_view from = *memory;
  uint64_t size, queries;
  if (from.size() < 3 || from.size() > kMaxBaggageBytes || from[0] != kVersion) return false;
  Overflow lost;
  lost.unknown = (static_cast<uint8_t>(from[1]) & kLost) != 0;
  from.remove_prefix(2);
  if (!TakeVarint(from, size) || size < from.size()) return false;
  if (size > from.size()) {  // somebody on the way has left our second member out
    instances.clear();
    overflow = Overflow();
    overflow.unknown = true;
    return true;
  }
  if (!TakeVarint(from, queries) || queries > kMaxBaggageQueries) return false;
  std::vector<uint64_t> table;
  table.reserve(queries);
  for (uint64_t i = 0; i < queries; ++i) {
    uint64_t query;
    if (!TakeId(from, query) || from.empty()) return false;
    if (std::find(table.begin(), table.end(), query) != table.end()) return false;
    table.push_back(query);
    if ((static_cast<uint8_t>(from.front()) & kOverflowed) != 0) lost.Add(query);
    from.remove_prefix(1);
  }
  InstanceList decoded;
  while (!from.empty()) {
    if (decoded.size() == kMaxBaggageInstances) return false;
    auto instance = std::make_shared<Instance>();
    uint64_t id, slots;
    if (!TakeId(from, id) || id == 0 || !TakeVarint(from, slots)) return false;
    for (const auto& other : decoded) {
      if (other->id.load(std::memory_order_relaxed) == id) return false;
    }
    instance->id.store(id, std::memory_order_relaxed);
    if (slots > from.size()) return false;
    instance->slots.reserve(slots);
    for (uint64_t i = 0; i < slots; ++i) {
      if (!TakeSlot(from, table, *instance)) return false;
    }
    instance->memory = memory;
    decoded.push_back(std::move(instance));
  }
  instances = std::move(decoded);
  overflow = std::move(lost);
  return true;
}

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
