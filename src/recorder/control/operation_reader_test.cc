// What the emulator's plugin writes is what is read: over the real ring, cut at any place.
#include "recorder/control/operation_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <random>

#include "recorder/control/testing/ring.h"
#include "recorder/control/thunk_reader.h"
#include "recorder/qemu/branch_log.h"

namespace wf::recorder {
namespace {

struct Answer {
  std::vector<Thunk> thunks;
  uint64_t gaps = 0;
};

Answer Ask(const std::vector<std::string>& payloads, uint64_t index) {
  Answer out;
  ThunkReader reader({index, 0, {}}, [&](const Thunk& thunk) { out.thunks.push_back(thunk); });
  for (const std::string& payload : payloads) reader.Read(payload);
  reader.Finish();
  out.gaps = reader.gaps();
  return out;
}

// Code of blocks in a row, 16 bytes each; block i may jump to any other.
std::vector<Block> MakeBlocks(size_t count, std::mt19937_64& random) {
  std::vector<Block> blocks(count);
  for (size_t i = 0; i < count; ++i) {
    Block& block = blocks[i];
    block.id = static_cast<uint32_t>(i);
    block.start = 0x400000 + 16 * i;
    block.last = block.start + 10;
    block.following = block.start + 16;
    block.end = static_cast<BlockEnd>(random() % 4);
    block.target = 0x400000 + 16 * (random() % count);
  }
  return blocks;
}

// A run over the blocks: what is to be read of each sub-computation, written to the log on the way.
std::map<uint64_t, std::vector<Thunk>> RunOver(const std::vector<Block>& blocks, size_t steps,
                                               std::mt19937_64& random, BranchLog& log,
                                               TestRing& ring) {
  std::map<uint64_t, std::vector<Thunk>> truth;
  uint64_t index = 0;
  size_t at = 0;
  const Block* before = nullptr;
  log.Open(0);
  for (size_t step = 0; step < steps; ++step) {
    if (random() % 50 == 0) {
      log.Close();
      // A call that cut nothing goes on with the same one.
      if (random() % 4 != 0) ++index;
      log.Open(index);
      before = nullptr;
    }
    const Block& block = blocks[at];
    auto& thunks = truth[index];
    if (thunks.empty())
      thunks.push_back({block.start, 0, false});
    else if (before != nullptr && before->end != BlockEnd::kOther)
      thunks.push_back({block.start, before->last,
                        before->end != BlockEnd::kConditional || block.start == before->target});
    log.Run(block);
    before = &block;
    if (block.end == BlockEnd::kConditional)
      at = random() % 2 == 0 ? (block.target - 0x400000) / 16 : (block.following - 0x400000) / 16;
    else
      at = random() % blocks.size();
    if (at == blocks.size()) {  // behind the last there is none: a return leads elsewhere
      at = 0;
      before = nullptr;
      log.Close();
      log.Open(index);
    }
    if (random() % 1000 == 0) ring.Drain(BranchSource::kQemu);
  }
  log.Close();
  return truth;
}

TEST(OperationReader, ReadsWhatWasWritten) {
  EXPECT_TRUE(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<uint64_t>());
    const auto blocks = MakeBlocks(2 + random() % 300, random);
    TestRing ring;
    BranchLog log;
    log.Begin(&ring.ring, ring.bytes.data(), ring.bell);
    const auto truth = RunOver(blocks, 1 + random() % 3000, random, log, ring);
    ring.Drain(BranchSource::kQemu);
    RC_ASSERT(ring.ring.lost.load() == 0U);
    for (const auto& [index, thunks] : truth) {
      const Answer answer = Ask(ring.taken, index);
      RC_ASSERT(answer.gaps == 0U);
      RC_ASSERT(answer.thunks == thunks);
    }
  }));
}

// More than the ring holds, with a reader beside it, and more than one stretch of the stream.
TEST(OperationReader, ReadsLongStreams) {
  std::mt19937_64 random(7);
  const auto blocks = MakeBlocks(5000, random);
  TestRing ring;
  BranchLog log;
  log.Begin(&ring.ring, ring.bytes.data(), ring.bell);
  const auto truth = RunOver(blocks, 2'000'000, random, log, ring);
  ring.Drain(BranchSource::kQemu);
  ASSERT_GT(truth.size(), 1000U);
  const uint64_t last = truth.rbegin()->first;
  for (const uint64_t index : {uint64_t{0}, last / 2, last}) {
    const Answer answer = Ask(ring.taken, index);
    EXPECT_EQ(answer.gaps, 0U);
    EXPECT_EQ(answer.thunks, truth.at(index));
  }
}

TEST(OperationReader, AMissingPieceIsAGapUntilTheStreamBeginsAnew) {
  std::mt19937_64 random(8);
  const auto blocks = MakeBlocks(5000, random);
  TestRing ring;
  BranchLog log;
  log.Begin(&ring.ring, ring.bytes.data(), ring.bell);
  const auto truth = RunOver(blocks, 2'000'000, random, log, ring);
  ring.Drain(BranchSource::kQemu);
  auto payloads = ring.taken;
  payloads.erase(payloads.begin() + 200, payloads.begin() + 203);
  const uint64_t last = truth.rbegin()->first;
  const Answer answer = Ask(payloads, last);
  EXPECT_GE(answer.gaps, 1U);  // whose bytes are missing is not known, so it may be of this one
  EXPECT_EQ(answer.thunks, truth.at(last));
}

TEST(OperationReader, AFullRingIsAGapThatIsCounted) {
  std::mt19937_64 random(9);
  auto blocks = MakeBlocks(2, random);
  blocks[0].end = BlockEnd::kConditional;
  blocks[0].target = blocks[0].start;
  TestRing ring;
  ring.gone = 1;  // so the writer does not wait
  BranchLog log;
  log.Begin(&ring.ring, ring.bytes.data(), ring.bell);
  log.Open(5);
  uint64_t ran = 0;
  while (ring.ring.lost.load() < 1000) {
    log.Run(blocks[0]);
    ++ran;
  }
  ring.Drain(BranchSource::kQemu);
  for (int i = 0; i < 10; ++i, ++ran) log.Run(blocks[0]);
  log.Close();
  ring.Drain(BranchSource::kQemu);
  const Answer answer = Ask(ring.taken, 5);
  EXPECT_GE(answer.gaps, 1000U);
  // Each block but the first tells the outcome of the one before; thunk 0 comes in addition.
  EXPECT_EQ(answer.thunks.size() + answer.gaps, ran);
  EXPECT_EQ(answer.thunks.back(), (Thunk{blocks[0].start, blocks[0].last, true}));
}

TEST(OperationReader, ASignalBetweenIsAGap) {
  std::mt19937_64 random(10);
  auto blocks = MakeBlocks(4, random);
  blocks[0].end = BlockEnd::kConditional;
  blocks[0].target = blocks[1].start;
  blocks[3].end = BlockEnd::kOther;
  TestRing ring;
  BranchLog log;
  log.Begin(&ring.ring, ring.bytes.data(), ring.bell);
  log.Open(0);
  log.Run(blocks[0]);
  log.Run(blocks[3]);  // neither where the branch leads nor behind it
  log.Close();
  const Answer answer = Ask(ring.Payloads(BranchSource::kQemu), 0);
  EXPECT_EQ(answer.gaps, 1U);
  EXPECT_EQ(answer.thunks.size(), 1U);
}

TEST(OperationReader, AnyBytesAreReadWithoutHarm) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& pieces, uint8_t source, bool positions) {
    std::vector<std::string> payloads;
    uint64_t position = 0;
    for (const std::string& piece : pieces) {
      BranchesHead head{
          static_cast<BranchSource>(source % 5), {}, positions ? position : piece.size()};
      std::string payload(reinterpret_cast<const char*>(&head), sizeof head);
      position += piece.size();
      payloads.push_back(payload + piece);
    }
    ThunkReader reader({0, 0, [](uint64_t) { return std::string_view(); }}, [](const Thunk&) {});
    for (const std::string& payload : payloads) reader.Read(payload);
    reader.Finish();
  }));
}

}  // namespace
}  // namespace wf::recorder
