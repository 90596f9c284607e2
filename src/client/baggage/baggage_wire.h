// Baggage as bytes, and as members of the W3C `baggage` header. docs/concepts/baggage.md specifies both.
//
// Instances are what travels: what one branch of a request packed between two hand-overs, under a random id. They are
// immutable and shared between the snapshots that hold them, on any thread; a slot's payload is not looked into here.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advice/program.h"
#include "client/baggage/interval_tree_clock.h"
#include "client/runtime/byte_buffer.h"

namespace wherefore::client {

// 4 kB members hold 6 kB of bytes; protocols without that limit may carry more.
constexpr size_t kMaxBaggageBytes = 64 << 10;
constexpr size_t kMaxBaggageQueries = 64;
constexpr size_t kMaxBaggageInstances = 256;
constexpr size_t kMaxBaggageSlots = 128;  // of one query; the compiler makes at most 99

struct PackedSlot {
  uint64_t query = 0;
  uint32_t slot = 0;
  uint32_t tuples = 0;       // as the sender says
  std::string_view payload;  // in the instance's memory
  // How it is kept, if it was packed in this process: then it can be merged without asking a program.
  bool has_rule = false;
  wf::advice::Slot rule;
};

struct Instance {
  mutable std::atomic<uint64_t> id{0};  // 0: never left this process
  // Its name while it has not: the branch that packed it.
  uint64_t origin = 0;  // 0: received
  Stamp stamp;
  std::vector<PackedSlot> slots;
  std::shared_ptr<const std::string> memory;

  uint64_t WireId() const;  // gives it one
};
using InstanceList = std::vector<std::shared_ptr<const Instance>>;

// What was lost: tuples that did not fit (by query), or a part of the bytes (queries unknown).
struct Overflow {
  std::vector<uint64_t> queries;
  bool unknown = false;

  bool any() const { return unknown || !queries.empty(); }
  [[gnu::hot]] bool Has(uint64_t query) const;
  [[gnu::hot]] bool Add(uint64_t query);  // false if it was there
  [[gnu::hot]] void Add(const Overflow& other);
};

[[gnu::hot]] uint64_t RandomId();  // never 0

struct SlotView {  // without zeros before it is read: a view has several
  uint64_t instance;
  size_t query;  // in the table
  uint32_t slot;
  uint32_t tuples;
  const char* data;  // of the payload
  size_t size;

  std::string_view payload() const { return {data, size}; }
};
// Bytes that have been found to be baggage, read where they are.
struct BaggageView {
  bool lost = false;
  bool any_overflowed = false;  // of the queries
  std::string_view table;       // of queries: an id and a flag each
  std::string_view instances;   // one behind the other

  // The first slots, found already; if that is all of them nobody has to look again.
  static constexpr size_t kNoted = 8;
  size_t slots = 0;
  SlotView noted[kNoted];

  BaggageView() {}  // NOLINT: not `noted`
  BaggageView(const BaggageView& other) { *this = other; }
  [[gnu::hot]] BaggageView& operator=(const BaggageView& other);

  static constexpr size_t kTableEntry = 9;
  size_t queries() const { return table.size() / kTableEntry; }
  uint64_t query(size_t index) const {
    uint64_t id;
    std::memcpy(&id, table.data() + index * kTableEntry, sizeof id);
    return id;
  }
  bool overflowed(size_t index) const;
  // The number of `query` in the table; queries() if it is not there.
  [[gnu::hot]] size_t Find(uint64_t query) const;
  // The same of a copy of the bytes.
  [[gnu::hot]] void MoveTo(const char* copy, const char* original);
};
enum class BaggageRead : uint8_t {
  kWhole,
  kCut,        // of a length that it has lost: somebody on the way left our second member out
  kMalformed,  // not baggage of a version we know, or past a bound
};
// Looks at what frames the instances, and not at them.
[[gnu::hot]] BaggageRead ReadFrame(std::string_view bytes, BaggageView& view);
// Looks at all of it but the payloads of slots.
[[gnu::hot]] BaggageRead ReadBaggage(std::string_view bytes, BaggageView& view);

// One slot after another, of bytes that ReadBaggage has accepted.
class SlotCursor {
 public:
  explicit SlotCursor(const BaggageView& view) : rest_(view.instances) {}
  bool Next(SlotView& slot);

 private:
  std::string_view rest_;
  uint64_t instance_ = 0, left_ = 0;
};

// Whether the bytes of `more` contain everything in `less`, as when a receiver of `less` only added to it.
// False proves nothing.
[[gnu::hot]] bool BeginsWith(const BaggageView& more, const BaggageView& less);
// A slot of an instance that is being written: the caller writes `payload` bytes to `place`, all of them.
struct SlotToWrite {
  uint64_t query;
  uint32_t slot, tuples;
  size_t payload;
  char* place;
};
constexpr size_t kFewSlots = 8;
// Writes `before`, if there is any, and one instance behind it, of a few small slots: what most lines send.
class FewSlotsWriter {
 public:
  // 0: there is more to be told, which is BaggageWriter's to do. Borrows both.
  [[gnu::hot]] size_t Size(const BaggageView* before, SlotToWrite* slots, size_t count);
  [[gnu::hot]] void Write(uint64_t id, char* at) const;  // so many bytes

 private:
  std::string_view table_, instances_;  // from before
  SlotToWrite* slots_;
  size_t count_, queries_, body_;
  uint64_t fresh_[kFewSlots];  // queries that are not in the table
  uint8_t index_[kFewSlots];
};
// Writes the instances of both, each once. False if that is more than baggage may be.
bool Unite(const BaggageView& a, const BaggageView& b, ByteBuffer& out);
// Writes `view` without one slot of a query, which the caller has seen there.
void LeaveOut(const BaggageView& view, uint64_t query, uint32_t slot, ByteBuffer& out);

// The instances themselves; `memory` is what `view` was read from.
InstanceList ToInstances(const BaggageView& view, const std::shared_ptr<const std::string>& memory);
Overflow OverflowOf(const BaggageView& view);

// Writes baggage front to back, once it is known how large it is and which queries it has.
class BaggageWriter {
 public:
  // Begins with the queries of `known`, in their order, so that what was encoded with them can be copied.
  [[gnu::hot]] explicit BaggageWriter(const BaggageView* known = nullptr);
  BaggageWriter(const BaggageWriter&) = delete;
  BaggageWriter& operator=(const BaggageWriter&) = delete;

  // First all of these, in any order …
  [[gnu::hot]] void NoteOverflow(const Overflow& overflow);
  void SizeBytes(size_t size) { size_ += size; }
  [[gnu::hot]] void SizeInstance(size_t slots);
  [[gnu::hot]] void SizeSlot(uint64_t query, uint32_t slot, uint32_t tuples, size_t payload);
  // … then the same in the same order, into size() bytes.
  size_t queries() const { return queries_; }
  size_t size() const;
  [[gnu::hot]] void Begin(char* at);
  [[gnu::hot]] void PutBytes(std::string_view bytes);
  [[gnu::hot]] void PutInstance(uint64_t id, size_t slots);
  // Returns where `payload` bytes are to be written, all of them, before the next call.
  [[gnu::hot]] char* PutSlot(uint64_t query, uint32_t slot, uint32_t tuples, size_t payload);

 private:
  [[gnu::hot]] size_t IndexOf(uint64_t query);
  size_t Body() const;

  // Few: a vector would be an allocation for nearly everybody.
  uint64_t first_[8];
  size_t queries_ = 0, next_ = 0;
  std::vector<uint64_t> more_;
  Overflow overflow_;
  size_t size_ = 0;
  char* at_ = nullptr;
};
// Empty when there is nothing to say.
std::string EncodeBaggage(const InstanceList& instances, const Overflow& overflow);

// --- Header

// With its name: what OpenTelemetry's libraries take is 4,096.
constexpr size_t kMaxBaggageMember = 4000;
constexpr size_t kMaxBaggageHeader = 8192;  // all members of everybody
constexpr int kMaxBaggageMembers = 180;
constexpr std::string_view kBaggageMember = "wf";
constexpr std::string_view kBaggageMember2 = "wf2";

// The values of our two members.
struct HeaderTexts {
  std::string first, second;
  bool empty() const { return first.empty(); }
  size_t size() const;  // as members, with their names and the comma between them
  int members() const { return first.empty() ? 0 : second.empty() ? 1 : 2; }
};
// Nothing if it takes more than two members.
HeaderTexts ToHeader(std::string_view bytes);
bool FromHeader(const HeaderTexts& texts, std::string& bytes);
// The greatest number of bytes whose members take at most so much room.
size_t BytesThatFit(size_t room, int members);

}  // namespace wherefore::client
