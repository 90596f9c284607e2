#include "analysis/provenance/neighbour_search.h"

#include <gmock/gmock.h>

#include "analysis/provenance/trace_cases_test.h"

namespace wf::provenance {
namespace {

using ::testing::ElementsAre;

// Finds traces by service, and writes down what it was asked for.
class CaseSource : public NeighbourSource {
 public:
  explicit CaseSource(const testing::TraceCases& cases) : all_(cases.traces()) {
    read_.insert(all_[0]->id);
  }

  Status FindAt(const NeighbourPlace& place, const std::vector<Stretch>& stretches, Nanos offset,
                TraceStretches& found) override {
    for (const Stretch& stretch : stretches) {
      asked.push_back(fmt::format("{} {}..{}", place.service, stretch.first, stretch.second));
      for (const Trace* trace : all_) {
        for (const Block& block : trace->blocks) {
          if (trace->service(block) != place.service || block.raw_end_ns < stretch.first ||
              block.raw_start_ns >= stretch.second)
            continue;
          Extend(found, trace->id,
                 {std::max(block.raw_start_ns, stretch.first) - offset,
                  std::min(block.raw_end_ns, stretch.second) - offset});
        }
      }
    }
    return {};
  }
  Status ReadTraces(const std::vector<TraceId>& ids) override {
    for (const TraceId& id : ids) {
      order.push_back(id.lo);
      read_.insert(id);
    }
    return {};
  }
  const Trace* Find(TraceId id) const override {
    if (read_.count(id) == 0) return nullptr;
    for (const Trace* trace : all_)
      if (trace->id == id) return trace;
    return nullptr;
  }
  std::vector<const Trace*> traces() const override {
    std::vector<const Trace*> out;
    for (const TraceId& id : read_) out.push_back(Find(id));
    return out;
  }

  std::vector<std::string> asked;
  std::vector<uint64_t> order;  // of reading

 private:
  std::vector<const Trace*> all_;
  std::set<TraceId> read_;
};

// The first request waits at db from 1100 to 1700, while the second works there; the second waited at disk from 1200
// to 1500, while the third worked there. The fourth is at db when nobody waits.
constexpr char kChain[] =
    "== 1\n"
    "span page 1000..2000 process=front kind=server\n"
    "span ask parent=page 1100..1900 process=front kind=client\n"
    "span get parent=ask 1700..1800 process=db kind=server wherefore.arrival_ns=1100\n"
    "== 2\n"
    "span scan 1100..1690 process=db kind=server\n"
    "span fetch parent=scan 1200..1600 process=db kind=client\n"
    "span read parent=fetch 1500..1590 process=disk kind=server wherefore.arrival_ns=1200\n"
    "== 3\n"
    "span flush 1200..1490 process=disk kind=server\n"
    "== 4\n"
    "span later 5000..6000 process=db kind=server\n";

std::vector<NeighbourWindow> WholeOf(const Trace& trace) { return {{trace.id, 1000, 2000}}; }

TEST(NeighbourSearch, FollowsWhomANeighbourWaitedFor) {
  const testing::TraceCases cases(kChain);
  CaseSource source(cases);
  const auto ignored = ReadNeighbours(WholeOf(*cases.traces()[0]), {}, source);
  ASSERT_TRUE(ignored.ok());
  EXPECT_EQ(*ignored, 0);
  EXPECT_THAT(source.order, ElementsAre(2, 3));
  EXPECT_THAT(source.asked, ElementsAre("db 1100..1700", "disk 1200..1500"));
}

TEST(NeighbourSearch, StopsAfterItsRounds) {
  const testing::TraceCases cases(kChain);
  CaseSource source(cases);
  NeighbourOptions options;
  options.rounds = 1;
  ASSERT_TRUE(ReadNeighbours(WholeOf(*cases.traces()[0]), options, source).ok());
  EXPECT_THAT(source.order, ElementsAre(2));
}

TEST(NeighbourSearch, AWaitBelowAThousandthOfTheRequestIsCounted) {
  const testing::TraceCases cases(kChain);
  CaseSource source(cases);
  const auto ignored = ReadNeighbours({{cases.traces()[0]->id, -500'000, 500'000}}, {}, source);
  ASSERT_TRUE(ignored.ok());
  EXPECT_EQ(*ignored, 1);  // 600 of a million
  EXPECT_TRUE(source.order.empty());
}

}  // namespace
}  // namespace wf::provenance
