// bench_baggage: what the baggage API costs, for 1 to 256 tuples of 8 random bytes (Pivot Tracing figure 10), beside
// protobuf, the paper's encoding, doing the same in the same run.
//
//   pack         the tuples, one after another, into the empty baggage of a request
//   unpack       all tuples of the query, as advice takes them: advice::PackedTuples, equal tuples one
//   serialise    baggage that was packed here, to bytes
//   deserialise  bytes to baggage that can be packed into and unpacked from
//
// Both get a tuple as advice has it and give it back so. Each merges equal tuples once: ours when it packs; protobuf,
// which keeps tuples as they come, when it unpacks. Each decodes the values of tuples once: protobuf when it
// deserialises; ours leaves them as bytes until a query asks, so its unpack starts from bytes and the rival's from a
// parsed message. Each number is the least of many rounds of CPU time per call, the two in turns: what other processes
// took is not ours.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "baggage.pb.h"
#include "client/baggage/baggage_line.h"

namespace {

using wf::advice::PackedTuples;
using wf::advice::Rows;
using wf::advice::Slot;
using wherefore::client::BaggageLine;
using wherefore::client::BaggageSnapshot;
using wherefore::client::PackLimits;

constexpr uint64_t kQuery = 0x8F3A91C2D4E5F607;
constexpr PackLimits kNoLimit{1'000'000, 1'000'000};
constexpr int kRounds = 400;

template <typename T>
inline void Keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

double CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

Slot OneColumn() {
  Slot slot;
  slot.columns = 1;
  return slot;
}
const Slot kSlot = OneColumn();

// Each tuple by itself, as advice packs them.
std::vector<Rows> RandomTuples(int count) {
  std::mt19937_64 random(static_cast<uint64_t>(count));
  std::vector<Rows> tuples;
  for (int i = 0; i < count; ++i) {
    Rows& row = tuples.emplace_back(1, 0);
    row.AddColumn(static_cast<int64_t>(random()));
    row.EndRow(1);
  }
  return tuples;
}

// --- Ours

void Pack(BaggageLine& line, const std::vector<Rows>& tuples) {
  for (const Rows& tuple : tuples) line.Pack(kQuery, 0, kSlot, kNoLimit, 0, {}, tuple);
}

// --- The rival

using wherefore::bench::Baggage;

void Pack(Baggage& baggage, const std::vector<Rows>& tuples) {
  for (const Rows& tuple : tuples) {
    if (baggage.instance_size() == 0) baggage.add_instance()->set_id(kQuery + 1);
    auto* instance = baggage.mutable_instance(0);
    wherefore::bench::Tuples* of_query = nullptr;
    for (auto& tuples_of : *instance->mutable_tuples()) {
      if (tuples_of.query() == kQuery && tuples_of.slot() == 0) of_query = &tuples_of;
    }
    if (of_query == nullptr) {
      of_query = instance->add_tuples();
      of_query->set_query(kQuery);
    }
    const int64_t value = *std::get_if<int64_t>(&tuple.columns(0)[0]);
    of_query->add_tuple(&value, sizeof value);
  }
}

PackedTuples Unpack(const Baggage& baggage) {
  PackedTuples tuples(kSlot);
  for (const auto& instance : baggage.instance()) {
    for (const auto& of_query : instance.tuples()) {
      if (of_query.query() != kQuery || of_query.slot() != 0) continue;
      for (const std::string& bytes : of_query.tuple()) {
        int64_t number;
        if (bytes.size() != sizeof number) return tuples;
        std::memcpy(&number, bytes.data(), sizeof number);
        wf::advice::Value value = number;
        tuples.AddRow(kSlot, &value, 1, nullptr);
      }
    }
  }
  return tuples;
}

// --- Measuring

struct Pair {
  double ours = 1e18, rival = 1e18;
};

// What reading the clock takes.
double ClockNs() {
  static const double cost = [] {
    double best = 1e18;
    for (int i = 0; i < 1000; ++i) {
      const double begin = CpuNs();
      best = std::min(best, CpuNs() - begin);
    }
    return best;
  }();
  return cost;
}

// `prepare` makes what one call of `run` uses up; only `run` is timed. Rounds alternate, so that both meet the same
// machine; in a round as many calls as take some microseconds.
template <typename Prepare, typename Run>
double Round(int calls, Prepare prepare, Run run) {
  using State = decltype(prepare());
  std::vector<State> states;
  states.reserve(static_cast<size_t>(calls));
  for (int i = 0; i < calls; ++i) states.push_back(prepare());
  const double begin = CpuNs();
  for (State& state : states) run(state);
  return std::max(0.0, CpuNs() - begin - ClockNs()) / calls;
}

template <typename PrepareOurs, typename RunOurs, typename PrepareRival, typename RunRival>
Pair Measure(int count, PrepareOurs prepare_ours, RunOurs run_ours, PrepareRival prepare_rival,
             RunRival run_rival) {
  // Few enough for the first cache: a request's baggage is warm when its thread uses it.
  const int calls = std::clamp(256 / count, 8, 64);
  Pair best;
  for (int round = 0; round < kRounds; ++round) {
    best.ours = std::min(best.ours, Round(calls, prepare_ours, run_ours));
    best.rival = std::min(best.rival, Round(calls, prepare_rival, run_rival));
  }
  return best;
}

int failed = 0;

void Print(const char* what, int count, const Pair& pair, double wanted) {
  const double ratio = pair.rival / pair.ours;
  const bool met = ratio >= wanted;
  failed += !met;
  std::printf("  %-12s %4d   %9.0f %9.0f   %6.2f   >= %.0f   %s\n", what, count, pair.ours,
              pair.rival, ratio, wanted, met ? "met" : "NOT MET");
  std::fflush(stdout);
}

}  // namespace

int main() {
  std::printf("  %-12s %4s   %9s %9s   %6s\n", "", "n", "ours, ns", "protobuf", "ratio");
  const int counts[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  const auto wanted = [](int count) { return count >= 16 ? 2.0 : 1.0; };
  for (const int count : counts) {
    const std::vector<Rows> tuples = RandomTuples(count);
    Print("pack", count,
          Measure(
              count, [] { return BaggageLine(); }, [&](BaggageLine& line) { Pack(line, tuples); },
              [] { return Baggage(); }, [&](Baggage& baggage) { Pack(baggage, tuples); }),
          1.0);
  }
  for (const int count : counts) {
    const std::vector<Rows> tuples = RandomTuples(count);
    BaggageLine line;
    Pack(line, tuples);
    const std::string bytes = line.Serialize();
    const auto received = [&] {
      BaggageLine received(BaggageSnapshot::FromBytes(bytes));
      received.instances();  // parses
      return received;
    };
    Baggage baggage;
    Pack(baggage, tuples);
    if (received().Unpack(kQuery, 0, kSlot).rows().size() != Unpack(baggage).rows().size()) {
      std::printf("they differ\n");
      return 1;
    }
    Print("unpack", count,
          Measure(
              count, received, [&](BaggageLine& line) { Keep(line.Unpack(kQuery, 0, kSlot)); },
              [&] {
                Baggage parsed;
                parsed.ParseFromString(baggage.SerializeAsString());
                return parsed;
              },
              [&](Baggage& parsed) { Keep(Unpack(parsed)); }),
          1.0);
  }
  for (const int count : counts) {
    const std::vector<Rows> tuples = RandomTuples(count);
    Print("serialise", count,
          Measure(
              count,
              [&] {
                BaggageLine line;
                Pack(line, tuples);
                return line;
              },
              [&](BaggageLine& line) { Keep(line.Serialize()); },
              [&] {
                Baggage baggage;
                Pack(baggage, tuples);
                return baggage;
              },
              [&](Baggage& baggage) { Keep(baggage.SerializeAsString()); }),
          wanted(count));
  }
  for (const int count : counts) {
    const std::vector<Rows> tuples = RandomTuples(count);
    BaggageLine line;
    Pack(line, tuples);
    const std::string bytes = line.Serialize();
    Baggage packed;
    Pack(packed, tuples);
    const std::string rival_bytes = packed.SerializeAsString();
    if (count == 1 || count == 256)
      std::printf("  %d tuples: %zu bytes, protobuf %zu\n", count, bytes.size(),
                  rival_bytes.size());
    Print("deserialise", count,
          Measure(
              count, [] { return BaggageLine(); },
              [&](BaggageLine& received) {
                received = BaggageLine(BaggageSnapshot::FromBytes(bytes));
                Keep(received.instances());
              },
              [] { return Baggage(); },
              [&](Baggage& received) { Keep(received.ParseFromString(rival_bytes)); }),
          wanted(count));
  }
  if (failed != 0) std::printf("%d not met\n", failed);
  return failed == 0 ? 0 : 1;
}
