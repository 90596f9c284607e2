// The embedded store: a write-ahead log for durability, DuckDB files for everything else.
//
// Append → log thread (one write and fdatasync per group, then `done`) → pending buffer in memory → flusher thread
// (sort, remove doubles, one transaction into the newest part, checkpoint, delete the log file). Reads see both the
// pending rows and the parts.
#pragma once

#include <memory>
#include <string>

#include "store/log_writer.h"
#include "store/store.h"

namespace wf::store::duckdb {

struct DuckdbStoreOptions {
  SyncMode sync = SyncMode::kSync;
  // Rows of a full pending buffer, and so of a segment: two row groups of DuckDB. Two buffers of this size (one
  // filling, one being written) at about 280 bytes a span are the store's largest use of memory.
  size_t segment_rows = 2 * 122880;
  // A buffer is also full when it holds this much: spans may carry stacks and statements of any size.
  size_t max_pending_bytes = 96u << 20;
  // Batches waiting for the log; beyond this Append answers kOverloaded.
  size_t max_queue_bytes = 24u << 20;
  Nanos flush_age = 5 * kMinute;      // pending rows older than this are written even if few
  size_t keep_in_log = 4096;          // on closing, fewer rows than this stay in the log
  std::string memory_limit = "80MB";  // DuckDB's: writing a row group needs about 50
  // Of DuckDB: with more, a caller spins while a worker does its work (measured: 30% of all CPU).
  int threads = 1;
  std::string sql_program;  // that runs RunSql's child (sql_sandbox.h); empty: this one
};

// Fails when another process has the directory, when its format is newer, or when a log file is damaged.
Result<std::unique_ptr<Store>> OpenDuckdbStore(const std::string& directory,
                                               const DuckdbStoreOptions& options = {});

}  // namespace wf::store::duckdb
