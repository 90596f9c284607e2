// The write-ahead log: what an acknowledged batch is until it stands in a part.
//
//   file    wal/NNNNNNNN.wal  := "WFLOG001" number:u64 record*
//   record  := magic:u32 length:u32 synced:u64 check:u64 payload[length]
//
// All integers little-endian. `synced` is how much of this file was known to be on disk when the record was written;
// `check` hashes file number, length, synced and payload. One file belongs to one pending buffer: it is applied whole
// (its number is committed together with its rows) and then deleted, so replay is exactly-once.
//
// Reading. A record that does not check is the torn end of an interrupted write, which nobody was told is durable,
// unless a later record says that the place was already synced: then the disk lost data, and that is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::store {

constexpr uint32_t kLogRecordMagic = 0x52474657;  // "WFGR"
constexpr size_t kLogHeaderBytes = 16;
constexpr size_t kLogRecordBytes = 24;

std::string LogFileName(uint64_t number);  // "00000012.wal"
uint64_t LogCheck(uint64_t file_number, uint32_t length, uint64_t synced, std::string_view payload);

}  // namespace wf::store
