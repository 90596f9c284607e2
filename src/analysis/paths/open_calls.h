// OpenCalls: the waiting items of call_pairing.cc, by (caller, callee, id): calls, and returns without a
// known call.
//
// Open addressing. A known id is placed by (caller, id) only, so that calls of one id to several callees are
// in one chain, where a return from a third node finds the call it answers. Unknown ids are all equal, so for
// them the callee is mixed into the hash. Items are numbered from 1 and numbers are reused; 0 is none.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "model/sighting.h"

namespace wf::pairing {

// The clocks that may sight one message: the common one, the caller's, the callee's.
constexpr int kClocks = 3;
constexpr int kCommonClock = 0, kCallerClock = 1, kCalleeClock = 2;

using ItemNumber = uint32_t;  // 0: none

constexpr NodeId kNobody = UINT32_MAX;

// A call, or (request is 0) a return that waits for one.
struct Item {
  uint64_t id = 0;
  NodeId caller = 0, callee = 0;
  Nanos asked[kClocks] = {}, answered[kClocks] = {};
  uint8_t request = 0, reply = 0;  // bit k: asked[k], answered[k] is set
  bool early = false;              // its return came first, by any clock
  bool emitted = false;            // kept only to recognise duplicates
  bool live = false;
  bool past_caller = false;  // its return went to the node that had called the caller
  NodeId third = kNobody;    // the node that answered, if not the callee
  // The call into the caller that was answered by a third node together with this one. It may be gone, or no
  // longer answered that way.
  ItemNumber passed_on = 0;
  uint32_t passed_on_generation = 0;
  uint16_t asked_input[kClocks] = {}, answered_input[kClocks] = {};  // first seen there
  uint32_t generation = 0;  // of the number, which is reused
  Place place;
  Nanos created = 0;  // the time of its first sighting
  uint64_t sent_thread = 0, received_thread = 0, conn = 0, path = 0;
  ItemNumber next = 0, previous = 0;  // within its key, in order of creation
  ItemNumber younger = 0, older = 0;  // among all calls, in order of creation
};

struct Key {
  NodeId caller = 0, callee = 0;
  uint64_t id = 0;
  bool operator==(const Key& o) const {
    return id == o.id && caller == o.caller && callee == o.callee;
  }
};

struct Entry {
  Key key;
  ItemNumber first_call = 0, last_call = 0;
  ItemNumber first_return = 0, last_return = 0;  // waiting for a call
  uint32_t returned = 0;  // calls that only wait for the other end's sightings
  bool used = false;
};

class OpenCalls {
 public:
  OpenCalls() : entries_(kFirstEntries), items_(1) {}

  // Null if the key has no entry. Valid until the next Insert or Erase.
  Entry* Find(const Key& key) {
    for (size_t at = Home(key);; at = Next(at)) {
      Entry& entry = entries_[at];
      if (!entry.used) return nullptr;
      if (entry.key == key) return &entry;
    }
  }
  Entry& Insert(const Key& key);  // the key must be absent
  void Erase(const Key& key);     // the key must be present

  // Every entry of a known id and caller, whatever the callee.
  template <typename F>
  void EachCallee(NodeId caller, uint64_t id, F&& visit) {
    for (size_t at = Home({caller, 0, id}); entries_[at].used; at = Next(at)) {
      Entry& entry = entries_[at];
      if (entry.key.id == id && entry.key.caller == caller) visit(entry);
    }
  }

  Item& At(ItemNumber n) { return items_[n]; }
  ItemNumber Take();
  void Free(ItemNumber n);
  size_t size() const { return items_.size() - 1 - free_.size(); }

 private:
  static constexpr size_t kFirstEntries = 1024;  // a power of two

  size_t Home(const Key& key) const {
    uint64_t hash = key.id ^ (static_cast<uint64_t>(key.caller) * 0x9E3779B97F4A7C15ull);
    if (key.id == 0) hash ^= static_cast<uint64_t>(key.callee) << 32;
    return MixBits(hash) & (entries_.size() - 1);
  }
  size_t Next(size_t at) const { return (at + 1) & (entries_.size() - 1); }
  void Grow();

  std::vector<Entry> entries_;  // at most half full
  size_t used_ = 0;
  std::vector<Item> items_;
  std::vector<ItemNumber> free_;
};

}  // namespace wf::pairing
