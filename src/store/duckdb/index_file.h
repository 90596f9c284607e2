// What DuckDB would keep badly: large texts that look random. Beside each part stands an index file, to which every
// segment appends one record: trace filter, dictionary, attribute filter. The segment's row in the part says where.
//
//   parts/NNNNNN.index := record*
//   record             := magic:u64 lengths:u64[3] check:u64 bytes
//
// In the part itself these texts would be written anew at every checkpoint, together with those of all earlier
// segments (measured: 0.4 µs a span and a third of the file as free blocks); and a search reads 15 kB of a filter by
// one pread instead of a query.
//
// A record is synced before the part's commit. After a crash in between, or a commit that failed, no segment names its
// bytes: Part::DropIndexTail cuts them off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::store::duckdb {

class IndexFile {
 public:
  static Result<std::unique_ptr<IndexFile>> Open(const std::string& path);
  ~IndexFile();

  struct Record {
    std::string_view trace_filter, dictionary, attribute_filter;
  };
  // Returns where the record begins.
  Result<uint64_t> Append(const Record& record);

  struct Place {
    uint64_t trace_filter = 0, dictionary = 0, attribute_filter = 0, end = 0;  // offsets
  };
  Result<Place> Find(uint64_t at) const;
  Result<std::string> Read(uint64_t offset, uint64_t length) const;

  Result<uint64_t> Size() const;
  Status Truncate(uint64_t size);

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace wf::store::duckdb
