// What the rows of one segment share: texts, processes, scopes, attribute layouts and shapes (store/table.h), and
// the clock exchanges gathered while writing it.
//
// A *layout* lists a row's attributes in order: key, type and the column that holds the value. Values that found no
// column stand one after another in `more`. Layout 0 is loose: keys and values both stand in `more`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/clock.h"
#include "model/event_batch.h"
#include "store/table.h"

namespace wf::store::duckdb {

// How a value is stored: a ValueType, or a text that a number says: 16 lower-case hex digits (ids) cost 8 bytes and no
// compression work as a number, 16 and a lot as text.
enum class StoredType : uint8_t { kHex16 = 100 };

constexpr uint8_t kNoColumn = 0xFF;   // the value stands in `more`
constexpr size_t kMaxLayouts = 4096;  // of a segment; further rows are loose

struct LayoutEntry {
  uint32_t key = 0;  // code in SegmentDictionary::base.strings
  uint8_t type = 0;  // ValueType or StoredType
  uint8_t column = kNoColumn;
  bool operator==(const LayoutEntry&) const = default;
};
using Layout = std::vector<LayoutEntry>;

struct Shape {
  uint32_t process = 0, scope = 0, name = 0, layout = 0, flags = 0;
  uint8_t type = 0, kind = 0, status = 0, parent_ref = 0, marks = 0, source = 0;
  bool operator==(const Shape&) const = default;
};

struct SegmentDictionary {
  EventBatch base;  // texts, processes and scopes; no rows
  std::vector<Layout> layouts{Layout{}};
  std::vector<Shape> shapes;
  std::vector<uint32_t> loose_keys;  // keys of attributes in loose rows
  std::vector<Nanos> receipts;       // the distinct times of receipt, in order
  std::vector<ClockExchange> exchanges;

  size_t MemoryBytes() const;
};

// Everything but the shapes, which have a table of their own.
void SerializeDictionary(const SegmentDictionary& dictionary, std::string& out);
Result<SegmentDictionary> DeserializeDictionary(std::string_view bytes);

// 16 lower-case hex digits?
bool ParseHex16(std::string_view text, uint64_t& out);
void AppendHex16(uint64_t value, std::string& out);

}  // namespace wf::store::duckdb
