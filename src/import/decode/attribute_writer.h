// AttributeWriter: packed attributes into a batch's arena, as fast as the wire allows.
//
// Spans of one kind carry the same keys in the same order. So the writer remembers, per place and position,
// the last key and the action of the rules for it; a repeated key costs one comparison and no hashing. Texts
// are checked to be UTF-8 and repaired (counted) where they are not.
//
// Use, for one attribute: w.Begin(key); write one value with the Put functions…; w.End();
// Values may also be packed by hand into batch().bytes between Begin and End.
//
// Thread safety: none. The batch, options and report must outlive the writer. No other code may intern texts
// at a code that this writer remembers, which StringTable guarantees (codes never change).
#pragma once

#include <string_view>
#include <vector>

#include "import/decode/attribute_rules.h"
#include "import/decode/decode_report.h"
#include "model/event_batch.h"

namespace wf::decode {

// Keys under this prefix carry what OTLP has no field for (see otlp_encoder.h); only the OTLP decoder gives them
// meaning.
constexpr std::string_view kRowKeyPrefix = "wherefore.row.";

// True for a text without any byte above 0x7F, as most texts are; takes a few nanoseconds.
inline bool IsAscii(std::string_view text) {
  constexpr uint64_t kHigh = 0x8080808080808080ull;
  const char* p = text.data();
  size_t n = text.size();
  uint64_t seen = 0, word = 0;
  if (n < 8) {
    for (size_t i = 0; i < n; ++i) seen |= static_cast<unsigned char>(p[i]);
    return (seen & 0x80) == 0;
  }
  for (; n > 8; n -= 8, p += 8) {
    std::memcpy(&word, p, 8);
    seen |= word;
  }
  std::memcpy(&word, p + n - 8, 8);  // overlaps what was read: the text has at least eight bytes
  return ((seen | word) & kHigh) == 0;
}

class AttributeWriter {
 public:
  AttributeWriter(EventBatch& batch, const DecodeOptions& options, DecodeReport& report)
      : batch_(batch), options_(options), report_(report) {}

  EventBatch& batch() { return batch_; }
  DecodeReport& report() { return report_; }
  const DecodeOptions& options() const { return options_; }

  // The following attributes are at this place.
  void StartList(AttributePlace place) {
    place_ = place;
    position_ = 0;
  }

  void Begin(std::string_view key) {
    mark_ = batch_.bytes.size();
    std::vector<Slot>& slots = slots_[static_cast<size_t>(place_)];
    if (position_ < slots.size()) {
      const Slot& slot = slots[position_];
      if (batch_.strings.At(slot.code) == key) {
        ++position_;
        current_ = slot;
        PutVarint(slot.code, batch_.bytes);
        return;
      }
    }
    BeginSlow(key);
  }
  // Applies the rules to the attribute just written.
  void End() {
    if (current_.action != AttributeAction::kKeep) EndSlow();
  }
  // The attribute just written bears a key with kRowKeyPrefix.
  bool is_row_key() const { return current_.row_key; }
  size_t mark() const { return mark_; }  // where the attribute just written begins in the arena

  // Values.
  void PutText(std::string_view text, ValueType type = ValueType::kString) {
    if (type == ValueType::kString && !IsAscii(text)) return PutTextSlow(text);
    PutString(text, batch_.bytes, type);
  }
  void PutNull() { batch_.bytes.push_back(static_cast<char>(ValueType::kNull)); }

  // Whole attributes.
  void Text(std::string_view key, std::string_view text, ValueType type = ValueType::kString) {
    Begin(key);
    PutText(text, type);
    End();
  }
  void Int(std::string_view key, int64_t value) {
    Begin(key);
    wf::PutInt(value, batch_.bytes);
    End();
  }
  void Bool(std::string_view key, bool value) {
    Begin(key);
    wf::PutBool(value, batch_.bytes);
    End();
  }
  void Double(std::string_view key, double value) {
    Begin(key);
    wf::PutDouble(value, batch_.bytes);
    End();
  }

  // A text of the batch's table, repaired when it is not UTF-8.
  uint32_t Intern(std::string_view text) {
    return IsAscii(text) ? batch_.strings.Intern(text) : InternSlow(text);
  }

  // Arrays and maps carry their length in front. OpenNested writes the type; CloseNested sets the length of
  // everything written since.
  size_t OpenNested(ValueType type) {
    batch_.bytes.push_back(static_cast<char>(type));
    return OpenLength();
  }
  size_t OpenLength() {
    batch_.bytes.push_back(0);
    return batch_.bytes.size();
  }
  void CloseNested(size_t content_begin);
  void PutMapKey(std::string_view key);

 private:
  struct Slot {
    uint32_t code = 0;
    AttributeAction action = AttributeAction::kKeep;
    bool row_key = false;
  };

  void BeginSlow(std::string_view key);
  void EndSlow();
  void PutTextSlow(std::string_view text);
  uint32_t InternSlow(std::string_view text);

  EventBatch& batch_;
  const DecodeOptions& options_;
  DecodeReport& report_;
  AttributePlace place_ = AttributePlace::kSpan;
  size_t position_ = 0;
  size_t mark_ = 0;
  Slot current_;
  std::vector<Slot> slots_[kAttributePlaces];
  std::vector<uint8_t> actions_[kAttributePlaces];  // by key code: action + 1; 0 = unknown yet
};

// Ends a process begun at arena offset `attrs_begin`: finds its service (service.name) and host (the first
// present of host.id, host.name, hostname, ip: the clock contract's order) among the attributes written, and
// returns its index. A process equal to one of the last few is reused.
uint32_t FinishProcess(EventBatch& batch, uint32_t attrs_begin);
uint32_t FinishScope(EventBatch& batch, uint32_t name, uint32_t version, uint32_t attrs_begin);

// The state of a batch, to undo what a rejected request has appended.
struct BatchMark {
  explicit BatchMark(const EventBatch& batch)
      : rows(batch.size()),
        bytes(batch.bytes.size()),
        processes(batch.processes.size()),
        scopes(batch.scopes.size()) {}
  void RollBack(EventBatch& batch) const;
  size_t rows, bytes, processes, scopes;
};

}  // namespace wf::decode
