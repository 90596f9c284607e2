// A part: one DuckDB file with up to 16 segments, and its index file (index_file.h). Only the newest is written to; a whole part is deleted by
// retention. All parts are attached to one DuckDB instance, so that they share its memory limit.
//
// Thread safety: immutable once published, but for `doom`. A reader keeps a part alive by its segments; the last
// owner of a doomed part detaches it and deletes the file.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "store/duckdb/connection.h"
#include "store/duckdb/segment_writer.h"

namespace wf::store::duckdb {

constexpr size_t kSegmentsPerPart = 16;

class Part;

struct Segment : SegmentFacts {
  std::shared_ptr<Part> part;
  TraceFilter filter;
  uint32_t blocks() const { return static_cast<uint32_t>((rows + kBlockRows - 1) / kBlockRows); }
  // The table of its events, with the part's name.
  std::string table() const;
  // Its columns among `wanted` (bits as in `columns`), in the order in which row_decoder.h wants them.
  std::string select_list(uint64_t wanted = UINT64_MAX) const;
};
using SegmentList = std::vector<std::shared_ptr<const Segment>>;

class Part {
 public:
  static Result<std::shared_ptr<Part>> Create(duck::Database& database, const std::string& folder,
                                              uint64_t number);
  // Null for a file that was never finished (a crash before its first segment).
  static Result<std::shared_ptr<Part>> Open(duck::Database& database, const std::string& folder,
                                            uint64_t number, SegmentList& segments,
                                            uint64_t& applied_log);
  ~Part();

  const std::string& schema() const { return schema_; }
  const std::string& path() const { return path_; }
  uint64_t number() const { return number_; }
  IndexFile& index() { return *index_; }
  int64_t Bytes() const;
  // Everything in the index file now belongs to a committed segment.
  void KeepIndex();
  // Cuts off what was appended to the index file since then. Checkpoints the part first: a commit that failed may yet
  // have reached DuckDB's log, and only without that log is it certain that no segment names the bytes.
  Status DropIndexTail();
  // The file is deleted when nobody reads it any more.
  void Doom() { doomed_ = true; }

  SlotHomes homes;  // the writer's

 private:
  Part(duck::Database& database, const std::string& folder, uint64_t number);

  duck::Database& database_;
  uint64_t number_;
  std::string path_, index_path_, schema_;
  std::unique_ptr<IndexFile> index_;
  uint64_t index_kept_ = 0;  // the writer's
  std::atomic<bool> doomed_{false};
};

}  // namespace wf::store::duckdb
