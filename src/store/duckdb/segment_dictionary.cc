#include "store/duckdb/segment_dictionary.h"

#include <algorithm>

namespace wf::store::duckdb {
namespace {

class DictionaryReader : public PackedReader {
 public:
  using PackedReader::Fixed64;
  using PackedReader::PackedReader;
  using PackedReader::Varint;
  bool Text(std::string_view& out) {
    uint64_t n;
    return Varint(n) && Bytes(n, out);
  }
  bool Code(uint32_t& out, size_t limit) {
    uint64_t n;
    if (!Varint(n) || n >= limit) return Fail();
    out = static_cast<uint32_t>(n);
    return true;
  }
};

void PutText(std::string_view text, std::string& out) {
  PutVarint(text.size(), out);
  out.append(text);
}

}  // namespace

size_t SegmentDictionary::MemoryBytes() const {
  size_t total = sizeof *this + base.MemoryBytes() + shapes.capacity() * sizeof(Shape) +
                 exchanges.capacity() * (sizeof(ClockExchange) + 32);
  for (const Layout& layout : layouts)
    total += sizeof layout + layout.capacity() * sizeof(LayoutEntry);
  return total;
}

void SerializeDictionary(const SegmentDictionary& d, std::string& out) {
  std::string base;
  SerializeBatch(d.base, base);
  PutText(base, out);
  PutVarint(d.layouts.size(), out);
  for (const Layout& layout : d.layouts) {
    PutVarint(layout.size(), out);
    for (const LayoutEntry& entry : layout) {
      PutVarint(entry.key, out);
      PutVarint(entry.type, out);
      PutVarint(entry.column, out);
    }
  }
  PutVarint(d.loose_keys.size(), out);
  for (uint32_t key : d.loose_keys) PutVarint(key, out);
  PutVarint(d.receipts.size(), out);
  for (Nanos receipt : d.receipts) PutFixed64(static_cast<uint64_t>(receipt), out);
  PutVarint(d.exchanges.size(), out);
  for (const ClockExchange& e : d.exchanges) {
    PutText(e.from_host, out);
    PutText(e.to_host, out);
    PutFixed64(static_cast<uint64_t>(e.window_ns), out);
    PutFixed64(static_cast<uint64_t>(e.least_ns), out);
    PutVarint(static_cast<uint64_t>(e.count), out);
  }
}

Result<SegmentDictionary> DeserializeDictionary(std::string_view bytes) {
  const Error bad = EnvironmentError("store: a segment's dictionary is malformed",
                                     "the part file is damaged; restore the store from a copy");
  DictionaryReader reader(bytes);
  SegmentDictionary d;
  std::string_view base;
  if (!reader.Text(base)) return bad;
  WF_ASSIGN(d.base, DeserializeBatch(base));
  const size_t strings = d.base.strings.size();
  uint64_t count, length;
  if (!reader.Varint(count) || count == 0 || count > bytes.size()) return bad;
  d.layouts.assign(count, {});
  for (Layout& layout : d.layouts) {
    if (!reader.Varint(length) || length > bytes.size()) return bad;
    layout.resize(length);
    for (LayoutEntry& entry : layout) {
      uint64_t type, column;
      if (!reader.Code(entry.key, strings)) return bad;
      if (!reader.Varint(type) || !reader.Varint(column)) return bad;
      entry.type = static_cast<uint8_t>(type);
      entry.column = static_cast<uint8_t>(column);
      if (entry.column != kNoColumn && entry.column >= kEventColumns) return bad;
    }
  }
  if (!reader.Varint(count) || count > bytes.size()) return bad;
  d.loose_keys.resize(count);
  for (uint32_t& key : d.loose_keys) {
    if (!reader.Code(key, strings)) return bad;
  }
  if (!reader.Varint(count) || count > bytes.size()) return bad;
  d.receipts.resize(count);
  for (Nanos& receipt : d.receipts) {
    uint64_t time;
    if (!reader.Fixed64(time)) return bad;
    receipt = static_cast<Nanos>(time);
  }
  if (!reader.Varint(count) || count > bytes.size()) return bad;
  d.exchanges.resize(count);
  for (ClockExchange& e : d.exchanges) {
    std::string_view from, to;
    uint64_t window, least, seen;
    if (!reader.Text(from) || !reader.Text(to) || !reader.Fixed64(window) ||
        !reader.Fixed64(least) || !reader.Varint(seen)) {
      return bad;
    }
    e = {std::string(from), std::string(to), static_cast<Nanos>(window), static_cast<Nanos>(least),
         static_cast<int64_t>(seen)};
  }
  return d;
}

bool ParseHex16(std::string_view text, uint64_t& out) {
  if (text.size() != 16) return false;
  uint64_t value = 0;
  for (char c : text) {
    uint64_t digit;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return false;
    }
    value = value << 4 | digit;
  }
  out = value;
  return true;
}

void AppendHex16(uint64_t value, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[value >> shift & 15]);
}

}  // namespace wf::store::duckdb
