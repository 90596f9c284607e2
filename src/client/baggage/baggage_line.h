// The baggage of one line of execution: of a request, on one thread at a time, between two places where it branches.
//
//   BaggageLine ── Freeze ─→ BaggageSnapshot ── travels (thread, process) ─→ BaggageLine of the receiver
//
// A line packs into its active instance. Freezing ends that instance: the snapshot holds it and everything it
// was packed upon, and every line that continues from the snapshot, including this one, packs into a new
// instance. So a snapshot never contains what another branch packs later, and merging two branches is the
// union of their instances.
//
// Names. Inside the process an instance is named by an interval tree clock (Pivot Tracing §5): the line's stamp when
// it was packed. When lines rejoin, instances whose share of the interval lies in the joined share, that nobody else
// holds and that never left the process, are folded into one. When an instance leaves the process it gets a random
// 64-bit id, which is its name everywhere: copies made by hops that know nothing of this are the same instance.
//
// Nothing is decoded before a tuple is packed, unpacked or joined: a snapshot that only passes through keeps the text
// it came as. Then the bytes are looked over and read where they are; objects are made of them when branches inside the
// process have to be told apart. Between processes bytes are joined to bytes: an answer that holds all that was sent, as
// nearly every one does, takes the place of it.
//
// A line belongs to one thread at a time. A snapshot is immutable, and may have many holders on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "advice/packed_tuples.h"
#include "client/baggage/active_slot.h"
#include "client/baggage/baggage_snapshot.h"
#include "client/baggage/baggage_wire.h"
#include "client/runtime/byte_buffer.h"

namespace wherefore::client {

// How much a query may pack in one request.
struct PackLimits {
  uint32_t tuples = 256;
  uint32_t bytes = 3000;
};
enum class PackResult : uint8_t { kPacked, kOverflowed };

class BaggageLine {
 public:
  BaggageLine() = default;
  explicit BaggageLine(std::shared_ptr<const BaggageSnapshot> base);
  BaggageLine(BaggageLine&&) = default;
  BaggageLine& operator=(BaggageLine&&) = default;

  bool empty() const { return !HasFrozen() && actives_ == 0 && !overflow_.any(); }
  // As if new; memory is kept for the next request.
  [[gnu::hot]] void Reset();
  // Of a line that is empty: what came with the request. Nobody looks at it yet.
  [[gnu::hot]] void Receive(std::string_view bytes);
  void Receive(std::shared_ptr<const BaggageSnapshot> base);

  // kOverflowed: the query exceeded its limits in this request, so it is marked and packs no more. Only the
  // first mark is counted.
  PackResult Pack(uint64_t query, uint32_t slot, const wf::advice::Slot& rule,
                  const PackLimits& limits, int64_t time, std::string_view id,
                  const wf::advice::Rows& rows);
  // What was packed before, by this line and by all it has joined, merged.
  wf::advice::PackedTuples Unpack(uint64_t query, uint32_t slot, const wf::advice::Slot& rule);
  void Unpack(uint64_t query, uint32_t slot, const wf::advice::Slot& rule,
              wf::advice::PackedTuples& into);
  // The same without copies, which are good until the line changes. False, whatever was written: Unpack has to merge.
  bool Borrow(uint64_t query, uint32_t slot, const wf::advice::Slot& rule,
              wf::advice::BorrowedRows& into);
  bool Overflowed(uint64_t query);

  // A bag's `rows` in the place of all that the slot holds, here and wherever it came from.
  void Replace(uint64_t query, uint32_t slot, const wf::advice::Slot& rule,
               const wf::advice::Rows& rows);
  // Which slots the query has here: this one, and others before it.
  struct Slots {
    bool this_one = false, others = false;
  };
  Slots SlotsOf(uint64_t query, uint32_t slot);
  bool Has(uint64_t query, uint32_t slot);

  // To another process, as bytes; empty when empty.
  std::string Serialize();
  [[gnu::hot]] void AppendTo(std::string& message);  // the same, at its end
  // ... as our members of the header; see BaggageSnapshot::Header.
  HeaderTexts Header(size_t room, int members);
  // To another branch in this process. Null when empty.
  std::shared_ptr<const BaggageSnapshot> Freeze();
  // The same for a line that ends here: its share of the clock goes with the snapshot.
  std::shared_ptr<const BaggageSnapshot> Finish();
  // The same without what was in `received`, which whoever sent that has anyway.
  std::shared_ptr<const BaggageSnapshot> FreezeSince(
      std::shared_ptr<const BaggageSnapshot> received);
  void Join(std::shared_ptr<const BaggageSnapshot> other);
  // What another process has serialised.
  [[gnu::hot]] void JoinBytes(std::string_view bytes);

  // What the query has here. Bytes may be less than this, while they are not encoded.
  struct Held {
    uint32_t tuples = 0;
    uint32_t slots = 0;  // over all instances
    size_t bytes = 0;    // of their payloads
  };
  // All that a query has here, found by one look; good until the line changes.
  struct Found {
    static constexpr size_t kMost = 6;
    struct Entry {
      uint32_t slot, tuples;
      std::string_view payload;  // of one that is frozen
      ActiveSlot* active;        // or null
    };
    Entry entries[kMost];
    size_t count = 0;
  };
  // False: there is more to it (marks of overflow, many slots), and the other functions have to be asked.
  [[gnu::hot]] bool Look(uint64_t query, Found& found);
  // Pack, for `rows` tuples of weight 1 as they fly, by whoever has just looked. False, and nothing has been packed, if
  // there is more to it: then Pack has to be asked. `after` is what the query has here then.
  [[gnu::hot]] bool PackCells(const Found& found, uint64_t query, uint32_t slot,
                              const wf::advice::Slot& rule, const PackLimits& limits,
                              const wf::advice::Cell* cells, size_t rows, Held& after);
  // ... of tuples that are the same at every hit, encoded already.
  [[gnu::hot]] bool PackReady(const Found& found, uint64_t query, uint32_t slot,
                              const wf::advice::Slot& rule, const PackLimits& limits,
                              const TupleLog& ready, Held& after);
  // ... of First and MostRecent, which keep one event: the tuple of an event.
  [[gnu::hot]] bool KeepCells(const Found& found, uint64_t query, uint32_t slot,
                              const wf::advice::Slot& rule, const PackLimits& limits, int64_t time,
                              std::string_view id, const wf::advice::Cell* cells, Held& after);

  // What the query has here.
  Held HeldBy(uint64_t query);
  // What would travel if the line had nothing but this query: its payloads and all that frames them. 0: nothing would.
  size_t TravellingBytesOf(uint64_t query);
  // Looks the bytes over that it was made of, if nobody has; how many frozen instances there are.
  size_t instances();

 private:
  bool HasFrozen() const { return base_ != nullptr || !own_.empty(); }
  [[gnu::hot]] bool AnyActive() const;
  void Read() {
    if (!read_ && HasFrozen()) ReadNow();
  }
  [[gnu::hot]] void ReadNow();
  [[gnu::hot]] void View(ByteBuffer& bytes, const BaggageView& seen);
  void ShareOwn();
  void MakeInstances();
  [[gnu::hot]] static bool Accept(BaggageRead read, Overflow& lost);
  void EndByBytes();
  [[gnu::hot]] void GiveUpActive();
  [[gnu::hot]] char* Room(std::string* message, size_t size);
  [[gnu::hot]] bool EncodeFew(std::string* message);
  [[gnu::hot]] void Encode(std::string* message);  // null: to `sent_`
  [[gnu::hot]] void KeepSent();
  template <typename Use>  // use(query, slot, tuples, payload)
  void ForEachFrozenSlot(Use use) const;
  void UnpackInto(wf::advice::PackedTuples& all, uint64_t query, uint32_t slot,
                  const wf::advice::Slot& rule);
  bool FrozenOverflow(uint64_t query) const;
  [[gnu::hot]] bool FrozenLost() const;

  ActiveSlot& Active(uint64_t query, uint32_t slot, const wf::advice::Slot& rule);
  [[gnu::hot]] ActiveSlot& NewActive(uint64_t query, uint32_t slot, const wf::advice::Slot& rule);
  Held HeldByOthers(uint64_t query, const ActiveSlot* except) const;
  bool PackBag(ActiveSlot& active, const PackLimits& limits, const wf::advice::Rows& rows);
  bool PackEvent(ActiveSlot& active, const PackLimits& limits, int64_t time, std::string_view id,
                 const wf::advice::Rows& rows);
  bool Fits(const ActiveSlot& active, const PackLimits& limits,
            const wf::advice::PackedTuples& tuples, size_t& bytes_at_most);
  void CountBytes(uint64_t query, const ActiveSlot* except);
  void DropOutdated(const ActiveSlot& active, const wf::advice::PackedTuples& kept);
  void DropAllOlder(const ActiveSlot& active);
  template <typename Unwanted>  // unwanted(PackedSlot)
  void DropFrozen(Unwanted unwanted);
  void MarkOverflowed(uint64_t query);
  std::shared_ptr<const Instance> EndActive();
  void Fold(const Instance& instance);
  bool WhollyOurs(const std::shared_ptr<const Instance>& instance, long holders,
                  const BranchName& other) const;

  // What every request touches comes first.
  // What is frozen: a snapshot, which others may hold as well, or bytes that came to this line alone.
  std::shared_ptr<const BaggageSnapshot> base_;
  ByteBuffer own_;
  bool read_ = false;         // somebody has looked at it, and then either it has instances, or:
  bool viewed_ = false;       // ... it is bytes, which are sound, and `view_` shows them
  bool sent_is_all_ = false;  // `sent_` is the whole line
  size_t actives_ = 0;        // how many of `active_` form the active instance
  uint64_t sealed_ = 0;       // the id under which the active instance has been sent: it is frozen
  Overflow overflow_;         // beyond what is frozen
  ByteBuffer sent_;           // the line as it was sent, for whoever hears the answer or packs more
  BranchName name_;

  std::vector<ActiveSlot> active_;            // beyond `actives_` they keep their memory
  std::shared_ptr<const std::string> bytes_;  // of `base_`, if `view_` shows them
  BaggageView view_;

  // For whoever needs them for a moment.
  ByteBuffer spare_;
  wf::advice::PackedTuples all_;
};

template <typename Use>
void BaggageLine::ForEachFrozenSlot(Use use) const {
  if (viewed_ && view_.slots <= BaggageView::kNoted) {
    for (size_t i = 0; i < view_.slots; ++i) {
      const SlotView& slot = view_.noted[i];
      use(view_.query(slot.query), slot.slot, slot.tuples, slot.payload());
    }
    return;
  }
  if (viewed_) {
    SlotCursor cursor(view_);
    SlotView slot;
    while (cursor.Next(slot)) use(view_.query(slot.query), slot.slot, slot.tuples, slot.payload());
    return;
  }
  if (base_ == nullptr) return;
  for (const auto& instance : base_->instances_) {
    for (const PackedSlot& slot : instance->slots)
      use(slot.query, slot.slot, slot.tuples, slot.payload);
  }
}

}  // namespace wherefore::client
