// ALTER TABLE … DELETE and UPDATE: the server writes the parts concerned anew, in the background. 18.16 cannot be told
// to wait for that, so it is asked until it is done.
#pragma once

#include <string>

#include "store/clickhouse/client.h"
#include "store/clickhouse/schema.h"

namespace wf::store::clickhouse {

// `commands`: "DELETE WHERE …" or several, which are done together, part by part.
Status Mutate(Client& client, const TableNames& names, size_t shard, std::string_view what,
              const std::string& table, const std::string& commands);

}  // namespace wf::store::clickhouse
