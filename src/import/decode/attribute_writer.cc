#include "import/decode/attribute_writer.h"

#include "base/utf8.h"

namespace wf::decode {
namespace {

// Positions beyond this are not predicted: a span of 10,000 attributes must not grow the slots for good.
constexpr size_t kMaxSlots = 128;
// How many earlier processes and scopes a new one is compared with. Requests come from one process, files of many
// requests from a handful in turn.
constexpr size_t kCompareBack = 32;

}  // namespace

void AttributeWriter::BeginSlow(std::string_view key) {
  Slot slot;
  slot.code = Intern(key);
  slot.row_key = key.substr(0, kRowKeyPrefix.size()) == kRowKeyPrefix;
  if (!options_.rules.empty()) {
    std::vector<uint8_t>& actions = actions_[static_cast<size_t>(place_)];
    if (actions.size() <= slot.code) actions.resize(slot.code + 64, 0);
    uint8_t& known = actions[slot.code];
    if (known == 0) {
      known =
          static_cast<uint8_t>(ActionFor(options_.rules, place_, batch_.strings.At(slot.code))) + 1;
    }
    slot.action = static_cast<AttributeAction>(known - 1);
  }
  std::vector<Slot>& slots = slots_[static_cast<size_t>(place_)];
  if (position_ < slots.size()) {
    slots[position_] = slot;
  } else if (position_ == slots.size() && position_ < kMaxSlots) {
    slots.push_back(slot);
  }
  ++position_;
  current_ = slot;
  PutVarint(slot.code, batch_.bytes);
}

void AttributeWriter::EndSlow() {
  if (current_.action == AttributeAction::kDrop) {
    batch_.bytes.resize(mark_);
    report_.Repair("attribute_dropped");
    return;
  }
  AttributeReader reader(std::string_view(batch_.bytes).substr(mark_));
  uint32_t code;
  Value value;
  reader.Next(code, value);
  const std::string hash = KeyedHashHex(ValueText(value), options_.hash_key);
  batch_.bytes.resize(mark_);
  PutVarint(code, batch_.bytes);
  PutString(hash, batch_.bytes);
  report_.Repair("attribute_hashed");
}

void AttributeWriter::PutTextSlow(std::string_view text) {
  if (IsUtf8(text)) return PutString(text, batch_.bytes);
  report_.Repair("bad_utf8");
  PutString(RepairUtf8(text), batch_.bytes);
}

uint32_t AttributeWriter::InternSlow(std::string_view text) {
  if (IsUtf8(text)) return batch_.strings.Intern(text);
  report_.Repair("bad_utf8");
  return batch_.strings.Intern(RepairUtf8(text));
}

void AttributeWriter::CloseNested(size_t content_begin) {
  std::string& bytes = batch_.bytes;
  const size_t length = bytes.size() - content_begin;
  if (length < 0x80) {
    bytes[content_begin - 1] = static_cast<char>(length);
    return;
  }
  std::string prefix;
  PutVarint(length, prefix);
  bytes.replace(content_begin - 1, 1, prefix);
}

void AttributeWriter::PutMapKey(std::string_view key) {
  if (!IsAscii(key) && !IsUtf8(key)) {
    report_.Repair("bad_utf8");
    const std::string repaired = RepairUtf8(key);
    PutVarint(repaired.size(), batch_.bytes);
    batch_.bytes.append(repaired);
    return;
  }
  PutVarint(key.size(), batch_.bytes);
  batch_.bytes.append(key);
}

uint32_t FinishProcess(EventBatch& batch, uint32_t attrs_begin) {
  static constexpr std::string_view kHostKeys[] = {"host.id", "host.name", "hostname", "ip"};
  std::string service, host;
  size_t host_rank = std::size(kHostKeys);
  AttributeReader reader(batch.Slice(attrs_begin, batch.ArenaSize()));
  uint32_t code;
  Value value;
  while (reader.Next(code, value)) {
    const std::string_view key = batch.str(code);
    if (key == "service.name" && service.empty()) service = ValueText(value);
    for (size_t rank = 0; rank < host_rank; ++rank) {
      if (key != kHostKeys[rank]) continue;
      std::string text = ValueText(value);
      if (text.empty()) break;
      host = std::move(text);
      host_rank = rank;
    }
  }
  Process process{batch.strings.Intern(service), batch.strings.Intern(host), attrs_begin,
                  batch.ArenaSize()};
  const std::string_view packed = batch.Slice(attrs_begin, batch.ArenaSize());
  const size_t known = batch.processes.size();
  for (size_t i = known; i > 0 && i + kCompareBack > known; --i) {
    const Process& p = batch.processes[i - 1];
    if (p.service == process.service && p.host == process.host &&
        batch.Slice(p.attrs_begin, p.attrs_end) == packed) {
      batch.bytes.resize(attrs_begin);
      return static_cast<uint32_t>(i - 1);
    }
  }
  batch.processes.push_back(process);
  return static_cast<uint32_t>(known);
}

uint32_t FinishScope(EventBatch& batch, uint32_t name, uint32_t version, uint32_t attrs_begin) {
  const std::string_view packed = batch.Slice(attrs_begin, batch.ArenaSize());
  const size_t known = batch.scopes.size();
  for (size_t i = known; i > 0 && i + kCompareBack > known; --i) {
    const Scope& s = batch.scopes[i - 1];
    if (s.name == name && s.version == version &&
        batch.Slice(s.attrs_begin, s.attrs_end) == packed) {
      batch.bytes.resize(attrs_begin);
      return static_cast<uint32_t>(i - 1);
    }
  }
  batch.scopes.push_back({name, version, attrs_begin, batch.ArenaSize()});
  return static_cast<uint32_t>(known);
}

void BatchMark::RollBack(EventBatch& batch) const {
  while (batch.size() > rows) batch.DropLastRow();
  batch.bytes.resize(bytes);
  batch.processes.resize(processes);
  batch.scopes.resize(scopes);
}

}  // namespace wf::decode
