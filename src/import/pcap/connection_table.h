// ConnectionTable: connections by their two ends, and in the order of their last packet.
//
// Open addressing over hashes; entries are found by one probe and one comparison. Slots of removed
// connections are reused. Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "import/pcap/tcp_connection.h"

namespace wf::pcap {

// Both directions of a flow have the same key: the smaller end first.
struct ConnectionKey {
  uint64_t low[2] = {0, 0}, high[2] = {0, 0};  // addresses
  uint16_t low_port = 0, high_port = 0;
  uint8_t protocol = 0, version = 0;
  bool operator==(const ConnectionKey&) const = default;
};

struct Connection {
  explicit Connection(const ConnectionKey& with) : key(with), tcp(context) {}
  ConnectionKey key;
  uint64_t hash = 0;
  uint64_t number = 0;  // in order of appearance
  DialogueContext context;
  TcpConnection tcp;
  IpAddress addresses[2];
  NodeId nodes[2] = {0, 0};
  uint32_t datagrams[2] = {0, 0};  // used as sequence numbers where there are none
  size_t held = 0;                 // bytes, as last counted
  Nanos heard = 0;                 // time of the last packet, approximately
  bool asleep = false;
  uint32_t newer = 0, older = 0;  // neighbours in the list it is in; slots
  // Texts of its messages, made for the first message, and again when they change.
  End text_client = kNoEnd;
  Protocol text_protocol = Protocol::kUndecided;
  std::string id_prefix, keys;
  uint64_t conn_key = 0;
};

class ConnectionTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  ConnectionTable();
  static uint64_t HashOf(const ConnectionKey& key);

  uint32_t Find(const ConnectionKey& key, uint64_t hash) const {
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Entry& entry = entries_[at];
      if (entry.slot == kNone) return kNone;
      if (entry.hash == hash && slots_[entry.slot]->key == key) return entry.slot;
    }
  }
  uint32_t Add(const ConnectionKey& key, uint64_t hash, Nanos now);
  void Remove(uint32_t slot);
  Connection& At(uint32_t slot) { return *slots_[slot]; }
  const Connection* Get(uint32_t slot) const { return slots_[slot].get(); }
  // A new connection over the same ports takes its place.
  void Renew(uint32_t slot);
  size_t size() const { return size_; }

  // Notes a packet at `now`. Cheap if the last one was recent.
  void Touch(uint32_t slot, Nanos now) {
    Connection& connection = *slots_[slot];
    if (!connection.asleep && now - connection.heard < kTouchEvery) return;
    Move(slot, now);
  }
  // The awake connection whose last packet is the oldest; kNone if there is none.
  uint32_t OldestAwake() const { return lists_[0].oldest; }
  uint32_t OldestAsleep() const { return lists_[1].oldest; }
  void Sleep(uint32_t slot);
  // In order of appearance.
  std::vector<uint32_t> All() const;

 private:
  static constexpr Nanos kTouchEvery = 200 * kMilli;
  struct Entry {
    uint64_t hash = 0;
    uint32_t slot = kNone;
  };
  struct List {
    uint32_t newest = kNone, oldest = kNone;
  };
  void Move(uint32_t slot, Nanos now);
  void Unlink(uint32_t slot);
  void Link(uint32_t slot, List& list);
  void Grow();

  std::vector<Entry> entries_;
  size_t mask_ = 0, size_ = 0;
  uint64_t added_ = 0;
  std::vector<std::unique_ptr<Connection>> slots_;
  std::vector<uint32_t> free_;
  List lists_[2];  // awake, asleep
};

}  // namespace wf::pcap
