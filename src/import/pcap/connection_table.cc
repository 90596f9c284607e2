#include "import/pcap/connection_table.h"

#include <algorithm>

namespace wf::pcap {

ConnectionTable::ConnectionTable() : entries_(1024), mask_(entries_.size() - 1) {}

uint64_t ConnectionTable::HashOf(const ConnectionKey& key) {
  uint64_t hash = static_cast<uint64_t>(key.low_port) << 32 |
                  static_cast<uint64_t>(key.high_port) << 16 |
                  static_cast<uint64_t>(key.version) << 8 | key.protocol;
  hash = MixBits(hash ^ key.low[0] ^ key.high[0] * 0x9E3779B97F4A7C15ull);
  if (key.version == 6) hash = MixBits(hash ^ key.low[1] ^ key.high[1] * 0x9E3779B97F4A7C15ull);
  return hash;
}

uint32_t ConnectionTable::Add(const ConnectionKey& key, uint64_t hash, Nanos now) {
  if ((size_ + 1) * 2 > entries_.size()) Grow();
  uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot] = std::make_unique<Connection>(key);
  Connection& connection = *slots_[slot];
  connection.hash = hash;
  connection.number = ++added_;
  connection.heard = now;
  size_t at = hash & mask_;
  while (entries_[at].slot != kNone) at = (at + 1) & mask_;
  entries_[at] = {hash, slot};
  ++size_;
  Link(slot, lists_[0]);
  return slot;
}

void ConnectionTable::Remove(uint32_t slot) {
  size_t at = slots_[slot]->hash & mask_;
  while (entries_[at].slot != slot) at = (at + 1) & mask_;
  // Entries behind it that were pushed on by it move up, so that no search stops early.
  for (size_t next = (at + 1) & mask_; entries_[next].slot != kNone; next = (next + 1) & mask_) {
    const size_t home = entries_[next].hash & mask_;
    if (((next - home) & mask_) >= ((next - at) & mask_)) {
      entries_[at] = entries_[next];
      at = next;
    }
  }
  entries_[at] = {};
  Unlink(slot);
  slots_[slot].reset();
  free_.push_back(slot);
  --size_;
}

void ConnectionTable::Renew(uint32_t slot) {
  const std::unique_ptr<Connection> old = std::move(slots_[slot]);
  slots_[slot] = std::make_unique<Connection>(old->key);
  Connection& renewed = *slots_[slot];
  renewed.hash = old->hash;
  renewed.number = ++added_;
  renewed.held = old->held;
  renewed.heard = old->heard;
  renewed.asleep = old->asleep;
  renewed.newer = old->newer;
  renewed.older = old->older;
}

void ConnectionTable::Grow() {
  std::vector<Entry> old = std::move(entries_);
  entries_.assign(old.size() * 2, {});
  mask_ = entries_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.slot == kNone) continue;
    size_t at = entry.hash & mask_;
    while (entries_[at].slot != kNone) at = (at + 1) & mask_;
    entries_[at] = entry;
  }
}

void ConnectionTable::Link(uint32_t slot, List& list) {
  Connection& connection = *slots_[slot];
  connection.newer = kNone;
  connection.older = list.newest;
  if (list.newest != kNone) slots_[list.newest]->newer = slot;
  list.newest = slot;
  if (list.oldest == kNone) list.oldest = slot;
}

void ConnectionTable::Unlink(uint32_t slot) {
  Connection& connection = *slots_[slot];
  List& list = lists_[connection.asleep ? 1 : 0];
  (connection.newer != kNone ? slots_[connection.newer]->older : list.newest) = connection.older;
  (connection.older != kNone ? slots_[connection.older]->newer : list.oldest) = connection.newer;
}

void ConnectionTable::Move(uint32_t slot, Nanos now) {
  Unlink(slot);
  Connection& connection = *slots_[slot];
  connection.asleep = false;
  connection.heard = std::max(connection.heard, now);
  Link(slot, lists_[0]);
}

void ConnectionTable::Sleep(uint32_t slot) {
  Unlink(slot);
  slots_[slot]->asleep = true;
  Link(slot, lists_[1]);
}

std::vector<uint32_t> ConnectionTable::All() const {
  std::vector<uint32_t> all;
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot] != nullptr) all.push_back(slot);
  }
  std::sort(all.begin(), all.end(),
            [&](uint32_t a, uint32_t b) { return slots_[a]->number < slots_[b]->number; });
  return all;
}

}  // namespace wf::pcap
