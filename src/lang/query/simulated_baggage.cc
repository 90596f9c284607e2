#include "lang/query/simulated_baggage.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace wf::query {
namespace {

using advice::Keep;
using advice::PackedTuples;

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

}  // namespace

size_t BaggageBytes(size_t instance_bytes) {
  constexpr size_t kQueries = 1 + 9;  // how many, and of the one its id and flags
  const size_t body = kQueries + instance_bytes;
  return 2 + VarintSize(body) + body;  // version, flags, size
}

size_t HeldTuples::Bytes(const advice::Slot& rule) {
  if (bytes_ == 0) {
    std::string bytes;
    tuples_.Encode(rule, bytes);
    bytes_ = bytes.size();
  }
  return bytes_;
}

void SimulatedBaggage::Freeze(uint64_t instance) {
  for (SlotContent& content : slots_) {
    if (content.active == nullptr) continue;
    auto frozen = content.frozen != nullptr ? std::make_shared<std::vector<Held>>(*content.frozen)
                                            : std::make_shared<std::vector<Held>>();
    content.active->instance = instance;
    frozen->push_back(std::move(content.active));  // ids ascend, so the order holds
    content.active = nullptr;
    content.frozen = std::move(frozen);
  }
}

SimulatedBaggage SimulatedBaggage::Join(std::vector<SimulatedBaggage> branches) {
  SimulatedBaggage joined(*branches.front().program_);
  branches.erase(std::remove_if(branches.begin(), branches.end(),
                                [](const SimulatedBaggage& branch) { return branch.empty(); }),
                 branches.end());
  if (branches.empty()) return joined;
  if (branches.size() == 1) return std::move(branches.front());
  joined.slots_.resize(joined.program_->slots.size());
  for (size_t slot = 0; slot < joined.slots_.size(); ++slot) {
    if (joined.rule(slot).keep == Keep::kAll) {
      joined.JoinBag(slot, branches);
    } else {
      joined.JoinKept(slot, branches);
    }
  }
  return joined;
}

void SimulatedBaggage::JoinBag(size_t slot, std::vector<SimulatedBaggage>& branches) {
  // Instances of all, each once. The branches let go of theirs, so that what is left in one place only shows.
  std::vector<Held> instances, own;
  std::shared_ptr<const std::vector<Held>> last;
  for (SimulatedBaggage& branch : branches) {
    SlotContent& content = branch.slots_[slot];
    if (content.active != nullptr) own.push_back(std::move(content.active));
    if (content.frozen != nullptr && content.frozen != last)
      instances.insert(instances.end(), content.frozen->begin(), content.frozen->end());
    last = std::move(content.frozen);
    content.frozen = nullptr;
  }
  last = nullptr;
  std::sort(instances.begin(), instances.end(),
            [](const Held& a, const Held& b) { return a->instance < b->instance; });
  instances.erase(std::unique(instances.begin(), instances.end()), instances.end());

  auto shared = std::make_shared<std::vector<Held>>();
  for (Held& instance : instances)
    (instance.use_count() == 1 ? own : *shared).push_back(std::move(instance));
  SlotContent& content = slots_[slot];
  if (!shared->empty()) content.frozen = std::move(shared);
  if (own.empty()) return;
  // Into the largest, so that a long loop of splits and joins does not copy all of it each time.
  auto base = std::max_element(own.begin(), own.end(), [](const Held& a, const Held& b) {
    return a->tuples().tuple_count() < b->tuples().tuple_count();
  });
  std::swap(*base, own.front());
  content.active = std::move(own.front());
  content.active->instance = 0;
  for (size_t i = 1; i < own.size(); ++i)
    content.active->Change().Merge(rule(slot), own[i]->tuples());
}

void SimulatedBaggage::JoinKept(size_t slot, std::vector<SimulatedBaggage>& branches) {
  Held& kept = slots_[slot].kept;
  bool own = false;  // a copy was made already
  for (SimulatedBaggage& branch : branches) {
    const Held& other = branch.slots_[slot].kept;
    if (other == nullptr || other == kept) continue;
    if (kept == nullptr) {
      kept = other;
      continue;
    }
    if (!own) kept = std::make_shared<HeldTuples>(*kept);
    own = true;
    kept->Change().Merge(rule(slot), other->tuples());
  }
}

std::vector<HeldTuples*> SimulatedBaggage::Parts(size_t slot) const {
  std::vector<HeldTuples*> parts;
  const SlotContent& content = slots_[slot];
  if (content.kept != nullptr) parts.push_back(content.kept.get());
  if (content.active != nullptr) parts.push_back(content.active.get());
  if (content.frozen != nullptr)
    for (const Held& instance : *content.frozen) parts.push_back(instance.get());
  return parts;
}

PackedTuples SimulatedBaggage::Unpack(uint32_t slot) const {
  if (slots_.empty()) return PackedTuples(rule(slot));
  std::vector<HeldTuples*> parts = Parts(slot);
  if (parts.empty()) return PackedTuples(rule(slot));
  const auto largest =
      std::max_element(parts.begin(), parts.end(), [](const HeldTuples* a, const HeldTuples* b) {
        return a->tuples().tuple_count() < b->tuples().tuple_count();
      });
  std::swap(*largest, parts.front());
  PackedTuples all = parts.front()->tuples();
  for (size_t i = 1; i < parts.size(); ++i) all.Merge(rule(slot), parts[i]->tuples());
  return all;
}

void SimulatedBaggage::Pack(uint32_t slot, int64_t time, std::string_view id,
                            const advice::Rows& rows) {
  if (slots_.empty()) slots_.resize(program_->slots.size());
  SlotContent& content = slots_[slot];
  if (rule(slot).keep == Keep::kAll) {
    if (content.active == nullptr) content.active = std::make_shared<HeldTuples>(rule(slot));
    content.active->Change().Add(rule(slot), rows);
    return;
  }
  if (content.kept == nullptr) {
    content.kept = std::make_shared<HeldTuples>(rule(slot));
  } else if (!content.kept->tuples().AdjustedTime(rule(slot), time)) {
    return;  // First is full
  } else if (content.kept.use_count() != 1) {
    content.kept = std::make_shared<HeldTuples>(*content.kept);
  }
  content.kept->Change().AddEvent(rule(slot), time, id, rows);
}

size_t SimulatedBaggage::rows() const {
  size_t rows = 0;
  for (size_t slot = 0; slot < slots_.size(); ++slot)
    for (const HeldTuples* part : Parts(slot)) rows += part->tuples().tuple_count();
  return rows;
}

size_t SimulatedBaggage::instances() const {
  size_t count = 0;
  for (const SlotContent& content : slots_)
    count += (content.frozen != nullptr ? content.frozen->size() : 0) + 1;
  return count;
}

size_t SimulatedBaggage::DifferentTuples(size_t slot) const {
  std::vector<HeldTuples*> parts = Parts(slot);
  std::sort(parts.begin(), parts.end(), [](const HeldTuples* a, const HeldTuples* b) {
    return a->tuples().tuple_count() > b->tuples().tuple_count();
  });
  size_t different = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const advice::Rows& rows = parts[i]->tuples().rows();
    if (i == 0) {
      different = rows.size();
      continue;
    }
    for (size_t row = 0; row < rows.size(); ++row) {
      const auto has = [&](HeldTuples* part) { return part->Contains(rows.columns(row)); };
      if (std::none_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i), has))
        ++different;
    }
  }
  return different;
}

size_t SimulatedBaggage::tuples() const {
  size_t tuples = 0;
  for (size_t slot = 0; slot < slots_.size(); ++slot) tuples += DifferentTuples(slot);
  return tuples;
}

size_t SimulatedBaggage::Bytes() {
  struct Size {
    size_t slots = 0, bytes = 0;
  };
  std::map<uint64_t, Size> instances;
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    for (HeldTuples* part : Parts(slot)) {
      if (part->tuples().empty()) continue;
      const size_t payload = part->Bytes(rule(slot));
      Size& size = instances[part->instance];
      ++size.slots;
      // Which query, which slot, how many tuples, how many bytes, and those.
      size.bytes += 1 + VarintSize(slot) + VarintSize(part->tuples().tuple_count()) +
                    VarintSize(payload) + payload;
    }
  }
  if (instances.empty()) return 0;
  size_t bytes = 0;
  for (const auto& [instance, size] : instances)
    bytes += kInstanceIdBytes + VarintSize(size.slots) + size.bytes;
  return BaggageBytes(bytes);
}

}  // namespace wf::query
