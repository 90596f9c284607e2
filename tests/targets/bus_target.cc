// What tests/system/cluster/kafka_test.py runs and kills: a publisher and a reader of the bus, as processes of their own.
//
//   bus_target publish URL FIRST COUNT [CONFIG]   traces FIRST…, four spans each, one batch a span; `kept TRACE SPAN` when
//                                                 confirmed; what is not is sent again
//   bus_target read URL GROUP SESSION_MS          `piece PARTITION OFFSET TRACE:SPAN…`, then commits; `gained N`, `lost N`
//   bus_target check URL [CONFIG]                 `ok`, or the error and exit code 1
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <string>

#include "bus/kafka/kafka_bus.h"
#include "bus/test_batch.h"

namespace {

using namespace wf;

int Fail(const Error& error) {
  std::printf("failed %s (%s)\n", error.message.c_str(), error.hint.c_str());
  return 1;
}

int Publish(bus::Bus& bus, uint64_t first, uint64_t count) {
  auto publisher = bus.Publisher();
  if (!publisher.ok()) return Fail(publisher.error());
  for (uint64_t span = 1; span <= 4; ++span) {
    for (uint64_t trace = first; trace < first + count; ++trace) {
      for (bool kept = false; !kept;) {
        std::promise<Status> done;
        (*publisher)->Publish(bus::BusBatch({{trace, span}}), [&](Status status) {
          done.set_value(std::move(status));
        });
        kept = done.get_future().get().ok();
      }
      std::printf("kept %llu %llu\n", static_cast<unsigned long long>(trace),
                  static_cast<unsigned long long>(span));
      std::fflush(stdout);
    }
  }
  return 0;
}

int Read(bus::Bus& bus, const std::string& group) {
  bus::BusHandover handover;
  handover.gained = [](const auto& partitions) {
    std::printf("gained %zu\n", partitions.size());
    std::fflush(stdout);
  };
  handover.lost = [](const auto& partitions) {
    std::printf("lost %zu\n", partitions.size());
    std::fflush(stdout);
  };
  auto reader = bus.Join(group, std::move(handover));
  if (!reader.ok()) return Fail(reader.error());
  for (;;) {
    const auto pieces = (*reader)->Read(100 * kMilli);
    if (!pieces.ok()) return Fail(pieces.error());
    std::map<int32_t, int64_t> last;
    for (const bus::BusPiece& piece : *pieces) {
      last[piece.at.partition] = piece.at.offset;
      std::printf("piece %d %lld", piece.at.partition, static_cast<long long>(piece.at.offset));
      for (size_t row = 0; row < piece.events->size(); ++row)
        std::printf(" %llu:%llu", static_cast<unsigned long long>(piece.events->trace_lo[row]),
                    static_cast<unsigned long long>(piece.events->id1[row]));
      std::printf("\n");
    }
    std::fflush(stdout);  // told before it is committed: a kill between the two loses nothing
    std::vector<bus::BusPosition> done;
    for (const auto& [partition, offset] : last) done.push_back({partition, offset});
    (void)(*reader)->Commit(done);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  const auto number = [&](int i) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : 0; };
  bus::kafka::KafkaBusOptions options;
  options.confirm_patience = 5 * kSecond;
  if (what == "read" && argc > 4) options.session = static_cast<Nanos>(number(4)) * kMilli;
  if (what == "check" && argc > 3) options.config_file = argv[3];
  if (what == "publish" && argc > 5) options.config_file = argv[5];
  if (what.empty()) return 2;
  auto bus = bus::kafka::OpenKafkaBus(argv[2], options);
  if (!bus.ok()) return Fail(bus.error());
  if (what == "publish") return Publish(**bus, number(3), number(4));
  if (what == "read" && argc > 3) return Read(**bus, argv[3]);
  if (const Status status = (*bus)->Check(); !status.ok()) return Fail(status.error());
  std::printf("ok\n");
  return 0;
}
