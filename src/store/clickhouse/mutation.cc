#include "store/clickhouse/mutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "store/clickhouse/sql_text.h"

namespace wf::store::clickhouse {

Status Mutate(Client& client, const TableNames& names, size_t shard, std::string_view what,
              const std::string& table, const std::string& commands) {
  WF_TRY(client.Run(shard, what, fmt::format("ALTER TABLE {} {}", names.Local(table), commands)));
  // The server goes on by itself if nobody waits; who comes again finds it done, or waits again.
  constexpr Nanos kLongest = 10 * kMinute;
  const Nanos deadline = MonotonicNow() + kLongest;
  for (Nanos pause = 5 * kMilli; MonotonicNow() < deadline; pause = std::min(2 * pause, kSecond)) {
    WF_ASSIGN(const std::string left,
              client.Ask(shard, what,
                         fmt::format("SELECT count() FROM system.mutations WHERE database = {} "
                                     "AND table = {} AND is_done = 0",
                                     Quote(client.url().database), Quote(table))));
    if (left == "0\n") return {};
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause));
  }
  return EnvironmentError(fmt::format("ClickHouse {}: {}: not done after 10 minutes",
                                      client.url().shards[shard].text(), what),
                          "see system.mutations there; the server goes on with it");
}

}  // namespace wf::store::clickhouse
