#include "bus/memory/memory_bus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "bus/conformance.h"

namespace wf::bus::memory {
namespace {

class MemoryFactory : public BusFactory {
 public:
  Result<std::unique_ptr<Bus>> Open(int32_t partitions) override {
    MemoryBusOptions options;
    options.partitions = partitions;
    auto bus = std::make_unique<MemoryBus>(options);
    bus_ = bus.get();
    return std::unique_ptr<Bus>(std::move(bus));
  }
  void PutRaw(int32_t partition, const std::string& bytes) override {
    bus_->PutRaw(partition, bytes);
  }
  std::vector<std::string> Poisoned() override { return bus_->Poisoned(); }

 private:
  MemoryBus* bus_ = nullptr;
};

std::unique_ptr<BusFactory> MakeMemoryFactory() { return std::make_unique<MemoryFactory>(); }
INSTANTIATE_TEST_SUITE_P(Memory, BusConformance, ::testing::Values(&MakeMemoryFactory));

TEST(MemoryBus, AwayNothingIsTakenOrGivenAndNothingLost) {
  MemoryBus bus;
  auto publisher = Must(bus.Publisher());
  auto reader = Must(bus.Join("tail", {}));
  const auto send = [&](uint64_t span) {
    Status answer;
    publisher->Publish(BusBatch({{1, span}}), [&](Status status) { answer = std::move(status); });
    return answer;
  };
  ASSERT_TRUE(send(1).ok());
  bus.SetReach(MemoryBus::Reach::kAway);
  EXPECT_FALSE(bus.Check().ok());
  EXPECT_EQ(send(2).error().code, ErrorCode::kOverloaded);
  EXPECT_TRUE(reader->Read(kMilli)->empty());
  bus.SetReach(MemoryBus::Reach::kThere);
  ASSERT_TRUE(send(3).ok());
  size_t rows = 0;
  for (int i = 0; i < 10; ++i)
    for (const BusPiece& piece : Must(reader->Read(kMilli))) rows += piece.events->size();
  EXPECT_EQ(rows, 2u);
}

TEST(MemoryBus, AFullBusRefusesUntilEveryGroupHasCommitted) {
  MemoryBusOptions options;
  options.partitions = 1;
  options.bytes = 2000;
  MemoryBus bus(options);
  auto publisher = Must(bus.Publisher());
  auto reader = Must(bus.Join("tail", {}));
  int kept = 0;
  const auto send = [&] {
    Status answer;
    publisher->Publish(BusBatch({{1, 1}}), [&](Status status) { answer = std::move(status); });
    return answer;
  };
  while (send().ok()) ++kept;
  EXPECT_GT(kept, 1);
  EXPECT_EQ(bus.ReadStatus().refused, 1);
  std::vector<BusPiece> pieces;
  while (static_cast<int>(pieces.size()) < kept)
    for (const BusPiece& piece : Must(reader->Read(kMilli))) pieces.push_back(piece);
  EXPECT_FALSE(send().ok());  // read is not committed
  ASSERT_TRUE(reader->Commit({pieces.back().at}).ok());
  EXPECT_TRUE(send().ok());
}

// Publishers, readers that come, go, die and are taken for dead, commits of some of what was read: whatever the order,
// a trace's pieces are never lost, nor out of order between two commits, and nobody holds what another does.
struct Actor {
  std::set<int32_t> held;
  std::map<int32_t, int64_t> next;  // expected offset by partition, once known
  std::map<int32_t, int64_t> read;  // last read
  bool expelled = false;
  std::unique_ptr<BusReader> reader;  // last: it tells what is lost when it goes
};

RC_GTEST_PROP(MemoryBusProperty, NothingIsLostOrOutOfOrderBeforeItsCommit, ()) {
  MemoryBusOptions options;
  options.partitions = *rc::gen::inRange<int32_t>(1, 5);
  options.read_pieces = static_cast<size_t>(*rc::gen::inRange(1, 6));
  MemoryBus bus(options);
  auto publisher = Must(bus.Publisher());
  std::vector<std::unique_ptr<Actor>> actors;
  std::map<uint64_t, uint64_t> published;       // trace → last span
  std::map<uint64_t, std::set<uint64_t>> seen;  // trace → spans read by anyone
  std::map<int32_t, int64_t> committed;

  const auto join = [&] {
    auto actor = std::make_unique<Actor>();
    Actor* raw = actor.get();
    BusHandover handover;
    handover.gained = [&, raw](const std::vector<int32_t>& partitions) {
      raw->expelled = false;
      for (const int32_t p : partitions) {
        for (const auto& other : actors) {
          const bool twice = other.get() != raw && !other->expelled && other->held.count(p) != 0;
          RC_ASSERT(!twice);
        }
        raw->held.insert(p);
        raw->next[p] = bus.Committed("tail", p);
      }
    };
    handover.lost = [raw](const std::vector<int32_t>& partitions) {
      for (const int32_t p : partitions) raw->held.erase(p);
      raw->next.clear();
      raw->read.clear();
    };
    actor->reader = Must(bus.Join("tail", handover));
    actors.push_back(std::move(actor));
  };
  const auto read = [&](Actor& actor) {
    for (const BusPiece& piece : Must(actor.reader->Read(0))) {
      RC_ASSERT(actor.held.count(piece.at.partition) == 1u);
      RC_ASSERT(piece.at.offset == actor.next[piece.at.partition]++);
      actor.read[piece.at.partition] = piece.at.offset;
      for (size_t row = 0; row < piece.events->size(); ++row)
        seen[piece.events->trace_lo[row]].insert(piece.events->id1[row]);
    }
  };

  const auto steps = *rc::gen::container<std::vector<std::pair<int, uint64_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 100), rc::gen::inRange<uint64_t>(1, 1000)));
  join();
  for (const auto& [what, which] : steps) {
    Actor* one = actors.empty() ? nullptr : actors[which % actors.size()].get();
    if (what < 35) {
      const uint64_t trace = which % 7;
      publisher->Publish(BusBatch({{trace, ++published[trace]}}),
                         [](const Status& status) { RC_ASSERT(status.ok()); });
    } else if (one != nullptr && what < 75) {
      read(*one);
    } else if (one != nullptr && what < 85) {
      std::vector<BusPosition> done;
      for (const auto& [p, offset] : one->read)
        if (which % 2 == 0 || p % 2 == 0) done.push_back({p, offset});
      RC_ASSERT(one->reader->Commit(done).ok());
    } else if (what < 92 && actors.size() < 4) {
      join();
    } else if (one != nullptr && what < 96) {
      actors.erase(actors.begin() + static_cast<ptrdiff_t>(which % actors.size()));
    } else if (one != nullptr) {
      one->expelled = true;
      bus.Expel(*one->reader);
    }
    for (int32_t p = 0; p < options.partitions; ++p) {
      const int64_t now = bus.Committed("tail", p);
      RC_ASSERT(now >= committed[p]);
      committed[p] = now;
    }
  }
  // Whoever is left, or a last one, reads the rest.
  if (actors.empty()) join();
  for (int round = 0; round < 3000; ++round) {
    for (const auto& actor : actors) read(*actor);
    if (round % 50 == 49 && std::all_of(published.begin(), published.end(), [&](const auto& p) {
          return seen[p.first].size() == p.second;
        }))
      break;
  }
  for (const auto& [trace, last] : published) RC_ASSERT(seen[trace].size() == last);
}

}  // namespace
}  // namespace wf::bus::memory
